import './design.css';
import './views/deliveries/deliveries.css';
import './views/overview/overview.css';
import './views/secrets/secrets.css';
import { render } from 'preact';
import { App } from './app.tsx';

const root = document.getElementById('app');
if (root !== null) render(<App />, root);
