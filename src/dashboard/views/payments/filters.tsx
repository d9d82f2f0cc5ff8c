import { useEffect, useRef } from 'preact/hooks';
import { type ApiProblem, inputError } from '../../api.ts';
import { Field } from '../../components/field.tsx';
import { Icon } from '../../components/icon.tsx';
import { SearchField } from '../../components/search/search-field.tsx';
import { NetworkOptions } from '../../components/values/network.tsx';
import { changeQuery } from '../../router.tsx';
import { useKnown } from '../deliveries/filters/filter-fields.tsx';
import { STATE_DISPLAY } from './words.ts';

/** The filters of the list operation under their API names. */
export const FILTER_NAMES = ['q', 'state', 'networkId', 'token'] as const;
export type FilterName = (typeof FILTER_NAMES)[number];
export type FilterValues = Readonly<Partial<Record<FilterName, string>>>;

const NO_FILTERS = Object.fromEntries([...FILTER_NAMES, 'page'].map((name) => [name, null]));
const STATES = Object.entries(STATE_DISPLAY);

export function clearFilters(): void {
  changeQuery(NO_FILTERS);
}

type FiltersProps = { values: FilterValues; busy: boolean; problem: ApiProblem | null };

export function PaymentFilters({ values, busy, problem }: FiltersProps) {
  const { networks } = useKnown();
  const box = useSlashFocus();
  const change = (name: FilterName, value: string) => changeQuery({ [name]: value, page: null });
  return (
    <search class="filters payment-filters" ref={box}>
      <SearchField
        q={values.q}
        placeholder="Transaction hash, address, amount, agreement or transfer"
        {...{ busy, problem }}
      />
      <Field label="State" error={inputError(problem, 'state')}>
        {(control) => (
          <select
            {...control}
            value={values.state ?? ''}
            onChange={(event) => change('state', event.currentTarget.value)}
          >
            <option value="">All states</option>
            {STATES.map(([state, { label }]) => (
              <option key={state} value={state}>
                {label}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label="Network" error={inputError(problem, 'networkId')}>
        {(control) => (
          <select
            {...control}
            value={values.networkId ?? ''}
            onChange={(event) => change('networkId', event.currentTarget.value)}
          >
            <option value="">All networks</option>
            <NetworkOptions networks={networks} chosen={values.networkId ?? ''} />
          </select>
        )}
      </Field>
      <Field label="Token" error={inputError(problem, 'token')}>
        {(control) => (
          <input
            {...control}
            type="search"
            class="mono"
            placeholder="0x…"
            spellcheck={false}
            value={values.token ?? ''}
            onChange={(event) => change('token', event.currentTarget.value.trim())}
          />
        )}
      </Field>
      <button type="button" class="button" disabled={Object.keys(values).length === 0} onClick={clearFilters}>
        <Icon name="cross" size={14} />
        Clear
      </button>
    </search>
  );
}

/** The key `/` moves to the search box, unless someone is typing. */
function useSlashFocus() {
  const box = useRef<HTMLElement>(null);
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      const isTyping = event.target instanceof Element && event.target.matches('input, textarea, select');
      if (event.key !== '/' || isTyping || document.querySelector('dialog[open]') !== null) return;
      event.preventDefault();
      box.current?.querySelector('input')?.focus();
    };
    document.addEventListener('keydown', listen);
    return () => document.removeEventListener('keydown', listen);
  }, []);
  return box;
}
