import { type Config, isPracticeMode } from '../../config.ts';
import { Problem } from '../../contract/problems.ts';
import { ASSET_PATH, DASHBOARD_PATHS, DETAIL_PATHS, ENTITIES_PATH } from '../../dashboard/paths.ts';
import { version } from '../../version.ts';
import { bundleDashboard, type DashboardFile } from './bundle.ts';
import { ASSET_HEADERS, DASHBOARD_HEADERS } from './headers.ts';

/**
 * Serves the dashboard, a client of the public API. Every path returns the same document. Scripts and styles can be
 * cached forever, because their names contain a hash of their content.
 */

const DOCUMENT_HEADERS = {
  ...DASHBOARD_HEADERS,
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-cache',
};

const ICON_NAME = 'icon.svg';
const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#2f55d4"/><path fill="#fff" d="M16 6.5a6.6 6.6 0 0 0-6.6 6.6v4.2l-2 3.6a.9.9 0 0 0 .8 1.3h15.6a.9.9 0 0 0 .8-1.3l-2-3.6v-4.2A6.6 6.6 0 0 0 16 6.5Z"/><path fill="#fff" d="M13.3 24a2.8 2.8 0 0 0 5.4 0z"/></svg>`;

/** Under `npm run dev` every visit bundles again, because the watcher sees only files that the process has imported. */
const WATCHED = process.execArgv.includes('--watch');

type Compressed = {
  readonly type: string;
  readonly plain: Uint8Array<ArrayBuffer>;
  readonly gzip: Uint8Array<ArrayBuffer>;
};
type PreparedDashboard = { readonly document: Compressed; readonly assets: ReadonlyMap<string, Compressed> };
type Respond = (context: unknown, state: unknown, request: Request, id: string) => Promise<Response>;

export function dashboardFiles(config: Config): Readonly<Record<string, Respond>> {
  let prepared: Promise<PreparedDashboard> | null = null;
  // Bundled on the first visit, so that it does not slow down the start of the service.
  const dashboard = () => {
    prepared ??= prepareDashboard(config).catch((error: unknown) => {
      // A later visit bundles again instead of repeating an old failure.
      prepared = null;
      throw error;
    });
    return prepared;
  };
  const sendDocument: Respond = async (_context, _state, request) => {
    if (WATCHED) prepared = null;
    return respond(request, (await dashboard()).document, DOCUMENT_HEADERS);
  };
  const sendAsset: Respond = async (_context, _state, request, name) => {
    const asset = (await dashboard()).assets.get(name);
    if (asset === undefined) throw new Problem('not_found', 'The dashboard has no such file. Reload the dashboard.');
    const caching = name === ICON_NAME ? 'public, max-age=86400' : 'public, max-age=31536000, immutable';
    return respond(request, asset, { ...ASSET_HEADERS, 'content-type': asset.type, 'cache-control': caching });
  };
  return {
    ...Object.fromEntries(
      [ENTITIES_PATH, ...Object.values(DASHBOARD_PATHS), ...Object.values(DETAIL_PATHS)].map((path) => [
        path,
        sendDocument,
      ]),
    ),
    [`${ASSET_PATH}/{file}`]: sendAsset,
  };
}

async function prepareDashboard(config: Config): Promise<PreparedDashboard> {
  const files = await bundleDashboard();
  const icon = { name: ICON_NAME, type: 'image/svg+xml', text: ICON };
  return {
    document: compress(documentOf(files, config), 'text/html'),
    assets: new Map([...files, icon].map(({ name, type, text }) => [name, compress(text, type)])),
  };
}

function documentOf(files: readonly DashboardFile[], config: Config): string {
  // The script loads the other chunks when a view needs them.
  const entries = files.filter(({ name }) => name.startsWith('main-')).map(({ name }) => `${ASSET_PATH}/${name}`);
  const styles = entries
    .filter((path) => path.endsWith('.css'))
    .map((path) => `<link rel="stylesheet" href="${path}">`);
  const scripts = entries
    .filter((path) => path.endsWith('.js'))
    .map((path) => `<script type="module" src="${path}"></script>`);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="paybell-processor" content="${config.PROCESSOR}">
<meta name="paybell-version" content="${version}">${isPracticeMode(config) ? '\n<meta name="paybell-practice" content="true">' : ''}
<title>Paybell</title>
<link rel="icon" type="image/svg+xml" href="${ASSET_PATH}/${ICON_NAME}">
${[...styles, ...scripts].join('\n')}
</head>
<body>
<div id="app"></div>
<noscript>The dashboard needs JavaScript. You can use the API instead: <a href="/openapi.json">/openapi.json</a>.</noscript>
</body>
</html>
`;
}

/** Compresses once at the highest level instead of for each request. */
function compress(text: string, type: string): Compressed {
  const plain = new TextEncoder().encode(text);
  return { type, plain, gzip: Bun.gzipSync(plain, { level: 9 }) };
}

function respond(request: Request, { plain, gzip }: Compressed, headers: Record<string, string>): Response {
  const acceptsGzip = /\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/.test(request.headers.get('accept-encoding') ?? '');
  return new Response(acceptsGzip ? gzip : plain, {
    headers: { ...headers, vary: 'accept-encoding', ...(acceptsGzip ? { 'content-encoding': 'gzip' } : {}) },
  });
}
