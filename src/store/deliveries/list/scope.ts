import type { DeliveryFilter } from '../../../contract/deliveries/redelivery.ts';
import type { DeliveryStatus } from '../../../domain/attempt.ts';
import { endpointNo, firstHexAt, lastDeliveryHex } from '../../../domain/ids.ts';
import { findEventsOfTransaction } from '../../chain/event-facts.ts';
import type { Dialect, Queries, SqlInteger, SqlUuid } from '../../database/database.ts';
import { entityKey, Parameters } from '../../database/sql.ts';
import { findEventNo } from '../../events/event-ids.ts';
import { type Found, findByText, type UrlPlace, urlCondition } from './find.ts';
import { readWaiting, type WaitingOfWebhook } from './waiting.ts';

/** A filter in terms of the tables: webhooks, a range of ids, and a status. It has the connection on which its matches are read. */
export type Scope = {
  readonly queries: Queries;
  readonly dialect: Dialect;
  readonly entityId: string;
  readonly entity: SqlUuid;
  /** Null for all webhooks. */
  readonly webhooks: readonly { readonly webhookNo: number }[] | null;
  readonly webhookFilter: WebhookFilter;
  /** Ids from (included) and to (excluded), as 32 hex digits. */
  readonly fromHex: string;
  readonly toHex: string;
  readonly sinceMs: number | null;
  readonly untilMs: number | null;
  /** Waiting deliveries by webhook: of the whole entity, and of the webhooks that the filter names. */
  readonly waitingOfEntity: readonly WaitingOfWebhook[];
  readonly waiting: readonly WaitingOfWebhook[];
  /** Null for all events. */
  readonly eventNos: readonly string[] | null;
  readonly status: DeliveryStatus | null;
};

const WEBHOOK_FILTERS = ['webhookId', 'endpointId', 'event', 'networkId'] as const;
export type WebhookFilter = Pick<DeliveryFilter, (typeof WEBHOOK_FILTERS)[number]> & {
  readonly place?: UrlPlace | null;
};

const FIRST_HEX = '0'.repeat(32);
const LAST_HEX = 'f'.repeat(32);

/** Null when nothing can match. */
export async function resolveScope(
  queries: Queries,
  dialect: Dialect,
  entityId: string,
  filter: DeliveryFilter,
): Promise<Scope | null> {
  const entity = entityKey(dialect, entityId);
  const found = filter.q === undefined ? ANYTHING : await findByText(queries, dialect, entityId, filter);
  if (found === null) return null;
  const webhookFilter = { ...filter, place: found.place };
  const [webhooks, eventNos, waitingOfEntity] = await Promise.all([
    findWebhooks(queries, entity, webhookFilter),
    findEvents(queries, dialect, entityId, filter, found),
    readWaiting(queries, entity),
  ]);
  if (webhooks?.length === 0 || eventNos?.length === 0) return null;
  const sinceMs = filter.since === undefined ? null : filter.since * 1000;
  const untilMs = filter.until === undefined ? null : filter.until * 1000;
  const wanted = webhooks === null ? null : new Set(webhooks.map(({ webhookNo }) => webhookNo));
  return {
    queries,
    dialect,
    entityId,
    entity,
    webhooks,
    webhookFilter,
    ...only(found.deliveryHex, {
      fromHex: sinceMs === null ? FIRST_HEX : firstHexAt(sinceMs),
      toHex: untilMs === null ? LAST_HEX : firstHexAt(untilMs),
    }),
    sinceMs,
    untilMs,
    waitingOfEntity,
    waiting: wanted === null ? waitingOfEntity : waitingOfEntity.filter(({ webhookNo }) => wanted.has(webhookNo)),
    eventNos,
    status: filter.status ?? null,
  };
}

const ANYTHING: Found = { eventNos: null, deliveryHex: null, place: null };

