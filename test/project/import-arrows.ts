/** Imports run in one direction: main ─► cli ─► service ─► { api, delivery } ─► store ─► { contract, domain }. */

/** Read by everything above the domain, and reading nothing of the project but its rules. */
const LEAVES = ['bounded-map', 'config', 'log', 'metrics', 'version'];

const BELOW_STORE = ['contract', 'domain', ...LEAVES];
const BELOW_API = ['store', ...BELOW_STORE];
const BELOW_SERVICE = ['api', 'delivery', ...BELOW_API];
const BELOW_CLI = ['service', ...BELOW_SERVICE];

const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  main: ['cli', ...BELOW_CLI],
  cli: ['client', 'verify', ...BELOW_CLI],
  service: BELOW_SERVICE,
  api: [...BELOW_API, 'dashboard'],
  delivery: BELOW_API,
  store: BELOW_STORE,
  contract: ['domain'],
  domain: [],
  'bounded-map': [],
  config: ['contract', 'domain'],
  log: [],
  metrics: [],
  version: [],
  client: ['contract', 'domain'],
  verify: ['contract', 'domain'],
  /** A client like any other: it asks over HTTP, and shares only names and lists with the server. */
  dashboard: ['bounded-map', 'client', 'contract', 'domain', 'verify'],
};

/** Files of an allowed layer that a layer still must not import. */
const NEVER: Readonly<Record<string, readonly string[]>> = {
  // The store throws domain errors; the API gives them a status, words and headers.
  store: ['contract/problems.ts'],
};

const IMPORT = /\b(?:import|export)\b[^'"`;]*?\bfrom\s*['"]([^'"]+)['"]|\bimport\s*\(?\s*['"]([^'"]+)['"]/g;

/** Types count too: an arrow of types is an arrow. */
export function importsOf(source: string): string[] {
  const code = source.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
  return [...code.matchAll(IMPORT)].map((match) => match[1] ?? match[2] ?? '');
}

/** Every import of the file (by its path under src/) that runs against an arrow, as a sentence. */
export function wrongArrows(file: string, source: string): string[] {
  const from = layerOf(file);
  const allowed = MAY_IMPORT[from];
  if (allowed === undefined) return [`${file} is in no layer that the architecture knows`];
  return importsOf(source)
    .filter((specifier) => specifier.startsWith('.'))
    .map((specifier) => pathUnderSrc(file, specifier))
    .filter((target) => target !== null)
    .filter((target) => isWrong(from, allowed, target))
    .map((target) => `${file} (${from}) imports ${target} (${layerOf(target)})`);
}

function isWrong(from: string, allowed: readonly string[], target: string): boolean {
  if (NEVER[from]?.includes(target)) return true;
  return layerOf(target) !== from && !allowed.includes(layerOf(target));
}

/** The folder, or the name of a file that stands beside the folders. */
function layerOf(file: string): string {
  return (file.split('/')[0] ?? '').replace(/(\.d)?\.tsx?$/, '');
}

/** Null for what lies outside src/, such as package.json. */
function pathUnderSrc(file: string, specifier: string): string | null {
  const { pathname } = new URL(specifier, `file:///src/${file}`);
  return pathname.startsWith('/src/') ? pathname.slice('/src/'.length) : null;
}
