import type { Endpoint } from '../../../client/endpoints.ts';
import { asProblem, paybell } from '../../api.ts';
import { SortHead } from '../../components/lists/sort-head.tsx';
import { showToast } from '../../components/toasts.tsx';
import { EndpointRow } from './row.tsx';

type TableProps = {
  endpoints: readonly Endpoint[];
  busy: boolean;
  query: URLSearchParams;
  onEdit: (endpoint: Endpoint) => void;
  reload: () => Promise<void>;
};

const SORT = { byDefault: { field: 'postUrl', dir: 'asc' } } as const;

export function EndpointTable({ endpoints, busy, query, onEdit, reload }: TableProps) {
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
              onEdit={() => onEdit(endpoint)}
              onPause={() => void setPaused(endpoint, reload)}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

async function setPaused({ endpointId, paused }: Endpoint, reload: () => Promise<void>): Promise<void> {
  const { endpoints } = paybell();
  try {
    await (paused ? endpoints.resume(endpointId) : endpoints.pause(endpointId));
    const text = paused
      ? 'Endpoint resumed. Held deliveries are being sent.'
      : 'Endpoint paused. Its deliveries are held until you resume it.';
    showToast({ tone: 'good', text });
    await reload();
  } catch (error) {
    showToast({ tone: 'bad', text: `Endpoint not ${paused ? 'resumed' : 'paused'}. ${asProblem(error).detail}` });
  }
}
