import { Hono } from 'hono';
import type { Config } from '../config.ts';
import { Problem } from '../contract/problems.ts';
import { clientAddress, parseAddressRange } from '../domain/client-address.ts';
import type { ApiContext, RequestState } from './context.ts';
import { dashboardFiles } from './dashboard/route.ts';
import { allowCrossOrigin, isPreflight, preflight } from './http/cross-origin.ts';
import { asProblem, problemResponse } from './http/problem-response.ts';
import { pathOf } from './http/request-url.ts';
import { openApiDocument } from './openapi/document.ts';
import type { Operation } from './operation.ts';
import { adminOperations } from './routes/admin.ts';
import { auditOperations } from './routes/audit.ts';
import { deliveryOperations } from './routes/deliveries.ts';
import { docsFiles } from './routes/docs.ts';
import { eventOperations } from './routes/events/accept.ts';
import { acceptedEventOperations } from './routes/events/read.ts';
import { healthz, readyz } from './routes/health.ts';
import { metrics } from './routes/metrics.ts';
import { secretOperations } from './routes/secrets.ts';
import { statsOperations } from './routes/stats.ts';
import { webhookBulkOperations } from './routes/webhooks/bulk.ts';
import { webhookHealthOperations } from './routes/webhooks/health.ts';
import { webhookOperations } from './routes/webhooks/list-and-register.ts';
import { singleWebhookOperations } from './routes/webhooks/single.ts';

