import { useState } from 'preact/hooks';
import type { Endpoint, EndpointListQuery } from '../../../client/endpoints.ts';
import { paybell } from '../../api.ts';
import { DataTable } from '../../components/lists/data-table.tsx';
import { List } from '../../components/lists/list.tsx';
import { useListState } from '../../components/lists/use-list.ts';
import { TransactionNotice } from '../../components/search/transaction-notice.tsx';
import { LiveSwitch } from '../../components/view/live-switch.tsx';
import { Empty } from '../../components/view/states.tsx';
import { ViewHead } from '../../components/view/view-head.tsx';
import { useLiveResponse } from '../../live.ts';
import { DASHBOARD_PATHS } from '../../paths.ts';
import { Link } from '../../router.tsx';
import { columnsOf } from './columns.tsx';
import { EndpointFilters } from './filters.tsx';
import { useLatency } from './latency.ts';
import { SettingsDialog } from './settings-dialog.tsx';
import { STATE_DISPLAY } from './state-badge.tsx';

const POLL_MS = 5_000;
const FILTERS = ['postUrl', 'host', 'state'];

/** Sorted by URL, people read from A to Z. */
const BY_URL = { field: 'postUrl', dir: 'asc' } as const;

export function Endpoints() {
  const list = useListState(FILTERS, BY_URL);
  const [editing, setEditing] = useState<Endpoint | null>(null);
  const query = { sortBy: BY_URL.field, sortDir: BY_URL.dir, ...list.parameters } as EndpointListQuery;
  const response = useLiveResponse(
    JSON.stringify(query),
    (signal) => paybell().endpoints.list(query, { signal }),
    POLL_MS,
  );
  const latency = useLatency();
  const { reload } = response;
  return (
    <>
      <ViewHead title="Endpoints" description="An endpoint is one URL, with all webhooks that have it.">
        <LiveSwitch />
      </ViewHead>
      <EndpointFilters list={list} />
      <TransactionNotice text={list.filters.postUrl ?? list.filters.host} />
      <List
        what="endpoints"
        state={list}
        response={response}
        rowsOf={({ endpoints }) => endpoints}
        none={<NoEndpoints />}
      >
        {(endpoints, busy) => (
          <DataTable
            name="endpoints"
            caption="Endpoints"
            columns={columnsOf({ latency, onEdit: setEditing, reload })}
            rows={endpoints}
            keyOf={({ endpointId }) => endpointId}
            rowClass={({ state }) => `row-${STATE_DISPLAY[state].tone}`}
            {...{ busy, list }}
          />
        )}
      </List>
      {editing === null ? null : (
        <SettingsDialog endpoint={editing} onSaved={reload} onClose={() => setEditing(null)} />
      )}
    </>
  );
}

function NoEndpoints() {
  return (
    <Empty icon="endpoints" title="No endpoints yet">
      <p>A URL appears here as soon as a webhook is registered for it.</p>
      <Link to={DASHBOARD_PATHS.webhooks} class="button button-primary">
        Go to webhooks
      </Link>
    </Empty>
  );
}
