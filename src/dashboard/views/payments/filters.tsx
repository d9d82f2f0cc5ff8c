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
    <search class="filters payment-filters">
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
