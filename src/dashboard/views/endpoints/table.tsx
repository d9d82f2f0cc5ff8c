import type { Endpoint } from '../../../client/endpoints.ts';
import { DataTable } from '../../components/lists/data-table.tsx';
import { columnsOf } from './columns.tsx';
import { isFailing } from './state-badge.tsx';

type TableProps = {
  endpoints: readonly Endpoint[];
  /** By destination, where it is known. */
  latency: ReadonlyMap<string, number>;
  busy: boolean;
  query: URLSearchParams;
  onEdit: (endpoint: Endpoint) => void;
  reload: () => Promise<void>;
};

const BY_URL = { field: 'postUrl', dir: 'asc' } as const;

export function EndpointTable({ endpoints, latency, busy, query, onEdit, reload }: TableProps) {
  return (
    <DataTable
      name="endpoints"
      caption="Endpoints"
      columns={columnsOf({ latency, onEdit, reload })}
      rows={endpoints}
      keyOf={({ endpointId }) => endpointId}
      rowClass={(endpoint) => `endpoint-${isFailing(endpoint) ? 'failing' : endpoint.state}`}
      byDefault={BY_URL}
      {...{ busy, query }}
    />
  );
}
