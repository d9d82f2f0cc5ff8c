import type { FunctionComponent, VNode } from 'preact';
import type { IconName } from './components/icon.tsx';
import { DASHBOARD_PATHS, type ViewName } from './paths.ts';
import { Coverage } from './views/coverage/index.tsx';
import { Deliveries } from './views/deliveries/index.tsx';
import { EndpointView } from './views/endpoints/endpoint/index.tsx';
import { Endpoints } from './views/endpoints/index.tsx';
import { Events } from './views/events/index.tsx';
import { Overview } from './views/overview/index.tsx';
import { Reconciliation } from './views/reconciliation/index.tsx';
import { Secrets } from './views/secrets/index.tsx';
import { Settings } from './views/settings/index.tsx';
import { Webhooks } from './views/webhooks/index.tsx';

type ViewEntry = { readonly label: string; readonly icon: IconName; readonly View: FunctionComponent };

/** The view at each path of the dashboard. */
export const VIEWS: Readonly<Record<ViewName, ViewEntry>> = {
  overview: { label: 'Overview', icon: 'overview', View: Overview },
  webhooks: { label: 'Webhooks', icon: 'webhooks', View: Webhooks },
  endpoints: { label: 'Endpoints', icon: 'endpoints', View: Endpoints },
  coverage: { label: 'Coverage', icon: 'coverage', View: Coverage },
  events: { label: 'Events', icon: 'events', View: Events },
  deliveries: { label: 'Deliveries', icon: 'deliveries', View: Deliveries },
  reconciliation: { label: 'Reconcile', icon: 'double', View: Reconciliation },
  secrets: { label: 'Secrets', icon: 'secrets', View: Secrets },
  settings: { label: 'Settings', icon: 'settings', View: Settings },
};

export const VIEW_NAMES = Object.keys(DASHBOARD_PATHS) as ViewName[];

const ENDPOINT_PATH = new RegExp(`^${DASHBOARD_PATHS.endpoints}/([^/]+)$`);

/** What a path of the dashboard shows, and which entry of the navigation it belongs to. An unknown path shows the overview. */
export function viewAt(path: string): { name: ViewName; content: VNode } {
  const endpointId = ENDPOINT_PATH.exec(path)?.[1];
  if (endpointId !== undefined) {
    return { name: 'endpoints', content: <EndpointView key={path} endpointId={decodeURIComponent(endpointId)} /> };
  }
  const name = VIEW_NAMES.find((view) => DASHBOARD_PATHS[view] === path) ?? 'overview';
  const { View } = VIEWS[name];
  return { name, content: <View key={name} /> };
}
