import { ASSET_HEADERS, REFERENCE_HEADERS } from '../dashboard/headers.ts';
import ownStyles from './reference.css' with { type: 'file' };

/**
 * The API reference, in Swagger UI. This process serves everything that it loads, so it works offline. The executable
 * contains the files of the viewer; a checkout has them among its development dependencies.
 */

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Paybell API reference</title>
<link rel="stylesheet" href="/docs/swagger-ui.css">
<link rel="stylesheet" href="/docs/reference.css">
</head>
<body>
<div id="reference"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`;

/**
 * Sets the class for dark colours, which Swagger UI does not set itself. Hides the choice of a server, because there is
 * only one. Removes links inside of buttons and names every input after its parameter, for assistive technology.
 */
const START = `const dark = matchMedia('(prefers-color-scheme: dark)');
const followColourScheme = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', followColourScheme);
followColourScheme();

const nameOf = (control) => {
  const parameter = control.closest('[data-param-name]')?.dataset.paramName;
  if (parameter !== undefined) return parameter;
  if (control.localName === 'textarea') return 'Request body';
  return control.matches('.examples-select-element') ? 'Example' : 'Media type';
};
const nameControls = () => {
  for (const control of reference.querySelectorAll('select, textarea, input')) {
    const isNamed = control.hasAttribute('aria-label') || control.labels?.length > 0;
    if (!isNamed) control.setAttribute('aria-label', nameOf(control));
  }
};
const reference = document.querySelector('#reference');
new MutationObserver(nameControls).observe(reference, { childList: true, subtree: true });

SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#reference',
  deepLinking: true,
  tryItOutEnabled: true,
  validatorUrl: null,
  plugins: [
    () => ({
      wrapComponents: {
        ServersContainer: () => () => null,
        DeepLink: (_original, { React }) => ({ text }) => React.createElement('span', null, text),
      },
    }),
  ],
});
`;

const NOT_INSTALLED =
  'The viewer is not installed here: run npm ci without --omit=dev. The document is at /openapi.json.\n';

type Asset = Promise<{ default: string }>;
const pathOf = (asset: Asset) => asset.then((found) => found.default).catch(() => null);
const styles = await pathOf(import('swagger-ui-dist/swagger-ui.css', { with: { type: 'file' } }));
const bundle = await pathOf(import('swagger-ui-dist/swagger-ui-bundle.js', { with: { type: 'file' } }));

export const docsFiles: Readonly<Record<string, () => Response>> = {
  '/docs': () => (bundle === null ? notInstalled() : file(PAGE, 'text/html; charset=utf-8', REFERENCE_HEADERS)),
  '/docs/start.js': () => file(START, 'text/javascript; charset=utf-8'),
  '/docs/reference.css': () => file(Bun.file(ownStyles), 'text/css; charset=utf-8'),
  '/docs/swagger-ui.css': () => shipped(styles, 'text/css; charset=utf-8'),
  '/docs/swagger-ui-bundle.js': () => shipped(bundle, 'text/javascript; charset=utf-8'),
};

function shipped(path: string | null, type: string): Response {
  return path === null ? notInstalled() : file(Bun.file(path), type);
}

function notInstalled(): Response {
  const headers = { 'content-type': 'text/plain; charset=utf-8', ...ASSET_HEADERS };
  return new Response(NOT_INSTALLED, { status: 404, headers });
}

function file(body: string | Blob, type: string, headers: Record<string, string> = ASSET_HEADERS): Response {
  return new Response(body, { headers: { 'content-type': type, 'cache-control': 'no-cache', ...headers } });
}
