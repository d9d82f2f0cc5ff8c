import { ENDPOINT_STATES } from '../../../domain/endpoints/settings.ts';
import { FilterBar, FilterSelect, FilterText, SortSelect } from '../../components/lists/filters.tsx';
import type { ListState } from '../../components/lists/use-list.ts';
import { STATE_DISPLAY } from './state-badge.tsx';

const STATES = ENDPOINT_STATES.map((state) => [state, STATE_DISPLAY[state].label] as const);
const SORTS = [
  ['postUrl asc', 'URL, A to Z'],
  ['postUrl desc', 'URL, Z to A'],
  ['waiting desc', 'Most waiting'],
  ['lastSequence desc', 'Most deliveries'],
] as const;

export function EndpointFilters({ list }: { list: ListState }) {
  return (
    <FilterBar list={list}>
      <FilterSelect of={list} name="state" label="State" all="All states" options={STATES} />
      <FilterText of={list} name="host" label="Host" placeholder="example.com" />
      <FilterText of={list} name="postUrl" label="URL begins with" placeholder="https://…" isWide />
      <SortSelect list={list} options={SORTS} />
    </FilterBar>
  );
}
