import { filesImported } from './import-graph.ts';

/** Imports run in one direction: main ─► cli ─► service ─► { api, delivery, chain } ─► store ─► { contract, domain }. */

/** Read by everything above the domain, and reading nothing of the project but its rules. */
const LEAVES = ['bounded-map', 'config', 'log', 'metrics', 'telemetry', 'version'];

const BELOW_STORE = ['contract', 'domain', ...LEAVES];
const BELOW_API = ['store', ...BELOW_STORE];
const BELOW_SERVICE = ['api', 'delivery', 'chain', ...BELOW_API];
const BELOW_CLI = ['service', ...BELOW_SERVICE];

const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  main: ['cli', ...BELOW_CLI],
  cli: ['client', 'verify', ...BELOW_CLI],
  service: BELOW_SERVICE,
  api: [...BELOW_API, 'dashboard'],
  delivery: BELOW_API,
  chain: BELOW_API,
  store: BELOW_STORE,
  contract: ['domain'],
  domain: [],
  'bounded-map': [],
  config: ['contract', 'domain'],
  log: [],
  metrics: [],
  telemetry: ['config', 'domain', 'log', 'metrics', 'version'],
  version: [],
  client: ['contract', 'domain'],
  verify: ['contract', 'domain'],
  /** A client like any other: it asks over HTTP, and shares only names and lists with the server. */
  dashboard: ['bounded-map', 'client', 'contract', 'domain', 'verify'],
};

/** Files of an allowed layer that a layer still must not import. */
const NEVER: Readonly<Record<string, readonly string[]>> = {
  // The store throws domain errors; the API gives them a status, words and headers.
  store: ['src/contract/problems.ts'],
};

/** Every import of the file (by its path from the root of the project) that runs against an arrow, as a sentence. */
export function wrongArrows(file: string, source: string): string[] {
  const from = layerOf(file);
  const allowed = MAY_IMPORT[from];
  if (allowed === undefined) return [`${file} is in no layer that the architecture knows`];
  return filesImported(file, source)
    .filter((target) => target.startsWith('src/'))
    .filter((target) => isWrong(from, allowed, target))
    .map((target) => `${file} (${from}) imports ${target} (${layerOf(target)})`);
}

function isWrong(from: string, allowed: readonly string[], target: string): boolean {
  if (NEVER[from]?.includes(target)) return true;
  return layerOf(target) !== from && !allowed.includes(layerOf(target));
}

/** The folder under `src`, or the name of a file directly in `src`. */
function layerOf(file: string): string {
  return (file.split('/')[1] ?? '').replace(/(\.d)?\.tsx?$/, '');
}
