import { useEffect, useRef } from 'preact/hooks';
import type { ApiProblem } from '../../api.ts';
import { ClearButton, FilterSelect, FilterText } from '../../components/lists/filters.tsx';
import type { ListState } from '../../components/lists/use-list.ts';
import { SearchField } from '../../components/search/search-field.tsx';
import { networkOptions } from '../../components/values/network.tsx';
import { useKnown } from '../deliveries/filters/filter-fields.tsx';
import { STATE_DISPLAY } from './words.ts';

const STATES = Object.entries(STATE_DISPLAY).map(([state, { label }]) => [state, label] as const);

type FiltersProps = { list: ListState; busy: boolean; problem: ApiProblem | null };

export function PaymentFilters({ list, busy, problem }: FiltersProps) {
  const networks = networkOptions(useKnown().networks, list.filters.networkId);
  const of = list;
  return (
    <search class="filters payment-filters" ref={useSlashFocus()}>
      <SearchField
        q={list.filters.q}
        placeholder="Transaction hash, address, amount, agreement or transfer"
        {...{ busy, problem }}
      />
      <FilterSelect {...{ of, problem }} name="state" label="State" all="All states" options={STATES} />
      <FilterSelect {...{ of, problem }} name="networkId" label="Network" all="All networks" options={networks} />
      <FilterText {...{ of, problem }} name="token" label="Token" placeholder="0x…" />
      <ClearButton {...list} />
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
