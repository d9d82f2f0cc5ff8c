import { ENDPOINT_STATES } from '../../../domain/endpoints/settings.ts';
import { Field } from '../../components/field.tsx';
import { Icon } from '../../components/icon.tsx';
import { changeQuery } from '../../router.tsx';
import { STATE_DISPLAY } from './state-badge.tsx';

/** Changing a filter returns to the first page, because the page number belongs to the previous results. */
function filterBy(name: string, value: string): void {
  changeQuery({ [name]: value.trim(), page: null });
}

export function clearFilters(): void {
  changeQuery({ postUrl: null, host: null, state: null, failing: null, page: null });
}

/** Failing is no state of the API, which has it as a filter of its own; an endpoint fails while it is active. */
const FAILING = 'failing';

function chosenState(query: URLSearchParams): string {
  return query.get('failing') === 'true' ? FAILING : (query.get('state') ?? '');
}

function filterByState(state: string): void {
  const isFailing = state === FAILING;
  changeQuery({ state: isFailing ? 'active' : state, failing: isFailing ? 'true' : null, page: null });
}

export function Filters({ query, filtered }: { query: URLSearchParams; filtered: boolean }) {
  return (
    <search class="filters">
      <Field label="State">
        {(control) => (
          <select
            {...control}
            value={chosenState(query)}
            onChange={(event) => filterByState(event.currentTarget.value)}
          >
            <option value="">All states</option>
            <option value={FAILING}>Failing</option>
            {ENDPOINT_STATES.map((state) => (
              <option key={state} value={state}>
                {STATE_DISPLAY[state].label}
              </option>
            ))}
          </select>
        )}
      </Field>
      <TextFilter query={query} name="host" label="Host" placeholder="example.com" />
      <TextFilter query={query} name="postUrl" label="URL begins with" placeholder="https://…" grow />
      <SortField query={query} />
      <button type="button" class="button" disabled={!filtered} onClick={clearFilters}>
        <Icon name="cross" size={14} />
        Clear
      </button>
    </search>
  );
}

type TextFilterProps = { query: URLSearchParams; name: string; label: string; placeholder: string; grow?: boolean };

function TextFilter({ query, name, label, placeholder, grow = false }: TextFilterProps) {
  return (
    <Field label={label} class={grow ? 'field-grow' : ''}>
      {(control) => (
        <input
          {...control}
          type="search"
          class="mono"
          placeholder={placeholder}
          spellcheck={false}
          value={query.get(name) ?? ''}
          onChange={(event) => filterBy(name, event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

/** On a phone, where the table has no room for the sortable columns. */
function SortField({ query }: { query: URLSearchParams }) {
  const chosen = `${query.get('sortBy') ?? 'postUrl'} ${query.get('sortDir') ?? 'asc'}`;
  const sort = (value: string) => {
    const [sortBy, sortDir] = value.split(' ');
    changeQuery({ sortBy, sortDir, page: null });
  };
  return (
    <Field label="Sort by" class="only-phone">
      {(control) => (
        <select {...control} value={chosen} onChange={(event) => sort(event.currentTarget.value)}>
          <option value="postUrl asc">URL, A to Z</option>
          <option value="postUrl desc">URL, Z to A</option>
          <option value="waiting desc">Most waiting</option>
          <option value="lastSequence desc">Most deliveries</option>
        </select>
      )}
    </Field>
  );
}
