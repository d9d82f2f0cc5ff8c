import { DELIVERY_STATUSES } from '../../../../domain/attempt.ts';
import type { ApiProblem } from '../../../api.ts';
import { Icon } from '../../../components/icon.tsx';
import { DASHBOARD_PATHS } from '../../../paths.ts';
import { addressOf, changeQuery, Link } from '../../../router.tsx';
import { STATUS_LOOKS } from '../delivery-status.tsx';
import { FILTER_NAMES, FilterFields, type FilterValues } from './filter-fields.tsx';

type FiltersProps = { query: URLSearchParams; values: FilterValues; problem: ApiProblem | null };

const NOTHING = Object.fromEntries(FILTER_NAMES.map((name) => [name, null]));

export function clearFilters(): void {
  changeQuery({ ...NOTHING, page: null });
}

/** What is not asked for is put out of the way: most come for one status. */
export function DeliveryFilters({ query, values, problem }: FiltersProps) {
  const set = FILTER_NAMES.filter((name) => values[name] !== undefined);
  const further = set.filter((name) => name !== 'status').length;
  return (
    <search class="delivery-filters">
      <StatusTabs query={query} chosen={values.status ?? ''} />
      <details class="further-filters" open={further > 0}>
        <summary>Filter by event, network, id or time{further === 0 ? '' : ` (${further} in use)`}</summary>
        <div class="filters">
          <FilterFields
            values={values}
            onChange={(name, value) => changeQuery({ [name]: value, page: null })}
            problem={problem}
          />
          <button type="button" class="button" disabled={set.length === 0} onClick={clearFilters}>
            <Icon name="cross" size={14} />
            Clear
          </button>
        </div>
      </details>
    </search>
  );
}

function StatusTabs({ query, chosen }: { query: URLSearchParams; chosen: string }) {
  const values = Object.fromEntries(query);
  const address = (status: string | null) =>
    addressOf(DASHBOARD_PATHS.deliveries, { ...values, status, page: null, delivery: null });
  return (
    <nav class="tabs" aria-label="Status">
      <Link to={address(null)} class="tab" aria-current={chosen === '' ? 'page' : undefined}>
        All
      </Link>
      {DELIVERY_STATUSES.map((status) => (
        <Link
          key={status}
          to={address(status)}
          class="tab"
          title={STATUS_LOOKS[status].about}
          aria-current={chosen === status ? 'page' : undefined}
        >
          <Icon name={STATUS_LOOKS[status].icon} size={12} />
          {STATUS_LOOKS[status].label}
        </Link>
      ))}
    </nav>
  );
}
