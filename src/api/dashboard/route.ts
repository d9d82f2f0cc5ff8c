import { Problem } from '../../contract/problems.ts';
import { ASSET_PATH, DASHBOARD_PATHS } from '../../dashboard/paths.ts';
import { version } from '../../version.ts';
import { pathOf } from '../http/request-url.ts';
import { bundleDashboard, type DashboardFile } from './bundle.ts';
import { ASSET_HEADERS, DASHBOARD_HEADERS } from './headers.ts';

/** The page for people: one document at every address of it, and its scripts and styles under names that never change
 * their content. A plain client of the public API. */

const DOCUMENT_HEADERS = {
  ...DASHBOARD_HEADERS,
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-cache',
};

const ICON_NAME = 'bell.svg';
const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#2f55d4"/><path fill="#fff" d="M16 6.5a6.6 6.6 0 0 0-6.6 6.6v4.2l-2 3.6a.9.9 0 0 0 .8 1.3h15.6a.9.9 0 0 0 .8-1.3l-2-3.6v-4.2A6.6 6.6 0 0 0 16 6.5Z"/><path fill="#fff" d="M13.3 24a2.8 2.8 0 0 0 5.4 0z"/></svg>`;

/** Under `npm run dev` every visit bundles anew: the watcher sees only what the process itself has imported. */
const WATCHED = process.execArgv.includes('--watch');

type Packed = {
  readonly type: string;
  readonly plain: Uint8Array<ArrayBuffer>;
  readonly gzip: Uint8Array<ArrayBuffer>;
};
type Page = { readonly document: Packed; readonly assets: ReadonlyMap<string, Packed> };
type Respond = (state: unknown, request: Request) => Promise<Response>;

export function dashboardFiles(processor: string): Readonly<Record<string, Respond>> {
  let prepared: Promise<Page> | null = null;
  // At the first visit and not at the start, which stays as quick as it is for those who never look.
  const page = () => {
    prepared ??= preparePage(processor).catch((error: unknown) => {
      // The next visit tries again, instead of being told of a failure that may be mended by now.
      prepared = null;
      throw error;
    });
    return prepared;
  };
  const answerDocument: Respond = async (_state, request) => {
    if (WATCHED) prepared = null;
    return respond(request, (await page()).document, DOCUMENT_HEADERS);
  };
  const answerAsset: Respond = async (_state, request) => {
    const name = pathOf(request.url).slice(ASSET_PATH.length + 1);
    const asset = (await page()).assets.get(name);
    if (asset === undefined) throw new Problem('not_found', 'There is no such file of the page. Load the page again.');
    const lasting = name === ICON_NAME ? 'public, max-age=86400' : 'public, max-age=31536000, immutable';
    return respond(request, asset, { ...ASSET_HEADERS, 'content-type': asset.type, 'cache-control': lasting });
  };
  return {
    ...Object.fromEntries(Object.values(DASHBOARD_PATHS).map((path) => [path, answerDocument])),
    [`${ASSET_PATH}/:file`]: answerAsset,
  };
}

async function preparePage(processor: string): Promise<Page> {
  const files = await bundleDashboard();
  const icon = { name: ICON_NAME, type: 'image/svg+xml', text: ICON };
  return {
    document: pack(documentOf(files, processor), 'text/html'),
    assets: new Map([...files, icon].map(({ name, type, text }) => [name, pack(text, type)])),
  };
}

function documentOf(files: readonly DashboardFile[], processor: string): string {
  // Chunks are loaded by the script when a view asks for them; only what the entry is made of is named here.
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
<meta name="paybell-processor" content="${processor}">
<meta name="paybell-version" content="${version}">
<title>Paybell</title>
<link rel="icon" type="image/svg+xml" href="${ASSET_PATH}/${ICON_NAME}">
${[...styles, ...scripts].join('\n')}
</head>
<body>
<div id="app"></div>
<noscript>This page needs JavaScript. Everything it does can be done with curl: <a href="/openapi.json">/openapi.json</a>.</noscript>
</body>
</html>
`;
}

/** Pressed once, as small as it gets, and not at each request. */
function pack(text: string, type: string): Packed {
  const plain = new TextEncoder().encode(text);
  return { type, plain, gzip: Bun.gzipSync(plain, { level: 9 }) };
}

function respond(request: Request, { plain, gzip }: Packed, headers: Record<string, string>): Response {
  const pressed = /\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/.test(request.headers.get('accept-encoding') ?? '');
  return new Response(pressed ? gzip : plain, {
    headers: { ...headers, vary: 'accept-encoding', ...(pressed ? { 'content-encoding': 'gzip' } : {}) },
  });
}
