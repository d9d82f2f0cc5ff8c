/** The path of every view, in the order of the navigation. The server sends the same document at each of them. */
export const DASHBOARD_PATHS = {
  overview: '/',
  webhooks: '/webhooks',
  endpoints: '/endpoints',
  coverage: '/coverage',
  deliveries: '/deliveries',
  secrets: '/secrets',
} as const;

export type ViewName = keyof typeof DASHBOARD_PATHS;

/** Where scripts and styles are served. Their names contain a hash of their content. */
export const ASSET_PATH = '/assets';
