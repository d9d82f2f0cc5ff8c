import { DELIVERY_STATUSES } from '../../../../domain/attempt.ts';
import type { ApiProblem } from '../../../api.ts';
import { Icon } from '../../../components/icon.tsx';
import { DASHBOARD_PATHS } from '../../../paths.ts';
import { changeQuery, Link, urlFor } from '../../../router.tsx';
import { STATUS_DISPLAY } from '../delivery-status.tsx';
import { FILTER_NAMES, FilterFields, type FilterValues } from './filter-fields.tsx';

type FiltersProps = { query: URLSearchParams; values: FilterValues; problem: ApiProblem | null };

const NO_FILTERS = Object.fromEntries(FILTER_NAMES.map((name) => [name, null]));

export function clearFilters(): void {
  changeQuery({ ...NO_FILTERS, page: null });
}

/** Only the status is always visible; the other filters are collapsed until one of them is set. */
export function DeliveryFilters({ query, values, problem }: FiltersProps) {
  const active = FILTER_NAMES.filter((name) => values[name] !== undefined);
  const collapsed = active.filter((name) => name !== 'status').length;
  return (
    <search class="delivery-filters">
      <StatusTabs query={query} chosen={values.status ?? ''} />
      <details class="more-filters" open={collapsed > 0}>
        <summary>Filter by event, network, ID or time{collapsed === 0 ? '' : ` (${collapsed} active)`}</summary>
        <div class="filters">
          <FilterFields
            values={values}
            onChange={(name, value) => changeQuery({ [name]: value, page: null })}
            problem={problem}
          />
          <button type="button" class="button" disabled={active.length === 0} onClick={clearFilters}>
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
  const urlOf = (status: string | null) =>
    urlFor(DASHBOARD_PATHS.deliveries, { ...values, status, page: null, delivery: null });
  return (
    <nav class="tabs" aria-label="Status">
      <Link to={urlOf(null)} class="tab" aria-current={chosen === '' ? 'page' : undefined}>
        All
      </Link>
      {DELIVERY_STATUSES.map((status) => (
        <Link
          key={status}
          to={urlOf(status)}
          class="tab"
          title={STATUS_DISPLAY[status].description}
          aria-current={chosen === status ? 'page' : undefined}
        >
          <Icon name={STATUS_DISPLAY[status].icon} size={12} />
          {STATUS_DISPLAY[status].label}
        </Link>
      ))}
    </nav>
  );
}
