import { useMemo } from 'preact/hooks';
import type { AuditListQuery } from '../../../../client/audit.ts';
import { DEFAULT_LIMIT } from '../../../../contract/list-query.ts';
import { paybell } from '../../../api.ts';
import { Pager } from '../../../components/lists/pager.tsx';
import { PastTheEnd } from '../../../components/lists/past-the-end.tsx';
import { Empty, Failure, Loading } from '../../../components/view/states.tsx';
import { useRoute } from '../../../router.tsx';
import { useResponse } from '../../../use-response.ts';
import { rangeStart } from '../../deliveries/filters/time-range.ts';
import { AuditFilters, clearFilters, FILTER_NAMES } from './filters.tsx';
import { AuditTable } from './table.tsx';
import { useKeyNames } from './use-key-names.ts';

const PAGING = ['page', 'limit', 'sortBy', 'sortDir'];

/** Who changed what. The URL holds the list's parameters under their API names. */
export function AuditLog() {
  const { query } = useRoute();
  const range = query.get('range');
  const start = useMemo(() => rangeStart(range, Date.now()), [range]);
  const pick = (names: readonly string[]): Record<string, string> =>
    Object.fromEntries([...query].filter(([name]) => names.includes(name)));
  const filters: Record<string, string> = { ...pick(FILTER_NAMES), ...(start !== null && { since: start }) };
  // Passed on as text, unchecked: the server reports what is wrong with it.
  const parameters: Record<string, string> = { ...filters, ...pick(PAGING) };
  const page = Number(query.get('page') ?? 1);
  const limit = Number(query.get('limit') ?? DEFAULT_LIMIT);
  const { data, problem, loading, reload } = useResponse(JSON.stringify(parameters), (signal) =>
    paybell().audit.list(parameters as AuditListQuery, { signal }),
  );
  const names = useKeyNames();
  const filtered = Object.keys(filters).length > 0;
  return (
    <>
      <AuditFilters query={query} values={filters} filtered={filtered} problem={problem} />
      {data === null && problem !== null ? <Failure problem={problem} reload={reload} /> : null}
      {data === null && problem === null ? <Loading what="audit log" /> : null}
      {data === null ? null : data.audit.length > 0 ? (
        <AuditTable entries={data.audit} names={names} busy={loading} query={query} />
      ) : data.totalResults > 0 ? (
        <PastTheEnd total={data.totalResults} limit={limit} />
      ) : (
        <NoEntries filtered={filtered} />
      )}
      {data === null || data.totalResults === 0 ? null : (
        <Pager total={data.totalResults} page={page} limit={limit} shown={data.audit.length} what="changes" />
      )}
    </>
  );
}

function NoEntries({ filtered }: { filtered: boolean }) {
  if (!filtered) {
    return (
      <Empty icon="clock" title="No changes yet">
        <p>Every change of webhooks, endpoints, secrets and keys is recorded here, with the key that made it.</p>
      </Empty>
    );
  }
  return (
    <Empty icon="search" title="No matching changes">
      <p>No change matches these filters.</p>
      <button type="button" class="button" onClick={clearFilters}>
        Show all changes
      </button>
    </Empty>
  );
}
