import type { AuditListQuery } from '../../../../client/audit.ts';
import { paybell } from '../../../api.ts';
import { DataTable } from '../../../components/lists/data-table.tsx';
import { List } from '../../../components/lists/list.tsx';
import { useListState } from '../../../components/lists/use-list.ts';
import { Empty } from '../../../components/view/states.tsx';
import { useResponse } from '../../../use-response.ts';
import { columnsOf } from './columns.tsx';
import { AuditFilters } from './filters.tsx';
import { useKeyNames } from './use-key-names.ts';

const FILTERS = ['action', 'actor', 'target', 'since', 'until'];

/** Who changed what. The URL holds the list's parameters under their API names. */
export function AuditLog() {
  const list = useListState(FILTERS);
  const response = useResponse(JSON.stringify(list.parameters), (signal) =>
    paybell().audit.list(list.parameters as AuditListQuery, { signal }),
  );
  const names = useKeyNames();
  return (
    <>
      <AuditFilters list={list} problem={response.problem} />
      <List what="changes" state={list} response={response} rowsOf={({ audit }) => audit} none={<NoChanges />}>
        {(entries, busy) => (
          <DataTable
            name="audit"
            caption="Audit log"
            columns={columnsOf(names)}
            rows={entries}
            keyOf={({ auditId }) => auditId}
            {...{ busy, list }}
          />
        )}
      </List>
    </>
  );
}

function NoChanges() {
  return (
    <Empty icon="clock" title="No changes yet">
      <p>Every change of webhooks, endpoints, secrets and keys is recorded here, with the key that made it.</p>
    </Empty>
  );
}
