import tokens from '../../dashboard/design/tokens.css' with { type: 'file' };
import { ASSET_PATH, DASHBOARD_PATHS } from '../../dashboard/paths.ts';
import { ASSET_HEADERS, DASHBOARD_HEADERS } from './headers.ts';
import styles from './not-found.css' with { type: 'file' };

/** The page that a browser shows for an address that does not exist. Programs get a problem instead. */

/** Paths that only programs call. Some HTTP clients ask for HTML even there. */
const API_PATHS = /^\/(api|admin)(\/|$)/;

export function wantsPage(request: Request, path: string): boolean {
  if (request.method !== 'GET' && request.method !== 'HEAD') return false;
  if (API_PATHS.test(path) || request.headers.has('api-key')) return false;
  const accepted = request.headers.get('accept')?.toLowerCase() ?? '';
  return /(^|,)\s*text\/html\s*(;(?!\s*q=0(\.0*)?\s*(,|$))|,|$)/.test(accepted) && !accepted.includes('json');
}

const FILES: Readonly<Record<string, string>> = {
  [`${ASSET_PATH}/tokens.css`]: tokens,
  [`${ASSET_PATH}/not-found.css`]: styles,
};

export const notFoundFiles: Readonly<Record<string, () => Response>> = Object.fromEntries(
  Object.entries(FILES).map(([path, file]) => [path, () => sendStyles(file)]),
);

function sendStyles(file: string): Response {
  const headers = { ...ASSET_HEADERS, 'content-type': 'text/css; charset=utf-8', 'cache-control': 'no-cache' };
  return new Response(Bun.file(file), { headers });
}

const LINKS = { Overview: DASHBOARD_PATHS.overview, Deliveries: DASHBOARD_PATHS.deliveries, 'API reference': '/docs' };

export function notFoundPage(path: string): Response {
  const links = Object.entries(LINKS).map(([name, href]) => `<li><a href="${href}">${name}</a></li>`);
  const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Page not found · Paybell</title>
<link rel="icon" type="image/svg+xml" href="${ASSET_PATH}/icon.svg">
${Object.keys(FILES)
  .map((file) => `<link rel="stylesheet" href="${file}">`)
  .join('\n')}
</head>
<body>
<main>
<h1>Page not found</h1>
<p>There is nothing at <code>${Bun.escapeHTML(shorten(path))}</code>. Check the address for a typing error.</p>
<nav aria-label="Pages">
<ul>
${links.join('\n')}
</ul>
</nav>
</main>
</body>
</html>
`;
  const headers = { ...DASHBOARD_HEADERS, 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' };
  return new Response(page, { status: 404, headers: { ...headers, vary: 'accept' } });
}

const MAX_PATH_SHOWN = 200;

function shorten(path: string): string {
  return path.length <= MAX_PATH_SHOWN ? path : `${path.slice(0, MAX_PATH_SHOWN)}…`;
}
