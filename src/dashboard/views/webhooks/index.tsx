import { useState } from 'preact/hooks';
import type { Webhook, WebhookListQuery } from '../../../client/types.ts';
import { DEFAULT_LIMIT } from '../../../contract/list-query.ts';
import { paybell } from '../../api.ts';
import { ActionButton } from '../../components/action-button.tsx';
import { Icon } from '../../components/icon.tsx';
import { Pager } from '../../components/lists/pager.tsx';
import { Failure, Loading } from '../../components/lists/states.tsx';
import { ViewHead } from '../../components/lists/view-head.tsx';
import { useStore } from '../../observable.ts';
import { usePlace } from '../../router.tsx';
import { useResponse } from '../../use-response.ts';
import { webhooksChanged } from './changed-signal.ts';
import { EditDialog } from './dialogs/edit-dialog.tsx';
import { RegisterDialog } from './dialogs/register-dialog.tsx';
import { NoneYet, NothingHere } from './empty.tsx';
import { Filters } from './filters.tsx';
import { SuspendedBanner } from './suspended-banner.tsx';
import { WebhookTable } from './table.tsx';
import { useHealth } from './use-health.ts';

/** The address carries the parameters of the list under the API's own names; another value in it is not for the API. */
const PARAMETERS = ['webhookId', 'networkId', 'event', 'page', 'limit', 'sortBy', 'sortDir'];
const FILTERS = ['webhookId', 'networkId', 'event'];

export function Webhooks() {
  const { query } = usePlace();
  const change = useStore(webhooksChanged);
  const [registering, setRegistering] = useState(false);
  const [editing, setEditing] = useState<Webhook | null>(null);
  // As text, as it stands in the address: the server says what is wrong with it, if anything is.
  const asked = Object.fromEntries([...query].filter(([name]) => PARAMETERS.includes(name)));
  const page = Number(query.get('page') ?? 1);
  const limit = Number(query.get('limit') ?? DEFAULT_LIMIT);
  const list = useResponse(`${change} ${JSON.stringify(asked)}`, async (signal) => ({
    ...(await paybell().webhooks.list(asked as WebhookListQuery, { signal })),
    from: (page - 1) * limit + 1,
  }));
  const coverage = useResponse(String(change), (signal) => paybell().webhooks.coverage({ signal }));
  const health = useHealth(list.data?.webhooks ?? [], coverage.data, change);
  const filtered = FILTERS.some((name) => query.has(name));
  const register = () => setRegistering(true);

  return (
    <>
      <ViewHead title="Webhooks" about="Who is told what: an event on a network, and the URL that it is posted to.">
        <ActionButton needs="webhooks:write" class="button button-primary" onClick={register}>
          <Icon name="plus" />
          Register
        </ActionButton>
      </ViewHead>
      <SuspendedBanner coverage={coverage.data} />
      <Filters query={query} coverage={coverage.data} filtered={filtered} />
      {list.data === null && list.problem !== null ? <Failure problem={list.problem} again={list.again} /> : null}
      {list.data === null && list.problem === null ? <Loading what="webhooks" /> : null}
      {list.data === null ? null : list.data.webhooks.length > 0 ? (
        <WebhookTable
          webhooks={list.data.webhooks}
          health={health}
          busy={list.loading}
          query={query}
          onEdit={setEditing}
        />
      ) : list.data.totalResults === 0 && !filtered ? (
        <NoneYet register={register} />
      ) : (
        <NothingHere total={list.data.totalResults} limit={limit} />
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
    </>
  );
}
