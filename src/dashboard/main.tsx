import './design.css';
import './views/coverage/coverage.css';
import './views/deliveries/deliveries.css';
import './views/deliveries/panel/panel.css';
import './views/endpoints/endpoints.css';
import './views/events/events.css';
import './views/overview/attention/attention.css';
import './views/overview/networks.css';
import './views/overview/overview.css';
import './views/reconciliation/reconciliation.css';
import './views/secrets/secrets.css';
import './views/settings/settings.css';
import './views/sign-in/sign-in.css';
import './views/webhooks/webhooks.css';
import { render } from 'preact';
import { App } from './app.tsx';

const root = document.getElementById('app');
if (root !== null) render(<App />, root);
