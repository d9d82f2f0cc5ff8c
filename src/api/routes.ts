import { type Config, servesApi } from '../config.ts';
import { notFoundFiles } from './dashboard/not-found.ts';
import { dashboardFiles } from './dashboard/route.ts';
import { NO_SNIFF } from './http/responses.ts';
import type { Handler, Operation } from './operation.ts';
import { type OperationGroup, operationGroups, pathOf } from './operations.ts';
import { docsFiles } from './routes/docs.ts';
import { healthz, readyz } from './routes/health.ts';
import { metrics } from './routes/metrics.ts';

/** One path with everything that it accepts. */
export type Route = {
  /** The path, with its parameter in braces. */
  readonly path: string;
  /** By method in upper case; GET also serves HEAD. */
  readonly handlers: ReadonlyMap<string, Handler>;
  /** The value of the Allow header. */
  readonly allow: string;
};

export type FoundRoute = { readonly route: Route; readonly id: string };

/** A path with a parameter: the texts before and after the parameter. */
type Pattern = { readonly prefix: string; readonly suffix: string; readonly route: Route };

type Table = { readonly exact: ReadonlyMap<string, Route>; readonly patterns: readonly Pattern[] };

/**
 * All routes of this instance. Paths without an id are found by name, and the few paths with an id by pattern. With
 * Hono in place of these two lookups, a list request took 12 to 20 % longer.
 */
export class Routes {
  readonly #open: Table;
  readonly #groups: readonly LoadedOnce[];
  /** The paths without a parameter, of the groups that are loaded. */
  readonly #exact: Map<string, Route>;

  constructor(config: Config) {
    this.#open = tableOf(
      Object.entries(openPaths(config)).map(([path, handler]) => ({ path, method: 'GET', handler })),
    );
    this.#groups = operationGroups(config).map((group) => new LoadedOnce(config, group, this.#onLoad));
    this.#exact = new Map(this.#open.exact);
  }

  /** Paths without a parameter that requests often name. */
  get paths(): string[] {
    return [...this.#open.exact.keys(), ...this.#groups.map(({ path }) => path)];
  }

  /** Finds a path without a parameter, if its group is loaded. */
  findExact(path: string): Route | undefined {
    return this.#exact.get(path);
  }

  /** Loads the group that the path belongs to. */
  async find(path: string): Promise<FoundRoute | null> {
    const decoded = path.includes('%') ? decodePath(path) : path;
    const group = this.#groups.find((one) => decoded === one.path || decoded.startsWith(`${one.path}/`));
    return findIn(this.#open, decoded) ?? (group === undefined ? null : findIn(await group.table(), decoded));
  }

  /** Loads all groups, one after another, so that requests run in between. */
  async loadAll(): Promise<void> {
    for (const group of this.#groups) {
      await group.table();
      await Bun.sleep(0);
    }
  }

  readonly #onLoad = ({ exact }: Table) => {
    for (const [path, route] of exact) this.#exact.set(path, route);
  };
}

/** A group of operations that is loaded when it is first needed. */
class LoadedOnce {
  readonly path: string;
  #table: Promise<Table> | null = null;

  constructor(
    private readonly config: Config,
    private readonly group: OperationGroup,
    private readonly onLoad: (table: Table) => void,
  ) {
    this.path = group.path;
  }

  table(): Promise<Table> {
    this.#table ??= this.#load().catch((error: unknown) => {
      // A later request loads it again instead of repeating an old failure.
      this.#table = null;
      throw error;
    });
    return this.#table;
  }

  async #load(): Promise<Table> {
    const operations = await this.group.load();
    const table = tableOf(
      operations.map((operation) => {
        const path = pathOf(this.config, operation);
        return { path, method: operation.method.toUpperCase(), handler: operation.respond };
      }),
    );
    this.onLoad(table);
    return table;
  }
}

type Entry = { readonly path: string; readonly method: string; readonly handler: Handler };

function tableOf(entries: readonly Entry[]): Table {
  const routes = [...Map.groupBy(entries, ({ path }) => path)].map(([path, ofPath]): Route => {
    const handlers = new Map(ofPath.map(({ method, handler }) => [method, handler]));
    return { path, handlers, allow: allowOf(handlers) };
  });
  return {
    exact: new Map(routes.filter(({ path }) => !path.includes('{')).map((route) => [route.path, route])),
    patterns: routes.filter(({ path }) => path.includes('{')).map(toPattern),
  };
}

function findIn({ exact, patterns }: Table, path: string): FoundRoute | null {
  const route = exact.get(path);
  if (route !== undefined) return { route, id: '' };
  for (const { prefix, suffix, route } of patterns) {
    if (!path.startsWith(prefix) || !path.endsWith(suffix)) continue;
    const id = path.slice(prefix.length, path.length - suffix.length);
    if (id !== '' && !id.includes('/')) return { route, id: decodeId(id) };
  }
  return null;
}

/** An encoded `/` stays encoded, so that it does not end the segment. */
function decodePath(path: string): string {
  try {
    return decodeURI(path.replaceAll('%25', '%2525'));
  } catch {
    return path;
  }
}

function decodeId(text: string): string {
  try {
    const id = decodeURIComponent(text);
    // No id contains a NUL, and PostgreSQL does not accept one in a text: such an id is not found.
    return id.includes('\0') ? '' : id;
  } catch {
    return text;
  }
}

/** The OpenAPI document, with all operations. Loads its generator, which takes as long as the rest of a start. */
export async function describeApi(config: Config): Promise<object> {
  const { openApiDocument } = await import('./openapi/document.ts');
  const groups = await Promise.all(operationGroups(config).map((group) => group.load()));
  const { EXTRA_EVENTS: extraEvents, BODY_SIGNATURE_HEADER: bodySignatureHeader } = config;
  const path = (operation: Operation) => pathOf(config, operation);
  return openApiDocument(path, groups.flat(), { extraEvents, bodySignatureHeader });
}

/** The paths that need no API key. */
function openPaths(config: Config): Record<string, Handler> {
  let document: string | null = null;
  const openapi = async () => {
    document ??= JSON.stringify(await describeApi(config));
    const headers = { 'content-type': 'application/json', 'cache-control': 'no-cache', ...NO_SNIFF };
    return new Response(document, { headers });
  };
  return {
    '/healthz': healthz,
    '/readyz': readyz,
    '/metrics': metrics,
    '/openapi.json': openapi,
    ...docsFiles,
    // Without the API, the dashboard would have nothing to call.
    ...(servesApi(config) ? { ...dashboardFiles(config), ...notFoundFiles } : {}),
  };
}

function allowOf(handlers: ReadonlyMap<string, Handler>): string {
  return [...handlers.keys()].flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ');
}

function toPattern(route: Route): Pattern {
  const [prefix = '', suffix = ''] = route.path.split(/\{\w+\}/);
  return { prefix, suffix, route };
}
