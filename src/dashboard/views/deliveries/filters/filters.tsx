import type { DeliveryCounts } from '../../../../client/deliveries.ts';
import type { ApiProblem } from '../../../api.ts';
import { ClearButton } from '../../../components/lists/filters.tsx';
import { TimePresets } from '../../../components/lists/time-presets.tsx';
import type { ListState } from '../../../components/lists/use-list.ts';
import { SearchField } from '../../../components/search/search-field.tsx';
import { FilterFields } from './filter-fields.tsx';
import { StatusTabs } from './status-tabs.tsx';

type FiltersProps = {
  list: ListState;
  payload: string | null;
  counts: DeliveryCounts | null;
  /** Whether the list of these filters is loading. */
  busy: boolean;
  problem: ApiProblem | null;
};

/** Filters that have their own place above the collapsed ones. */
const ALWAYS_VISIBLE = ['status', 'q'];
const TIMES = ['since', 'until'];

/** Search, time range and status are always visible; the other filters are collapsed until one of them is set. */
export function DeliveryFilters({ list, payload, counts, busy, problem }: FiltersProps) {
  const { query, filters } = list;
  const visible = query.has('range') ? [...ALWAYS_VISIBLE, ...TIMES] : ALWAYS_VISIBLE;
  const collapsed = Object.keys(filters).filter((name) => !visible.includes(name)).length;
  return (
    <search class="delivery-filters">
      <div class="filters">
        <SearchField
          q={filters.q}
          payload={payload}
          placeholder="ID of a transfer or event, transaction, URL or host"
          {...{ busy, problem }}
        />
        <TimePresets list={list} />
      </div>
      <StatusTabs query={query} chosen={filters.status ?? ''} counts={counts} />
      <details class="more-filters" open={collapsed > 0}>
        <summary>Filter by event, network, ID or time{collapsed === 0 ? '' : ` (${collapsed} active)`}</summary>
        <div class="filters">
          <FilterFields of={list} problem={problem} />
          <ClearButton {...list} />
        </div>
      </details>
    </search>
  );
}
