import type { Coverage } from '../../../client/webhooks.ts';
import { EVENT_KINDS } from '../../../domain/event-kinds.ts';
import { FilterBar, FilterSelect, FilterText, SortSelect } from '../../components/lists/filters.tsx';
import type { ListState } from '../../components/lists/use-list.ts';
import { networkOptions } from '../../components/values/network.tsx';

const SORTS = [
  ['dateCreated desc', 'Newest first'],
  ['dateCreated asc', 'Oldest first'],
  ['postUrl asc', 'URL, A to Z'],
  ['postUrl desc', 'URL, Z to A'],
] as const;

export function WebhookFilters({ list, coverage }: { list: ListState; coverage: Coverage | null }) {
  const networks = coverage?.networks.map(({ networkId }) => networkId) ?? [];
  const events = EVENT_KINDS.map((kind) => [kind, kind] as const);
  return (
    <FilterBar list={list}>
      <FilterSelect
        of={list}
        name="networkId"
        label="Network"
        all="All networks"
        options={networkOptions(networks, list.filters.networkId)}
      />
      <FilterSelect of={list} name="event" label="Event" all="All events" options={events} />
      <FilterText of={list} name="webhookId" label="Webhook ID" placeholder="wh_…" isWide />
      <SortSelect list={list} options={SORTS} />
    </FilterBar>
  );
}
