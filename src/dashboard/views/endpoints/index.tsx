import { useState } from 'preact/hooks';
import type { Endpoint, EndpointListQuery } from '../../../client/endpoints.ts';
import { DEFAULT_LIMIT } from '../../../contract/list-query.ts';
import { isPermanent, paybell } from '../../api.ts';
import { Pager } from '../../components/lists/pager.tsx';
import { TransactionNotice } from '../../components/search/transaction-notice.tsx';
import { LiveSwitch } from '../../components/view/live-switch.tsx';
import { Failure, Loading, ProblemAlert } from '../../components/view/states.tsx';
import { ViewHead } from '../../components/view/view-head.tsx';
import { live, usePolling } from '../../live.ts';
import { useObservable } from '../../observable.ts';
import { useRoute } from '../../router.tsx';
import { useResponse } from '../../use-response.ts';
import { NoEndpoints, NoMatches } from './empty.tsx';
import { Filters } from './filters.tsx';
import { useLatency } from './latency.ts';
import { SettingsDialog } from './settings-dialog.tsx';
import { EndpointTable } from './table.tsx';

const POLL_MS = 5_000;

/** The URL holds the list's parameters under their API names. Other values are not sent to the API. */
const PARAMETERS = ['postUrl', 'host', 'state', 'failing', 'page', 'limit', 'sortBy', 'sortDir'];
const FILTERS = ['postUrl', 'host', 'state', 'failing'];

/** Sorted by URL, people read from A to Z. */
const BY_DEFAULT = { sortBy: 'postUrl', sortDir: 'asc' };

export function Endpoints() {
  const { query } = useRoute();
  const [editing, setEditing] = useState<Endpoint | null>(null);
  // Passed on as text, unchecked: the server reports what is wrong with it.
  const given = Object.fromEntries([...query].filter(([name]) => PARAMETERS.includes(name)));
  const parameters = { ...BY_DEFAULT, ...given };
  const page = Number(query.get('page') ?? 1);
  const limit = Number(query.get('limit') ?? DEFAULT_LIMIT);
  const key = JSON.stringify(parameters);
  const list = useResponse(key, async (signal) => ({
    ...(await paybell().endpoints.list(parameters as EndpointListQuery, { signal })),
    key,
    from: (page - 1) * limit + 1,
  }));
  const latency = useLatency();
  const on = useObservable(live);
  usePolling(on && !isPermanent(list.problem), POLL_MS, async () => {
    await list.reload();
    return true;
  });
  const filtered = FILTERS.some((name) => query.has(name));

  return (
    <>
      <ViewHead title="Endpoints" description="An endpoint is one URL, with all webhooks that have it.">
        <LiveSwitch />
      </ViewHead>
      <Filters query={query} filtered={filtered} />
      <TransactionNotice text={query.get('postUrl') ?? query.get('host') ?? undefined} />
      {list.data === null && list.problem !== null ? <Failure problem={list.problem} reload={list.reload} /> : null}
      {list.data !== null && list.problem !== null ? <ProblemAlert problem={list.problem} /> : null}
      {list.data === null && list.problem === null ? <Loading what="endpoints" /> : null}
      {list.data === null ? null : list.data.endpoints.length > 0 ? (
        <EndpointTable
          endpoints={list.data.endpoints}
          latency={latency}
          busy={list.data.key !== key}
          query={query}
          onEdit={setEditing}
          reload={list.reload}
        />
      ) : list.data.totalResults === 0 && !filtered ? (
        <NoEndpoints />
      ) : (
        <NoMatches total={list.data.totalResults} limit={limit} />
      )}
      {list.data === null || list.data.totalResults === 0 ? null : (
        <Pager
          total={list.data.totalResults}
          page={page}
          limit={limit}
          from={list.data.from}
          shown={list.data.endpoints.length}
          what="endpoints"
        />
      )}
      {editing === null ? null : (
        <SettingsDialog endpoint={editing} onSaved={list.reload} onClose={() => setEditing(null)} />
      )}
    </>
  );
}
