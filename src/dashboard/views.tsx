import type { FunctionComponent } from 'preact';
import type { IconName } from './components/icon.tsx';
import { DASHBOARD_PATHS, type ViewName } from './paths.ts';
import { Coverage } from './views/coverage/index.tsx';
import { Deliveries } from './views/deliveries/index.tsx';
import { Endpoints } from './views/endpoints/index.tsx';
import { Overview } from './views/overview/index.tsx';
import { Secrets } from './views/secrets/index.tsx';
import { Webhooks } from './views/webhooks/index.tsx';

type ViewEntry = { readonly label: string; readonly icon: IconName; readonly View: FunctionComponent };

/** The view at each path of the dashboard. */
export const VIEWS: Readonly<Record<ViewName, ViewEntry>> = {
  overview: { label: 'Overview', icon: 'overview', View: Overview },
  webhooks: { label: 'Webhooks', icon: 'webhooks', View: Webhooks },
  endpoints: { label: 'Endpoints', icon: 'endpoints', View: Endpoints },
  coverage: { label: 'Coverage', icon: 'coverage', View: Coverage },
  deliveries: { label: 'Deliveries', icon: 'deliveries', View: Deliveries },
  secrets: { label: 'Secrets', icon: 'secrets', View: Secrets },
};

export const VIEW_NAMES = Object.keys(DASHBOARD_PATHS) as ViewName[];
