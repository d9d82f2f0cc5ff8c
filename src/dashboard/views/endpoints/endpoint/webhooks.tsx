import type { EndpointWebhook } from '../../../../client/endpoints.ts';
import { type ApiProblem, ownProblem, paybell } from '../../../api.ts';
import { ActionButton } from '../../../components/action-button.tsx';
import { Icon } from '../../../components/icon.tsx';
import { type Column, DataTable, numberColumn } from '../../../components/lists/data-table.tsx';
import { List } from '../../../components/lists/list.tsx';
import { useListState } from '../../../components/lists/use-list.ts';
import { Badge } from '../../../components/values/badge.tsx';
import { countText } from '../../../components/values/count-text.ts';
import { Network } from '../../../components/values/network.tsx';
import { Moment } from '../../../components/values/time.tsx';
import { Section } from '../../../components/view/section.tsx';
import { DASHBOARD_PATHS } from '../../../paths.ts';
import { Link, urlFor } from '../../../router.tsx';
import { useResponse } from '../../../use-response.ts';
import { resumeWebhook } from '../../webhooks/resume.ts';
import { STATE_DISPLAY } from '../state-badge.tsx';

/** `said` is the problem that the page already shows. */
type WebhooksProps = { endpointId: string; round: number; said: ApiProblem | null; reload: () => Promise<void> };

/** The webhooks that have the URL, with their state. */
export function EndpointWebhooks({ endpointId, round, said, reload }: WebhooksProps) {
  const list = useListState([]);
  const { page, limit } = list;
  const response = useResponse(
    `${endpointId} ${page} ${limit}`,
    (signal) => paybell().endpoints.webhooks(endpointId, { page, limit }, { signal }),
    round,
  );
  const shown = { ...response, problem: ownProblem(response.problem, said) };
  return (
    <Section title="Webhooks">
      <List what="webhooks" state={list} response={shown} rowsOf={({ webhooks }) => webhooks} none={null} isShort>
        {(webhooks) => (
          <DataTable
            name="endpoint-webhooks"
            caption="Webhooks of the endpoint"
            columns={[...COLUMNS, stateColumn(reload), WAITING]}
            rows={webhooks}
            keyOf={({ webhookId }) => webhookId}
          />
        )}
      </List>
    </Section>
  );
}

const COLUMNS: readonly Column<EndpointWebhook>[] = [
  {
    name: 'event',
    header: 'Event',
    width: 'rest',
    cell: ({ webhookId, event }) => <Link to={urlFor(DASHBOARD_PATHS.webhooks, { webhookId })}>{event}</Link>,
  },
  {
    name: 'network',
    header: 'Network',
    width: '11rem',
    narrow: { below: 'small', line: 'cell' },
    cell: ({ networkId }) => <Network networkId={networkId} />,
  },
];

const WAITING = numberColumn<EndpointWebhook>('waiting', 'Waiting', ({ waiting }) => countText(waiting), {
  ...{ width: '6rem', below: 'small' },
});

const REASONS = { gone: 'it responded with 410 Gone', failing: 'all attempts failed for 5 days' } as const;

function stateColumn(reload: () => Promise<void>): Column<EndpointWebhook> {
  return {
    name: 'state',
    header: 'State',
    width: '17rem',
    narrowWidth: '11rem',
    cell: (webhook) => <State webhook={webhook} reload={reload} />,
  };
}

function State({ webhook, reload }: { webhook: EndpointWebhook; reload: () => Promise<void> }) {
  const { webhookId, event, networkId, state, reason, dateFailingSince } = webhook;
  if (state !== 'suspended') {
    return (
      <div class="endpoint-state">
        <Badge {...STATE_DISPLAY[dateFailingSince === null ? 'active' : 'failing']} />
        {dateFailingSince === null ? null : (
          <span class="small muted">
            since <Moment seconds={dateFailingSince} />
          </span>
        )}
      </div>
    );
  }
  return (
    <div class="endpoint-state">
      <Badge {...STATE_DISPLAY.suspended} />
      <span class="small muted">{REASONS[reason ?? 'failing']}</span>
      <ActionButton
        needs="webhooks:write"
        class="button button-small"
        label={`Resume ${event} on network ${networkId}`}
        onClick={() => void resumeWebhook(webhookId).then(reload)}
      >
        <Icon name="play" size={12} />
        Resume
      </ActionButton>
    </div>
  );
}
