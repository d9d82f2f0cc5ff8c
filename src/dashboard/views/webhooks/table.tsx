import type { Webhook } from '../../../client/webhooks.ts';
import { ActionButton } from '../../components/action-button.tsx';
import { Icon, type IconName } from '../../components/icon.tsx';
import { type Column, DataTable } from '../../components/lists/data-table.tsx';
import type { ListState } from '../../components/lists/use-list.ts';
import { Badge } from '../../components/values/badge.tsx';
import { CopyButton } from '../../components/values/copy.tsx';
import { finalityWords } from '../../components/values/finality-words.ts';
import { Network } from '../../components/values/network.tsx';
import { Countdown, Time } from '../../components/values/time.tsx';
import { UrlText } from '../../components/values/url.tsx';
import { useObservable } from '../../observable.ts';
import { STATE_DISPLAY } from '../endpoints/state-badge.tsx';
import { type Deletion, pendingDeletions, scheduleDeletion } from './pending-deletions.ts';
import { resumeWebhook } from './resume.ts';
import { TestResult, useTests } from './test-result.tsx';
import type { WebhookDetails, WebhookState } from './use-details.ts';

type TableProps = {
  webhooks: readonly Webhook[];
  details: (webhook: Webhook) => WebhookDetails;
  busy: boolean;
  list: ListState;
  onEdit: (webhook: Webhook) => void;
  onOptions: (webhook: Webhook) => void;
};

type Row = WebhookDetails & {
  readonly webhook: Webhook;
  /** Not null while the deletion can still be undone. */
  readonly deletion: Deletion | null;
};

const WRITE = 'webhooks:write';

export function WebhookTable({ webhooks, details, busy, list, onEdit, onOptions }: TableProps) {
  const { tests, sendTest, dismiss } = useTests();
  const pending = useObservable(pendingDeletions);
  const rows = webhooks.map((webhook): Row => {
    return { webhook, deletion: pending.get(webhook.webhookId) ?? null, ...details(webhook) };
  });
  const actions: Column<Row> = {
    name: 'actions',
    header: 'Actions',
    isHeaderHidden: true,
    width: '12.5rem',
    narrowWidth: '6.75rem',
    cell: ({ webhook, deletion }) =>
      deletion === null ? (
        <div class="row-buttons">
          <Action of={webhook} verb="Send test event:" icon="deliveries" run={sendTest} text="Test" />
          <Action of={webhook} verb="Options of" icon="filter" run={onOptions} title="Options" />
          <Action of={webhook} verb="Edit" icon="edit" run={onEdit} title="Edit URL" />
          <Action of={webhook} verb="Delete" icon="trash" run={scheduleDeletion} title="Delete" />
        </div>
      ) : (
        <UndoDeletion deletion={deletion} />
      ),
  };
  return (
    <DataTable
      name="webhooks"
      caption="Registered webhooks"
      columns={[...COLUMNS, actions]}
      rows={rows}
      keyOf={({ webhook }) => webhook.webhookId}
      rowClass={({ deletion, state }) => (deletion !== null ? 'deleting' : state === 'suspended' ? 'row-warning' : '')}
      detail={({ webhook: { webhookId } }) => {
        const test = tests.get(webhookId);
        const dismissed = () => dismiss(webhookId);
        return test === undefined
          ? null
          : { class: 'test-result', content: <TestResult test={test} onDismiss={dismissed} /> };
      }}
      {...{ busy, list }}
    />
  );
}

