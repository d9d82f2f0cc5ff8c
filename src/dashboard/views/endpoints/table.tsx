import type { Endpoint } from '../../../client/endpoints.ts';
import { SortHead } from '../../components/lists/sort-head.tsx';
import { destinationOf } from './latency.ts';
import { setPaused } from './pausing.ts';
import { EndpointRow } from './row.tsx';

type TableProps = {
  endpoints: readonly Endpoint[];
  /** By destination, where it is known. */
  latency: ReadonlyMap<string, number>;
  busy: boolean;
  query: URLSearchParams;
  onEdit: (endpoint: Endpoint) => void;
  reload: () => Promise<void>;
};

const SORT = { byDefault: { field: 'postUrl', dir: 'asc' } } as const;

export function EndpointTable({ endpoints, latency, busy, query, onEdit, reload }: TableProps) {
  return (
    <div class="table-frame">
      <table class="table endpoints" aria-busy={busy}>
        <caption class="visually-hidden">Endpoints</caption>
        <thead>
          <tr>
            <SortHead field="postUrl" label="Endpoint URL" firstDir="asc" query={query} {...SORT} />
            <th scope="col" class="not-phone">
              State
            </th>
            <SortHead
              field="waiting"
              label="Waiting"
              firstDir="desc"
              query={query}
              {...SORT}
              class="not-phone amount"
            />
            <th
              scope="col"
              class="not-phone amount"
              title="95 % of deliveries to its host were faster, in the last 24 hours"
            >
              Latency p95
            </th>
            <SortHead
              field="lastSequence"
              label="Last number"
              firstDir="desc"
              query={query}
              {...SORT}
              class="not-phone amount"
            />
            <th scope="col">
              <span class="visually-hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {endpoints.map((endpoint) => (
            <EndpointRow
              key={endpoint.endpointId}
              endpoint={endpoint}
              latencyMs={latency.get(destinationOf(endpoint.postUrl)) ?? null}
              onEdit={() => onEdit(endpoint)}
              onPause={() => void setPaused(endpoint, reload)}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}
