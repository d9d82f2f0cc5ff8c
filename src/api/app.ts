import { servesApi } from '../config.ts';
import { Problem } from '../contract/problems.ts';
import { parseAddressRange } from '../domain/ip-address.ts';
import type { ApiContext, RequestState } from './context.ts';
import { notFoundPage, wantsPage } from './dashboard/not-found.ts';
import { clientAddress } from './http/client-address.ts';
import { allowCrossOrigin, isPreflight, preflight } from './http/cross-origin.ts';
import { asProblem, problemResponse } from './http/problem-response.ts';
import { type FoundRoute, Routes } from './routes.ts';

/** Bun rejects URLs over about 16 KB without a body. This limit is lower, so that the client gets a problem. */
const MAX_URL_LENGTH = 8_192;
const HOST = /^([A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(:[0-9]{1,5})?$/;
/** If a client announces more than this, Paybell closes the connection after a problem, instead of reading the rest. */
const MAX_UNREAD_BYTES = 8 * 1024 * 1024;
const SLOW_MS = 500;

/** The HTTP app as a value: it does not listen, and tests call `fetch` without a port. */
export type App = {
  /** `server` is Bun's server, which knows the connection of the request. */
  readonly fetch: (request: Request, server?: Connections) => Promise<Response>;
  /** For a method that no path accepts, whatever `request.method` says: 405, or 404 if there is no such path. */
  readonly fetchUnknownMethod: App['fetch'];
  /** Paths without a parameter that requests often name. */
  readonly paths: readonly string[];
  /** Loads the operations that no request has needed yet. */
  readonly loadOperations: () => Promise<void>;
};

export type Connections = {
  requestIP(request: Request): { readonly address: string } | null;
  /** The seconds after which the connection is closed if nothing is sent; 0 for never. */
  timeout?(request: Request, seconds: number): void;
};

export function createApp(context: ApiContext): App {
  const { config } = context;
  const routes = new Routes(config);
  const origins = new Set(config.CORS_ORIGINS);
  const trustedProxies = config.TRUST_PROXY.map(parseAddressRange).filter((range) => range !== null);
  const fetch = async (request: Request, server: Connections | undefined, method: string) => {
    const startedAtMs = performance.now();
    const { path, search } = splitUrl(request.url);
    const peer = () => server?.requestIP(request)?.address ?? null;
    const state: RequestState = {
      requestId: crypto.randomUUID(),
      span: null,
      path,
      search,
      route: null,
      entityId: null,
      clientAddress: () => clientAddress(peer(), request.headers.get('x-forwarded-for'), trustedProxies),
      keepOpen: () => server?.timeout?.(request, 0),
      counted: null,
    };
    if (context.tracer !== null) state.span = context.tracer.request(method, state.path, request.headers);
    let response: Response;
    try {
      checkRequestLine(request);
      response = await respond(routes, origins, context, state, request, method);
    } catch (error) {
      response = respondWithProblem(error, state, context, request);
      if (Number(request.headers.get('content-length')) > MAX_UNREAD_BYTES) response.headers.set('connection', 'close');
    }
    if (method === 'HEAD') response = await withoutBody(response);
    response.headers.set('x-request-id', state.requestId);
    state.counted?.limit.setHeaders(response.headers, state.counted.keyId);
    if (origins.size > 0) allowCrossOrigin(request, response, origins);
    record(context, method, state, response.status, performance.now() - startedAtMs);
    return response;
  };
  return {
    fetch: (request, server) => fetch(request, server, request.method),
    fetchUnknownMethod: (request, server) => fetch(request, server, UNKNOWN_METHOD),
    paths: routes.paths,
    loadOperations: () => routes.loadAll(),
  };
}

/** The label in metrics and the log, because a client's text would make the number of labels unbounded. */
const UNKNOWN_METHOD = 'unknown';

/** Splits the text, because building a URL object for every request costs several times as much. */
function splitUrl(url: string): { path: string; search: string } {
  // A request of HTTP/1.0 without a Host, as simple health checks send it, has only a path.
  const start = url.startsWith('/') ? 0 : url.indexOf('/', url.indexOf('//') + 2);
  if (start < 0) return { path: '/', search: '' };
  const hash = url.indexOf('#', start);
  const end = hash < 0 ? url.length : hash;
  const question = url.indexOf('?', start);
  if (question < 0 || question > end) return { path: url.slice(start, end), search: '' };
  return { path: url.slice(start, question), search: url.slice(question + 1, end) };
}

/** Nearly all requests name the same host, so the last valid one is remembered. */
let validHost: string | null = null;

function checkRequestLine(request: Request): void {
  const host = request.headers.get('host');
  if (host !== validHost && host !== null) {
    if (!HOST.test(host) || !URL.canParse(`http://${host}`)) throw malformedHost();
    validHost = host;
  }
  if (request.url.length > MAX_URL_LENGTH) {
    throw new Problem('url_too_long', `The URL must be at most ${MAX_URL_LENGTH} characters.`);
  }
}

function malformedHost(): Problem {
  return new Problem('malformed_host', 'Send one Host header with a host name or an address, and an optional port.', {
    errors: [{ in: 'header', name: 'host', message: 'must be one host name or address with an optional port' }],
  });
}

async function respond(
  routes: Routes,
  origins: ReadonlySet<string>,
  context: ApiContext,
  state: RequestState,
  request: Request,
  method: string,
): Promise<Response> {
  const exact = routes.findExact(state.path);
  const { route, id } =
    exact === undefined ? await findRoute(routes, state.path, context.config.PROCESSOR) : { route: exact, id: '' };
  state.route = route.path;
  const handler = route.handlers.get(method === 'HEAD' ? 'GET' : method);
  if (handler !== undefined) return handler(context, state, request, id);
  if (isPreflight(request, origins)) return preflight(route.allow);
  const { allow } = route;
  throw new Problem('method_not_allowed', `This path accepts ${allow}.`, { headers: { allow } });
}

async function findRoute(routes: Routes, path: string, processor: string): Promise<FoundRoute> {
  const found = await routes.find(path);
  if (found !== null) return found;
  // Corrects two mistakes of clients of another service: the name of the processor, and a slash at the end.
  const corrected = path.replace(/\/+$/, '').replace(/^\/api\/v1\/[^/]+\//, `/api/v1/${processor}/`);
  const meant = (await routes.find(corrected))?.route.path;
  const advice = meant === undefined ? 'See /docs or /openapi.json for all paths.' : `Did you mean ${meant}?`;
  throw new Problem('not_found', `There is nothing at this path. ${advice}`);
}

function respondWithProblem(error: unknown, state: RequestState, context: ApiContext, request: Request): Response {
  const problem = asProblem(error);
  const isUnknownPath = problem.code === 'not_found' && state.route === null;
  // Without the API, there is no dashboard for a link on the page.
  if (isUnknownPath && servesApi(context.config) && wantsPage(request, state.path)) return notFoundPage(state.path);
  if (problem.status >= 500) {
    const { requestId, route, span } = state;
    context.log.error({ requestId, ...span?.ids, route, err: error }, 'request failed');
  }
  return problemResponse(problem, state.requestId);
}

/** The response to HEAD has the content-length that GET would have, and the date that Bun adds only to a GET. */
async function withoutBody(response: Response): Promise<Response> {
  const headers = new Headers(response.headers);
  headers.set('date', new Date().toUTCString());
  if (response.body === null) return new Response(null, { status: response.status, headers });
  headers.set('content-length', String((await response.blob()).size));
  return new Response(null, { status: response.status, headers });
}

/** Logging every request would cost a quarter of the throughput, so `info` has only failed and slow requests. */
function record(
  { metrics, log }: ApiContext,
  method: string,
  { requestId, route, entityId, span }: RequestState,
  status: number,
  elapsedMs: number,
): void {
  // An unknown path can be any text, so it never becomes a label.
  metrics.requests.of(method, route ?? 'none', status).inc();
  metrics.requestSeconds.of(route ?? 'none').observe(elapsedMs / 1000);
  span?.end({ route, requestId, entityId, status });
  const level = status >= 400 || elapsedMs >= SLOW_MS ? 'info' : 'debug';
  if (!log.isLevelEnabled(level)) return;
  const durationMs = Math.round(elapsedMs * 100) / 100;
  log[level]({ method, requestId, ...span?.ids, route, entityId, status, durationMs }, 'request');
}
