import type { FunctionComponent, VNode } from 'preact';
import type { IconName } from './components/icon.tsx';
import { DASHBOARD_PATHS, DETAIL_PATHS, type ViewName } from './paths.ts';
import { Coverage } from './views/coverage/index.tsx';
import { Deliveries } from './views/deliveries/index.tsx';
import { EndpointView } from './views/endpoints/endpoint/index.tsx';
import { Endpoints } from './views/endpoints/index.tsx';
import { Events } from './views/events/index.tsx';
import { Invoices } from './views/invoices/index.tsx';
import { InvoiceView } from './views/invoices/invoice/index.tsx';
import { NetworkView } from './views/network/index.tsx';
import { NetworkList } from './views/network/list.tsx';
import { Overview } from './views/overview/index.tsx';
import { Payments } from './views/payments/index.tsx';
import { PaymentView } from './views/payments/payment/index.tsx';
import { Reconciliation } from './views/reconciliation/index.tsx';
import { Secrets } from './views/secrets/index.tsx';
import { Settings } from './views/settings/index.tsx';
import { Webhooks } from './views/webhooks/index.tsx';

type ViewEntry = { readonly label: string; readonly icon: IconName; readonly View: FunctionComponent };

/** The view at each path of the dashboard. */
export const VIEWS: Readonly<Record<ViewName, ViewEntry>> = {
  overview: { label: 'Overview', icon: 'overview', View: Overview },
  payments: { label: 'Payments', icon: 'payments', View: Payments },
  invoices: { label: 'Invoices', icon: 'invoices', View: Invoices },
  webhooks: { label: 'Webhooks', icon: 'webhooks', View: Webhooks },
  endpoints: { label: 'Endpoints', icon: 'endpoints', View: Endpoints },
  coverage: { label: 'Coverage', icon: 'coverage', View: Coverage },
  events: { label: 'Events', icon: 'events', View: Events },
  deliveries: { label: 'Deliveries', icon: 'deliveries', View: Deliveries },
  reconciliation: { label: 'Reconcile', icon: 'double', View: Reconciliation },
  networks: { label: 'Networks', icon: 'networks', View: NetworkList },
  secrets: { label: 'Secrets', icon: 'secrets', View: Secrets },
  settings: { label: 'Settings', icon: 'settings', View: Settings },
};

export const VIEW_NAMES = Object.keys(DASHBOARD_PATHS) as ViewName[];

/** The page of one thing, and the entry of the navigation that it belongs to. */
type Detail = { readonly path: RegExp; readonly name: ViewName; readonly content: (id: string) => VNode };

const DETAILS: readonly Detail[] = [
  {
    path: pathOf(DETAIL_PATHS.endpoint),
    name: 'endpoints',
    content: (id) => <EndpointView key={id} endpointId={id} />,
  },
  { path: pathOf(DETAIL_PATHS.payment), name: 'payments', content: (id) => <PaymentView key={id} paymentId={id} /> },
  { path: pathOf(DETAIL_PATHS.invoice), name: 'invoices', content: (id) => <InvoiceView key={id} invoiceId={id} /> },
  {
    path: pathOf(DETAIL_PATHS.network),
    name: 'networks',
    content: (id) => <NetworkView key={id} networkId={Number(id)} />,
  },
];

function pathOf(route: string): RegExp {
  return new RegExp(`^${route.replace(/\{\w+\}/, '([^/]+)')}$`);
}

/** The view at a path of the dashboard, and its entry of the navigation. An unknown path shows the overview. */
export function viewAt(path: string): { name: ViewName; content: VNode } {
  for (const detail of DETAILS) {
    const id = detail.path.exec(path)?.[1];
    if (id !== undefined) return { name: detail.name, content: detail.content(decodeURIComponent(id)) };
  }
  const name = VIEW_NAMES.find((view) => DASHBOARD_PATHS[view] === path) ?? 'overview';
  const { View } = VIEWS[name];
  return { name, content: <View key={name} /> };
}
