/** The path of every view, in the order of the navigation. The server sends the same document at each of them. */
export const DASHBOARD_PATHS = {
  overview: '/',
  payments: '/payments',
  invoices: '/invoices',
  webhooks: '/webhooks',
  endpoints: '/endpoints',
  coverage: '/coverage',
  events: '/events',
  deliveries: '/deliveries',
  reconciliation: '/reconciliation',
  networks: '/networks',
  secrets: '/secrets',
  settings: '/settings',
} as const;

/** Where the page of one endpoint is. */
export function endpointPath(endpointId: string): string {
  return `${DASHBOARD_PATHS.endpoints}/${encodeURIComponent(endpointId)}`;
}

/** The page of one payment. */
export function paymentPath(paymentId: string): string {
  return `${DASHBOARD_PATHS.payments}/${encodeURIComponent(paymentId)}`;
}

/** The page of one invoice. */
export function invoicePath(invoiceId: string): string {
  return `${DASHBOARD_PATHS.invoices}/${encodeURIComponent(invoiceId)}`;
}

/** The list of all entities, which operators see. Every other path leads there too until they have opened an entity. */
export const ENTITIES_PATH = '/entities';

/** The page of one network. */
export function networkPath(networkId: number): string {
  return `${DASHBOARD_PATHS.networks}/${networkId}`;
}

/** Paths with an id, as the server routes them. */
export const DETAIL_PATHS = {
  endpoint: `${DASHBOARD_PATHS.endpoints}/{endpointId}`,
  payment: `${DASHBOARD_PATHS.payments}/{paymentId}`,
  invoice: `${DASHBOARD_PATHS.invoices}/{invoiceId}`,
  network: `${DASHBOARD_PATHS.networks}/{networkId}`,
} as const;

export type ViewName = keyof typeof DASHBOARD_PATHS;

/** Where scripts and styles are served. Their names contain a hash of their content. */
export const ASSET_PATH = '/assets';
