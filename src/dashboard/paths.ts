/** Every address of the page, in the order of its navigation. The server answers each with the same document. */
export const DASHBOARD_PATHS = {
  overview: '/',
  webhooks: '/webhooks',
  coverage: '/coverage',
  deliveries: '/deliveries',
  secrets: '/secrets',
} as const;

export type ViewName = keyof typeof DASHBOARD_PATHS;

/** Where scripts and styles are served: their names carry a hash of their content. */
export const ASSET_PATH = '/page';
