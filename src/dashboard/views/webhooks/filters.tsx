import type { Coverage } from '../../../client/webhooks.ts';
import { EVENT_KINDS } from '../../../domain/event-kinds.ts';
import { Field } from '../../components/field.tsx';
import { Icon } from '../../components/icon.tsx';
import { NetworkOptions } from '../../components/values/network.tsx';
import { changeQuery } from '../../router.tsx';

type FiltersProps = { query: URLSearchParams; coverage: Coverage | null; filtered: boolean };

/** Changing a filter returns to the first page, because the page number belongs to the previous results. */
function filterBy(name: string, value: string): void {
  changeQuery({ [name]: value.trim(), page: null });
}

export function clearFilters(): void {
  changeQuery({ networkId: null, event: null, webhookId: null, page: null });
}

export function Filters({ query, coverage, filtered }: FiltersProps) {
  const networkId = query.get('networkId') ?? '';
  const networks = coverage?.networks.map((network) => network.networkId) ?? [];
  return (
    <search class="filters">
      <Field label="Network">
        {(control) => (
          <select {...control} value={networkId} onChange={(event) => filterBy('networkId', event.currentTarget.value)}>
            <option value="">All networks</option>
            <NetworkOptions networks={networks} chosen={networkId} />
          </select>
        )}
      </Field>
      <Field label="Event">
        {(control) => (
          <select
            {...control}
            value={query.get('event') ?? ''}
            onChange={(event) => filterBy('event', event.currentTarget.value)}
          >
            <option value="">All events</option>
            {EVENT_KINDS.map((kind) => (
              <option key={kind} value={kind}>
                {kind}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label="Webhook ID" class="field-grow">
        {(control) => (
          <input
            {...control}
            type="search"
            class="mono"
            placeholder="wh_…"
            spellcheck={false}
            value={query.get('webhookId') ?? ''}
            onChange={(event) => filterBy('webhookId', event.currentTarget.value)}
          />
        )}
      </Field>
      <SortField query={query} />
      <button type="button" class="button" disabled={!filtered} onClick={clearFilters}>
        <Icon name="cross" size={14} />
        Clear
      </button>
    </search>
  );
}

/** On a phone, where the table has no room for the sortable columns. */
function SortField({ query }: { query: URLSearchParams }) {
  const chosen = `${query.get('sortBy') ?? 'dateCreated'} ${query.get('sortDir') ?? 'desc'}`;
  const sort = (value: string) => {
    const [sortBy, sortDir] = value.split(' ');
    changeQuery({ sortBy, sortDir, page: null });
  };
  return (
    <Field label="Sort by" class="only-phone">
      {(control) => (
        <select {...control} value={chosen} onChange={(event) => sort(event.currentTarget.value)}>
          <option value="dateCreated desc">Newest first</option>
          <option value="dateCreated asc">Oldest first</option>
          <option value="postUrl asc">URL, A to Z</option>
          <option value="postUrl desc">URL, Z to A</option>
        </select>
      )}
    </Field>
  );
}
