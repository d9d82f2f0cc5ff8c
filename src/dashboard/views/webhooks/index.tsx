import { useState } from 'preact/hooks';
import type { Webhook, WebhookListQuery } from '../../../client/webhooks.ts';
import { DEFAULT_LIMIT } from '../../../contract/list-query.ts';
import { paybell } from '../../api.ts';
import { ActionButton } from '../../components/action-button.tsx';
import { Icon } from '../../components/icon.tsx';
import { Pager } from '../../components/lists/pager.tsx';
import { TransactionNotice } from '../../components/search/transaction-notice.tsx';
import { Failure, Loading } from '../../components/view/states.tsx';
import { ViewHead } from '../../components/view/view-head.tsx';
import { useObservable } from '../../observable.ts';
import { useRoute } from '../../router.tsx';
import { useResponse } from '../../use-response.ts';
import { EditDialog } from './dialogs/edit-dialog.tsx';
import { OptionsDialog } from './dialogs/options-dialog.tsx';
import { RegisterDialog } from './dialogs/register-dialog.tsx';
import { NoMatches, NoWebhooks } from './empty.tsx';
import { Filters } from './filters.tsx';
import { webhooksRevision } from './revision.ts';
import { SuspendedBanner } from './suspended-banner.tsx';
import { WebhookTable } from './table.tsx';
import { useFinality } from './use-finality.ts';
import { useHealth } from './use-health.ts';
import { useStates } from './use-states.ts';

/** The URL holds the list's parameters under their API names. Other values are not sent to the API. */
const PARAMETERS = ['webhookId', 'networkId', 'event', 'page', 'limit', 'sortBy', 'sortDir'];
const FILTERS = ['webhookId', 'networkId', 'event'];

export function Webhooks() {
  const { query } = useRoute();
  const revision = useObservable(webhooksRevision);
  const [registering, setRegistering] = useState(false);
  const [editing, setEditing] = useState<Webhook | null>(null);
  const [optionsOf, setOptionsOf] = useState<Webhook | null>(null);
  // Passed on as text, unchecked: the server reports what is wrong with it.
  const parameters = Object.fromEntries([...query].filter(([name]) => PARAMETERS.includes(name)));
  const page = Number(query.get('page') ?? 1);
  const limit = Number(query.get('limit') ?? DEFAULT_LIMIT);
  const list = useResponse(`${revision} ${JSON.stringify(parameters)}`, async (signal) => ({
    ...(await paybell().webhooks.list(parameters as WebhookListQuery, { signal })),
    from: (page - 1) * limit + 1,
  }));
  const coverage = useResponse(String(revision), (signal) => paybell().webhooks.coverage({ signal }));
  const health = useHealth(list.data?.webhooks ?? [], coverage.data, revision);
  const finality = useFinality(list.data?.webhooks ?? [], coverage.data, revision);
  const states = useStates(list.data?.webhooks ?? [], coverage.data, health, revision);
  const filtered = FILTERS.some((name) => query.has(name));
  const register = () => setRegistering(true);

  return (
    <>
      <ViewHead title="Webhooks" description="Each webhook sends one kind of event on one network to one URL.">
        <ActionButton needs="webhooks:write" class="button button-primary" onClick={register}>
          <Icon name="plus" />
          Register webhooks
        </ActionButton>
      </ViewHead>
      <SuspendedBanner coverage={coverage.data} />
      <Filters query={query} coverage={coverage.data} filtered={filtered} />
      <TransactionNotice text={query.get('webhookId') ?? undefined} />
      {list.data === null && list.problem !== null ? <Failure problem={list.problem} reload={list.reload} /> : null}
      {list.data === null && list.problem === null ? <Loading what="webhooks" /> : null}
      {list.data === null ? null : list.data.webhooks.length > 0 ? (
        <WebhookTable
          webhooks={list.data.webhooks}
          health={health}
          states={states}
          finality={finality}
          busy={list.loading}
          query={query}
          onEdit={setEditing}
          onOptions={setOptionsOf}
        />
      ) : list.data.totalResults === 0 && !filtered ? (
        <NoWebhooks register={register} />
      ) : (
        <NoMatches total={list.data.totalResults} limit={limit} />
      )}
      {list.data === null || list.data.totalResults === 0 ? null : (
        <Pager
          total={list.data.totalResults}
          page={page}
          limit={limit}
          from={list.data.from}
          shown={list.data.webhooks.length}
          what="webhooks"
        />
      )}
      {registering ? <RegisterDialog coverage={coverage.data} onClose={() => setRegistering(false)} /> : null}
      {editing === null ? null : <EditDialog webhook={editing} onClose={() => setEditing(null)} />}
      {optionsOf === null ? null : <OptionsDialog webhook={optionsOf} onClose={() => setOptionsOf(null)} />}
    </>
  );
}
