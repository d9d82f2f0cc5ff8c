import type { DeliveryCounts } from '../../../../client/deliveries.ts';
import type { ApiProblem } from '../../../api.ts';
import { Icon } from '../../../components/icon.tsx';
import { SearchField } from '../../../components/search/search-field.tsx';
import { changeQuery } from '../../../router.tsx';
import { FILTER_NAMES, FilterFields, type FilterName, type FilterValues } from './filter-fields.tsx';
import { StatusTabs } from './status-tabs.tsx';
import { TimePresets } from './time-presets.tsx';

type FiltersProps = {
  query: URLSearchParams;
  values: FilterValues;
  counts: DeliveryCounts | null;
  /** Whether the list of these filters is loading. */
  busy: boolean;
  problem: ApiProblem | null;
};

const NO_FILTERS = Object.fromEntries([...FILTER_NAMES, 'payload', 'range'].map((name) => [name, null]));

export function clearFilters(): void {
  changeQuery({ ...NO_FILTERS, page: null });
}

/** What has a place of its own above the collapsed filters. */
const ALWAYS_VISIBLE: readonly FilterName[] = ['status', 'q'];
const TIMES: readonly FilterName[] = ['since', 'until'];

/** Search, time range and status are always visible; the other filters are collapsed until one of them is set. */
export function DeliveryFilters({ query, values, counts, busy, problem }: FiltersProps) {
  const range = query.get('range');
  const payload = query.get('payload');
  const active = FILTER_NAMES.filter((name) => values[name] !== undefined);
  const collapsed = active.filter(
    (name) => !ALWAYS_VISIBLE.includes(name) && !(range !== null && TIMES.includes(name)),
  ).length;
  // A date of one's own takes the place of a range.
  const change = (name: FilterName, value: string) =>
    changeQuery({ ...(TIMES.includes(name) && { range: null }), [name]: value, page: null });
  return (
    <search class="delivery-filters">
      <div class="filters">
        <SearchField
          q={values.q}
          payload={payload}
          placeholder="ID of a transfer or event, transaction, URL or host"
          {...{ busy, problem }}
        />
        <TimePresets range={range} since={values.since} until={values.until} />
      </div>
      <StatusTabs query={query} chosen={values.status ?? ''} counts={counts} />
      <details class="more-filters" open={collapsed > 0}>
        <summary>Filter by event, network, ID or time{collapsed === 0 ? '' : ` (${collapsed} active)`}</summary>
        <div class="filters">
          <FilterFields values={values} onChange={change} problem={problem} />
          <button type="button" class="button" disabled={active.length === 0} onClick={clearFilters}>
            <Icon name="cross" size={14} />
            Clear
          </button>
        </div>
      </details>
    </search>
  );
}
