import { type Config, operatorKeys, servesApi } from '../config.ts';
import { notFoundFiles } from './dashboard/not-found.ts';
import { dashboardFiles } from './dashboard/route.ts';
import { NO_SNIFF } from './http/responses.ts';
import type { Handler, Operation } from './operation.ts';
import { adminOperations } from './routes/admin.ts';
import { auditOperations } from './routes/audit.ts';
import { addressOperations } from './routes/chain/addresses.ts';
import { chainOperations } from './routes/chain/chains.ts';
import { factOperations } from './routes/chain/facts.ts';
import { invoiceOperations } from './routes/chain/invoices.ts';
import { paymentOperations } from './routes/chain/payments.ts';
import { sourceOperations } from './routes/chain/sources.ts';
import { deliveryOperations } from './routes/deliveries.ts';
import { docsFiles } from './routes/docs.ts';
import { endpointOperations } from './routes/endpoints/endpoints.ts';
import { feedOperations } from './routes/endpoints/feed.ts';
import { eventOperations } from './routes/events/accept.ts';
import { acceptedEventOperations } from './routes/events/read.ts';
import { healthz, readyz } from './routes/health.ts';
import { keySetOperations } from './routes/key-set.ts';
import { listenOperations } from './routes/listen/listen-sessions.ts';
import { metrics } from './routes/metrics.ts';
import { reconciliationOperations } from './routes/reconciliation.ts';
import { secretOperations } from './routes/secrets.ts';
import { statsOperations } from './routes/stats.ts';
import { entityOperations } from './routes/tenants/entity.ts';
import { keyOperations } from './routes/tenants/keys.ts';
import { webhookBulkOperations } from './routes/webhooks/bulk.ts';
import { webhookHealthOperations } from './routes/webhooks/health.ts';
import { webhookOperations } from './routes/webhooks/list-and-register.ts';
import { webhookOptionsOperations } from './routes/webhooks/options.ts';
import { singleWebhookOperations } from './routes/webhooks/single.ts';

/** One path with everything that it accepts. */
export type Route = {
  /** With its parameter in braces. */
  readonly path: string;
  /** By method in upper case; GET also serves HEAD. */
  readonly handlers: Map<string, Handler>;
  /** The value of the Allow header. */
  readonly allow: string;
};

/** A path with a parameter: what precedes and what follows it. */
type Pattern = { readonly prefix: string; readonly suffix: string; readonly route: Route };

export type Routes = { readonly exact: ReadonlyMap<string, Route>; readonly patterns: readonly Pattern[] };

/**
 * All routes of this instance: paths by name, and the few that end in an id or have one in the middle. With Hono in
 * place of these two lookups, a list request took 12 to 20 % longer.
 */
export function createRoutes(config: Config): Routes {
  const routeOf = routing(config);
  const handlers = new Map<string, Map<string, Handler>>();
  const add = (method: string, path: string, handler: Handler) =>
    handlers.set(path, (handlers.get(path) ?? new Map<string, Handler>()).set(method, handler));
  for (const [path, handler] of Object.entries(openPaths(config))) {
    add('GET', path, handler);
  }
  for (const operation of allOperations(config))
    add(operation.method.toUpperCase(), routeOf(operation), operation.respond);
  const routes = [...handlers].map(([path, byMethod]) => ({ path, handlers: byMethod, allow: allowOf(byMethod) }));
  return {
    exact: new Map(routes.filter(({ path }) => !path.includes('{')).map((route) => [route.path, route])),
    patterns: routes.filter(({ path }) => path.includes('{')).map(toPattern),
  };
}

/** The path of an operation. */
function routing({ PROCESSOR }: Config) {
  return ({ permission, path }: Operation): string => {
    if (permission === 'none') return path;
    return permission === 'operator' ? `/admin/v1${path}` : `/api/v1/${PROCESSOR}${path}`;
  };
}

function allOperations(config: Config): Operation[] {
  if (!servesApi(config)) return [];
  return [
    ...webhookOperations(config),
    ...singleWebhookOperations(config),
    ...webhookBulkOperations(config),
    ...webhookOptionsOperations,
    ...endpointOperations(config),
    ...secretOperations,
    ...keySetOperations,
    ...webhookHealthOperations(config),
    ...eventOperations(config),
    ...acceptedEventOperations(config),
    ...deliveryOperations(config),
    ...feedOperations,
    ...sourceOperations(config),
    ...addressOperations,
    ...paymentOperations,
    ...invoiceOperations(),
    ...factOperations,
    ...reconciliationOperations(),
    ...chainOperations,
    ...listenOperations(config),
    ...statsOperations,
    ...entityOperations,
    ...keyOperations,
    ...auditOperations,
    // Without a key of an operator these paths do not exist.
    ...(operatorKeys(config).length === 0 ? [] : adminOperations),
  ];
}

/** The OpenAPI document. Loads its generator only when it is asked for: it would take a third of the time to start. */
export async function describeApi(config: Config): Promise<object> {
  const { openApiDocument } = await import('./openapi/document.ts');
  const { EXTRA_EVENTS: extraEvents, BODY_SIGNATURE_HEADER: bodySignatureHeader } = config;
  return openApiDocument(routing(config), allOperations(config), { extraEvents, bodySignatureHeader });
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
    // Without the API there is nothing for the dashboard to call.
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