/** The numbers of the events that `eventId`, `q` and `transactionHash` name together; null if none of them is given. */
async function findEvents(
  queries: Queries,
  dialect: Dialect,
  entityId: string,
  { eventId, transactionHash }: DeliveryFilter,
  { eventNos: named }: Found,
): Promise<readonly string[] | null> {
  const found =
    transactionHash === undefined ? null : await findEventsOfTransaction(queries, dialect, entityId, transactionHash);
  const eventNos = found === null || named === null ? (found ?? named) : named.filter((no) => found.includes(no));
  if (eventId === undefined) return eventNos;
  const eventNo = await findEventNo(queries, dialect, entityId, eventId);
  return eventNo === null || eventNos?.includes(eventNo) === false ? [] : [eventNo];
}

type Range = { readonly fromHex: string; readonly toHex: string };

/** Narrows the range to one delivery. If that delivery is outside of the range of dates, the result is empty. */
function only(deliveryHex: string | null, range: Range): Range {
  if (deliveryHex === null || deliveryHex < range.fromHex || deliveryHex >= range.toHex) {
    return deliveryHex === null ? range : { fromHex: FIRST_HEX, toHex: FIRST_HEX };
  }
  const next = (BigInt(`0x${deliveryHex}`) + 1n).toString(16).padStart(FIRST_HEX.length, '0');
  return { fromHex: deliveryHex, toHex: next };
}

/** The webhooks that a filter names, including deleted ones. Null if it names none. */
async function findWebhooks(
  queries: Queries,
  entity: SqlUuid,
  filter: WebhookFilter,
): Promise<{ webhookNo: number }[] | null> {
  if (filter.place == null && WEBHOOK_FILTERS.every((name) => filter[name] === undefined)) return null;
  const parameters = new Parameters();
  const rows = await queries.all<{ webhook_no: SqlInteger }>(
    `select webhook_no from queue_heads where ${headConditions(filter, entity, parameters)} order by webhook_no`,
    parameters.values,
  );
  return rows.map((row) => ({ webhookNo: Number(row.webhook_no) }));
}

/** A number that no endpoint has, for an invalid id. */
const NO_ENDPOINT = -1;

export function headConditions(
  { webhookId, endpointId, event, networkId, place }: WebhookFilter,
  entity: SqlUuid,
  parameters: Parameters,
): string {
  const conditions = [`entity_id = ${parameters.bind(entity)}`];
  if (webhookId !== undefined) conditions.push(`webhook_id = ${parameters.bind(webhookId)}`);
  if (endpointId !== undefined) {
    conditions.push(`endpoint_no = ${parameters.bind(endpointNo(endpointId) ?? NO_ENDPOINT)}`);
  }
  if (place != null) conditions.push(urlCondition(place, parameters));
  if (event !== undefined) conditions.push(`event = ${parameters.bind(event)}`);
  if (networkId !== undefined) conditions.push(`network_id = ${parameters.bind(networkId)}`);
  return conditions.join(' and ');
}

/** The conditions on the entity and the ids of the table with this alias. An id contains its date, and every index contains the id. */
export function rangeConditions(scope: Scope, parameters: Parameters, alias: string): string[] {
  const { bindUuid } = scope.dialect;
  const conditions = [`${alias}.entity_id = ${parameters.bind(scope.entity)}`];
  if (scope.fromHex !== FIRST_HEX) conditions.push(`${alias}.id >= ${parameters.bind(bindUuid(scope.fromHex))}`);
  if (scope.toHex !== LAST_HEX) conditions.push(`${alias}.id < ${parameters.bind(bindUuid(scope.toHex))}`);
  return conditions;
}

/** The deliveries of an event are a range of ids. */
export function eventCondition(eventNo: string, { bindUuid }: Dialect, parameters: Parameters, alias: string): string {
  const no = parameters.bind(bindUuid(eventNo));
  return `${alias}.id > ${no} and ${alias}.id <= ${parameters.bind(bindUuid(lastDeliveryHex(eventNo)))}`;
}
