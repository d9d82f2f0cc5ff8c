import { type Config, operatorKeys, servesApi } from '../config.ts';
import type { Operation } from './operation.ts';

/**
 * The operations in groups. A group is loaded with the first request to its paths, or a second after the start. The modules of all
 * operations, with their schemas, took more than half of the time to start.
 */

type Load = (config: Config) => Promise<readonly Operation[]>;
type Groups = Readonly<Record<string, readonly Load[]>>;

/** A group has `path`, and the paths below it that no earlier group has. */
export type OperationGroup = { readonly path: string; readonly load: () => Promise<readonly Operation[]> };

/** By path below the base path of the entity's API, in the order of the OpenAPI document. */
const ENTITY_GROUPS: Groups = {
  '/webhooks/classic': [
    async (config) => (await import('./routes/webhooks/list-and-register.ts')).webhookOperations(config),
    async (config) => (await import('./routes/webhooks/single.ts')).singleWebhookOperations(config),
    async (config) => (await import('./routes/webhooks/bulk.ts')).webhookBulkOperations(config),
    async () => (await import('./routes/webhooks/options.ts')).webhookOptionsOperations,
    async (config) => (await import('./routes/webhooks/health.ts')).webhookHealthOperations(config),
  ],
  '/endpoints': [
    async (config) => (await import('./routes/endpoints/endpoints.ts')).endpointOperations(config),
    async () => (await import('./routes/endpoints/feed.ts')).feedOperations,
  ],
  '/webhooks': [
    async (config) => (await import('./routes/webhooks/coverage.ts')).coverageOperations(config),
    async (config) => (await import('./routes/webhooks/notice-url.ts')).noticeUrlOperations(config),
    async () => (await import('./routes/secrets.ts')).secretOperations,
  ],
  '/events': [
    async (config) => (await import('./routes/events/accept.ts')).eventOperations(config),
    async (config) => (await import('./routes/events/read.ts')).acceptedEventOperations(config),
  ],
  '/deliveries': [async (config) => (await import('./routes/deliveries.ts')).deliveryOperations(config)],
  '/redeliveries': [async () => (await import('./routes/deliveries.ts')).redeliveryOperations],
  '/sources': [
    async (config) => (await import('./routes/chain/sources.ts')).sourceOperations(config),
    async () => (await import('./routes/chain/addresses.ts')).addressOperations,
  ],
  '/payments': [async () => (await import('./routes/chain/payments.ts')).paymentOperations],
  '/invoices': [async () => (await import('./routes/chain/invoices.ts')).invoiceOperations()],
  '/facts': [async () => (await import('./routes/chain/facts.ts')).factOperations],
  '/reconciliation': [async () => (await import('./routes/reconciliation.ts')).reconciliationOperations()],
  '/chains': [async () => (await import('./routes/chain/chains.ts')).chainOperations],
  '/listen-sessions': [async (config) => (await import('./routes/listen/listen-sessions.ts')).listenOperations(config)],
  '/stats': [async () => (await import('./routes/stats.ts')).statsOperations],
  '/entity': [async () => (await import('./routes/tenants/entity.ts')).entityOperations],
  '/keys': [async () => (await import('./routes/tenants/keys.ts')).keyOperations],
  '/audit': [async () => (await import('./routes/audit.ts')).auditOperations],
};

const OPEN_GROUPS: Groups = {
  '/keys': [async () => (await import('./routes/key-set.ts')).keySetOperations],
};

const OPERATOR_GROUPS: Groups = {
  '/admin/v1': [async () => (await import('./routes/admin.ts')).adminOperations],
};

/** The groups that this instance has. The operator's group exists only if an operator has a key. */
export function operationGroups(config: Config): OperationGroup[] {
  if (!servesApi(config)) return [];
  const inGroups = (base: string, groups: Groups) =>
    Object.entries(groups).map(([path, loads]): OperationGroup => {
      const load = async () => (await Promise.all(loads.map((one) => one(config)))).flat();
      return { path: `${base}${path}`, load };
    });
  return [
    ...inGroups(entityBase(config), ENTITY_GROUPS),
    ...inGroups('', OPEN_GROUPS),
    ...(operatorKeys(config).length === 0 ? [] : inGroups('', OPERATOR_GROUPS)),
  ];
}

/** The path of an operation. */
export function pathOf(config: Config, { permission, path }: Operation): string {
  if (permission === 'none') return path;
  return permission === 'operator' ? `/admin/v1${path}` : `${entityBase(config)}${path}`;
}

function entityBase({ PROCESSOR }: Config): string {
  return `/api/v1/${PROCESSOR}`;
}
