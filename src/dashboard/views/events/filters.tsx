import type { ApiProblem } from '../../api.ts';
import { Icon } from '../../components/icon.tsx';
import { SearchField } from '../../components/search/search-field.tsx';
import { DASHBOARD_PATHS } from '../../paths.ts';
import { changeQuery, Link, urlFor } from '../../router.tsx';
import { FilterFields, type FilterName, type FilterValues } from '../deliveries/filters/filter-fields.tsx';
import { TimePresets } from '../deliveries/filters/time-presets.tsx';

/** The filters of the list operation under their API names. */
export const FILTER_NAMES = ['q', 'event', 'networkId', 'eventId', 'since', 'until', 'matched'] as const;

const NO_FILTERS = Object.fromEntries([...FILTER_NAMES, 'range', 'page'].map((name) => [name, null]));
const TIMES: readonly FilterName[] = ['since', 'until'];
const number = new Intl.NumberFormat();

export function clearFilters(): void {
  changeQuery(NO_FILTERS);
}

type FiltersProps = {
  query: URLSearchParams;
  values: FilterValues;
  /** How many events reached no webhook; null where that is not known. */
  unmatched: number | null;
  /** Whether the list of these filters is loading. */
  busy: boolean;
  problem: ApiProblem | null;
};

export function EventFilters({ query, values, unmatched, busy, problem }: FiltersProps) {
  const range = query.get('range');
  const filtered = [...FILTER_NAMES, 'range'].some((name) => query.has(name));
  const custom = range === null && TIMES.some((name) => query.has(name));
  const change = (name: FilterName, value: string) =>
    changeQuery({ ...(TIMES.includes(name) && { range: null }), [name]: value, page: null });
  return (
    <search class="delivery-filters">
      <div class="filters">
        <SearchField
          q={values.q}
          placeholder="ID of an event, transfer or agreement, or a transaction"
          {...{ busy, problem }}
        />
        <TimePresets range={range} since={values.since} until={values.until} />
      </div>
      <div class="filters">
        {/* The search finds events by their ID too, so that this field is only for a link that has one. */}
        <FilterFields
          values={values}
          onChange={change}
          problem={problem}
          ids={values.eventId === undefined ? [] : ['eventId']}
          dates={custom}
        />
        <button type="button" class="button" disabled={!filtered} onClick={clearFilters}>
          <Icon name="cross" size={14} />
          Clear
        </button>
      </div>
      <MatchTabs query={query} unmatched={unmatched} />
    </search>
  );
}

function MatchTabs({ query, unmatched }: { query: URLSearchParams; unmatched: number | null }) {
  const values = Object.fromEntries(query);
  const chosen = query.get('matched');
  const urlOf = (matched: string | null) => urlFor(DASHBOARD_PATHS.events, { ...values, matched, page: null });
  return (
    <nav class="tabs" aria-label="Reached">
      <Link to={urlOf(null)} class="tab" aria-current={chosen === null ? 'page' : undefined}>
        All
      </Link>
      <Link
        to={urlOf('false')}
        class={unmatched === null || unmatched === 0 ? 'tab' : 'tab tab-warning'}
        aria-current={chosen === 'false' ? 'page' : undefined}
      >
        <Icon name="alert" size={12} />
        Reached no webhook
        {unmatched === null ? null : <span class="tab-count number">{number.format(unmatched)}</span>}
      </Link>
      <Link to={urlOf('true')} class="tab" aria-current={chosen === 'true' ? 'page' : undefined}>
        <Icon name="check" size={12} />
        All others
      </Link>
    </nav>
  );
}