const COLUMNS: readonly Column<Row>[] = [
  { name: 'postUrl', header: 'Endpoint URL', sort: 'asc', width: 'rest', cell: (row) => <Name row={row} /> },
  {
    name: 'event',
    header: 'Event',
    width: '12.5rem',
    narrow: { below: 'small', line: 'cell' },
    cell: ({ webhook, finality }) => (
      <>
        {webhook.event}
        {finality === null ? null : (
          <div class="small muted" title="Confirmation required before delivery">
            Finality: {finalityWords(finality)}
          </div>
        )}
      </>
    ),
  },
  {
    name: 'network',
    header: 'Network',
    width: '11rem',
    narrow: { below: 'wide', line: 'cell' },
    cell: ({ webhook }) => <Network networkId={webhook.networkId} />,
  },
  {
    name: 'dateCreated',
    header: 'Created',
    sort: 'desc',
    width: '7.5rem',
    narrow: { below: 'medium', line: 'cell' },
    cell: ({ webhook }) => <Time seconds={webhook.dateCreated} />,
  },
];

function Name({ row: { webhook, state, health } }: { row: Row }) {
  return (
    <>
      <div class="cut">
        <UrlText url={webhook.postUrl} />
      </div>
      <div class="webhook-id">
        <State state={state} />
        <code class="muted">{webhook.webhookId}</code>
        <CopyButton text={webhook.webhookId} label={`Copy the ID of ${nameOf(webhook)}`} compact />
      </div>
      {health?.state === 'suspended' ? <Suspended webhook={webhook} health={health} /> : null}
    </>
  );
}

function nameOf({ event, networkId, postUrl }: Webhook): string {
  return `${event} on network ${networkId} to ${postUrl}`;
}

const PAUSED = 'Its endpoint is paused: deliveries are held until someone resumes it';

/** The badge of the state. Another part of the row explains a suspended webhook. */
function State({ state }: { state: WebhookState | null }) {
  if (state === null || state === 'suspended') return null;
  return (
    <span {...(state === 'paused' && { title: PAUSED })}>
      <Badge {...STATE_DISPLAY[state]} />
    </span>
  );
}

const REASONS: Readonly<Record<string, string>> = {
  gone: 'The endpoint responded with 410 Gone',
  failing: 'All attempts have failed for 5 days',
};

type SuspendedProps = { webhook: Webhook; health: NonNullable<WebhookDetails['health']> };

function Suspended({ webhook, health: { reason, dateLastFailure } }: SuspendedProps) {
  return (
    <div class="suspension">
      <Badge tone="warning" icon="pause" label="Suspended" />
      <ActionButton
        needs={WRITE}
        class="button button-small"
        label={`Resume ${nameOf(webhook)}`}
        onClick={() => void resumeWebhook(webhook.webhookId)}
      >
        <Icon name="play" size={12} />
        Resume
      </ActionButton>
      <p class="small">
        {REASONS[reason ?? ''] ?? 'Suspended'}
        {dateLastFailure === null ? null : (
          <span class="muted">
            {' '}
            · last failure <Time seconds={dateLastFailure} />
          </span>
        )}
      </p>
    </div>
  );
}

type ActionProps = {
  of: Webhook;
  verb: string;
  icon: IconName;
  run: (webhook: Webhook) => void;
  title?: string;
  text?: string;
};

function Action({ of: webhook, verb, icon, run, title = '', text }: ActionProps) {
  return (
    <ActionButton
      needs={title === 'Options' ? 'webhooks:read' : WRITE}
      class={text === undefined ? 'button button-icon' : 'button button-small'}
      title={title}
      label={`${verb} ${nameOf(webhook)}`}
      onClick={() => run(webhook)}
    >
      <Icon name={icon} size={text === undefined ? 16 : 14} />
      {text === undefined ? null : <span class="not-phone">{text}</span>}
    </ActionButton>
  );
}

function UndoDeletion({ deletion: { untilMs, undo } }: { deletion: Deletion }) {
  return (
    <span class="deletion-note">
      Deleting in <Countdown untilMs={untilMs} />
      <button type="button" class="button button-small" onClick={undo} ref={takeFocus}>
        <Icon name="undo" size={14} />
        Undo
      </button>
    </span>
  );
}

/** The delete button, which had the focus, is gone. Keyboard users continue on the undo button in its place. */
function takeFocus(button: HTMLButtonElement | null): void {
  if (document.activeElement === document.body) button?.focus();
}
