import type { ApiProblem } from '../../api.ts';
import { ClearButton } from '../../components/lists/filters.tsx';
import { hasOwnDates, TimePresets } from '../../components/lists/time-presets.tsx';
import type { ListState } from '../../components/lists/use-list.ts';
import { SearchField } from '../../components/search/search-field.tsx';
import { countText } from '../../components/values/count-text.ts';
import { Tabs } from '../../components/view/tabs.tsx';
import { DASHBOARD_PATHS } from '../../paths.ts';
import { urlFor } from '../../router.tsx';
import { FilterFields } from '../deliveries/filters/filter-fields.tsx';

type FiltersProps = {
  list: ListState;
  /** How many events reached no webhook; null if that is not known. */
  unmatched: number | null;
  /** Whether the list of these filters is loading. */
  busy: boolean;
  problem: ApiProblem | null;
};

export function EventFilters({ list, unmatched, busy, problem }: FiltersProps) {
  const { query, filters } = list;
  return (
    <search class="delivery-filters">
      <div class="filters">
        <SearchField
          q={filters.q}
          placeholder="ID of an event, transfer or agreement, or a transaction"
          {...{ busy, problem }}
        />
        <TimePresets list={list} />
      </div>
      <div class="filters">
        {/* The search also finds events by their ID, so this field is shown only if the link has an ID. */}
        <FilterFields
          of={list}
          problem={problem}
          ids={filters.eventId === undefined ? [] : ['eventId']}
          dates={hasOwnDates(list)}
        />
        <ClearButton {...list} />
      </div>
      <MatchTabs query={query} unmatched={unmatched} />
    </search>
  );
}

function MatchTabs({ query, unmatched }: { query: URLSearchParams; unmatched: number | null }) {
  const tabOf = (matched: string | null) => ({
    to: urlFor(DASHBOARD_PATHS.events, { ...Object.fromEntries(query), matched, page: null }),
    isChosen: query.get('matched') === matched,
  });
  const count = unmatched === null ? null : <span class="tab-count number">{countText(unmatched)}</span>;
  return (
    <Tabs
      label="Reached"
      tabs={[
        { ...tabOf(null), label: 'All' },
        { ...tabOf('false'), label: 'Reached no webhook', icon: 'alert', count, tone: unmatched ? 'warning' : null },
        { ...tabOf('true'), label: 'All others', icon: 'check' },
      ]}
    />
  );
}