/** Bun itself refuses what is over 16 KB or so, without a body: this limit is lower, so that our 414 speaks. */
const MAX_URL_LENGTH = 8_192;
const SLOW_MS = 500;
const HOST = /^([A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(:[0-9]{1,5})?$/;

/** The HTTP app as a value: it listens to nothing, and tests call `fetch` without a port. */
export type App = {
  /** `peerAddress` is asked only where it matters who is at the other end. */
  readonly fetch: (request: Request, peerAddress?: () => string | null) => Promise<Response>;
};

type Bindings = { Bindings: RequestState };

export function createApp(context: ApiContext): App {
  const routes = createRoutes(context);
  const origins = new Set(context.config.CORS_ORIGINS);
  const trusted = context.config.TRUST_PROXY.map(parseAddressRange).filter((range) => range !== null);
  return {
    async fetch(request, peerAddress = () => null) {
      const startedAtMs = performance.now();
      const state: RequestState = {
        requestId: crypto.randomUUID(),
        route: null,
        entityId: null,
        clientAddress: () => clientAddress(peerAddress(), request.headers.get('x-forwarded-for'), trusted),
        measured: null,
      };
      let answered: Response;
      try {
        answered = await answer(routes, request, state);
      } catch (error) {
        answered = respondTo(error, state, context);
      }
      const response = request.method === 'HEAD' ? await withoutBody(answered) : answered;
      response.headers.set('x-request-id', state.requestId);
      state.measured?.limit.setHeaders(response.headers, state.measured.keyId);
      if (origins.size > 0) allowCrossOrigin(request, response, origins);
      const elapsedMs = performance.now() - startedAtMs;
      context.metrics.request(request.method, state.route, response.status, elapsedMs / 1000);
      logRequest(context, request, state, response.status, elapsedMs);
      return response;
    },
  };
}

function answer(routes: Routes, request: Request, state: RequestState): Response | Promise<Response> {
  checkRequestLine(request);
  const exact = routes.exact.get(`${request.method} ${pathOf(request.url)}`);
  return exact === undefined ? routes.router.fetch(routable(request), state) : exact(state, request);
}

/** HEAD takes the road of GET; the URL of HTTP/1.0 without a Host, as simple health checks send it, gets a host. */
function routable(request: Request): Request {
  const hostless = request.url.startsWith('/');
  if (!hostless && request.method !== 'HEAD') return request;
  const url = hostless ? `http://localhost${request.url}` : request.url;
  return new Request(url, request.method === 'HEAD' ? { method: 'GET', headers: request.headers } : request);
}

/** The router would say that the length is 0, where HEAD has to say what GET would. */
async function withoutBody(response: Response): Promise<Response> {
  if (response.body === null) return response;
  const headers = new Headers(response.headers);
  headers.set('content-length', String((await response.blob()).size));
  return new Response(null, { status: response.status, headers });
}

/** Most requests name the host that the one before them named. */
let lastGoodHost: string | null = null;

/** Before routing, which would throw on a URL that the Host header has spoiled. */
function checkRequestLine(request: Request): void {
  const host = request.headers.get('host');
  if (host !== lastGoodHost && host !== null && !HOST.test(host)) {
    throw new Problem('malformed_host', 'Send one Host header with a host name and an optional port.', {
      errors: [{ in: 'header', name: 'host', message: 'must be one host name with an optional port' }],
    });
  }
  lastGoodHost = host;
  if (request.url.length > MAX_URL_LENGTH) {
    throw new Problem('url_too_long', `The URL must be at most ${MAX_URL_LENGTH} characters.`);
  }
}

function allOperations(config: Config): Operation[] {
  return [
    ...webhookOperations(config),
    ...singleWebhookOperations(config),
    ...webhookBulkOperations(config),
    ...secretOperations,
    ...webhookHealthOperations(config),
    ...eventOperations(config),
    ...acceptedEventOperations,
    ...deliveryOperations,
    ...statsOperations,
    ...auditOperations,
    // Without an ADMIN_KEY there is no such power, and these paths are as absent as any other.
    ...(config.ADMIN_KEY === undefined ? [] : adminOperations),
  ];
}

type Respond = (state: RequestState, request: Request) => Response | Promise<Response>;

/** Paths without a parameter are found by their name; the router knows all, and what to say of the rest. */
type Routes = { readonly exact: Map<string, Respond>; readonly router: Hono<Bindings> };

function createRoutes(context: ApiContext): Routes {
  const { config } = context;
  const operations = config.ROLE === 'delivery' ? [] : allOperations(config);
  const routeOf = ({ permission, path }: Operation) =>
    permission === 'operator' ? `/admin/v1${path}` : `/api/v1/${config.PROCESSOR}${path}`;
  const router = new Hono<Bindings>();
  router.onError((error, c) => respondTo(error, c.env, context));
  router.notFound(() => {
    throw new Problem(
      'not_found',
      'There is nothing at this path. /docs shows what there is, and /openapi.json lists it.',
    );
  });
  mountOpenPaths(router, context, () => openApiDocument(routeOf, operations));
  const exact = new Map<string, Respond>();
  for (const operation of operations) {
    const route = routeOf(operation);
    const method = operation.method.toUpperCase();
    const respond = (state: RequestState, request: Request, id: string) => {
      state.route = route;
      return operation.run(context, state, request, id);
    };
    router.on(method, toPattern(route), (c) => respond(c.env, c.req.raw, idIn(c.req.param())));
    if (!route.includes('{')) exact.set(`${method} ${route}`, (state, request) => respond(state, request, ''));
  }
  refuseOtherMethods(router, methodsByPath(routeOf, operations), context);
  return { exact, router };
}

/** No id holds a NUL, and PostgreSQL takes none in a text: whoever asks with one asks for what is not there. */
function idIn(parameters: Record<string, string>): string {
  const id = Object.values(parameters)[0] ?? '';
  return id.includes('\0') ? '' : id;
}

/** The paths that belong to no entity and need no key of one. */
function mountOpenPaths(router: Hono<Bindings>, context: ApiContext, describe: () => object): void {
  let document: string | null = null;
  const openapi = () => {
    document ??= JSON.stringify(describe());
    return new Response(document, { headers: { 'content-type': 'application/json', 'cache-control': 'no-cache' } });
  };
  const open: Record<string, Respond> = {
    '/healthz': healthz,
    '/readyz': () => readyz(context),
    '/metrics': (state, request) => metrics(context, state, request),
    '/openapi.json': openapi,
    ...docsFiles,
    // An instance that only delivers has no API for the dashboard to call.
    ...(context.config.ROLE === 'delivery' ? {} : dashboardFiles(context.config.PROCESSOR)),
  };
  for (const [path, respond] of Object.entries(open)) {
    router.get(path, (c) => {
      c.env.route = path;
      return respond(c.env, c.req.raw);
    });
  }
  refuseOtherMethods(router, new Map(Object.keys(open).map((path) => [path, ['GET', 'HEAD']])), context);
}

function methodsByPath(
  routeOf: (operation: Operation) => string,
  operations: readonly Operation[],
): Map<string, string[]> {
  const methods = new Map<string, string[]>();
  for (const operation of operations) {
    const known = methods.get(routeOf(operation)) ?? [];
    known.push(...(operation.method === 'get' ? ['GET', 'HEAD'] : [operation.method.toUpperCase()]));
    methods.set(routeOf(operation), known);
  }
  return methods;
}

/** The router alone would answer a wrong method on a known path with 404. */
function refuseOtherMethods(router: Hono<Bindings>, methods: Map<string, string[]>, context: ApiContext): void {
  const origins = new Set(context.config.CORS_ORIGINS);
  for (const [path, allowed] of methods) {
    const allow = allowed.join(', ');
    router.all(toPattern(path), (c) => {
      c.env.route = path;
      if (isPreflight(c.req.raw, origins)) return preflight(allow);
      throw new Problem('method_not_allowed', `This path takes ${allow}.`, { headers: { allow } });
    });
  }
}

function toPattern(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1');
}

function respondTo(error: unknown, state: RequestState, context: ApiContext): Response {
  const problem = asProblem(error);
  if (problem.status >= 500) {
    context.log.error({ requestId: state.requestId, route: state.route, err: error }, 'request failed inside');
  }
  return problemResponse(problem, state.requestId);
}

/** A line for every request would cost a quarter of the throughput: at `info` only what failed or was slow. */
function logRequest(
  context: ApiContext,
  request: Request,
  { requestId, route, entityId }: RequestState,
  status: number,
  elapsedMs: number,
): void {
  const worthALine = status >= 400 || elapsedMs >= SLOW_MS;
  const level = worthALine ? 'info' : 'debug';
  if (!context.log.isLevelEnabled(level)) return;
  const durationMs = Math.round(elapsedMs * 100) / 100;
  context.log[level]({ method: request.method, requestId, route, entityId, status, durationMs }, 'request');
}
