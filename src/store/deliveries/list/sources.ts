import type { DeliveryStatus } from '../../../domain/attempt.ts';
import type { Dialect } from '../../database/database.ts';
import { Parameters, valuesList } from '../../database/sql.ts';
import { BLOCKED } from '../heads.ts';
import { STATUS_CODES } from '../states.ts';
import { eventCondition, headConditions, NAMINGS, type Naming, rangeConditions, type Scope } from './scope.ts';

/** Where the matches of a scope are: `from … where …` of the record, of the queue, or of both. */
export type Source = { readonly table: 'deliveries' | 'queue'; readonly sql: string; readonly parameters: Parameters };

/** Names webhooks one by one up to here; more are found by what the filter says about them. */
export const FEW_WEBHOOKS = 50;

/** What narrows a scope further: to these webhooks, or to one of the ways in which deliveries name their event. */
type Narrowing = { readonly only: readonly number[] | null; readonly naming: Naming };

export function sourcesOf(scope: Scope, dialect: Dialect, only: readonly number[] | null = null): Source[] {
  return namingsOf(scope)
    .flatMap((naming) => [
      recordSource(scope, dialect, { only, naming }),
      queueSource(scope, dialect, { only, naming }),
    ])
    .filter((source) => source !== null);
}

function recordSource(scope: Scope, dialect: Dialect, narrowing: Narrowing): Source | null {
  const { status } = scope;
  if (status !== null && !(status in STATUS_CODES)) return null;
  const parameters = new Parameters();
  const conditions = sharedConditions(scope, dialect, parameters, 'd', narrowing);
  if (status !== null) conditions.push(statusCondition(status));
  return { table: 'deliveries', sql: `from deliveries d where ${conditions.join(' and ')}`, parameters };
}

/** Written out, not bound: a planner has to see whether the index of what was not delivered serves. */
function statusCondition(status: DeliveryStatus): string {
  const code = STATUS_CODES[status as keyof typeof STATUS_CODES];
  return code === STATUS_CODES.delivered
    ? `d.status = ${code}`
    : `d.status = ${code} and d.status <> ${STATUS_CODES.delivered}`;
}

function queueSource(scope: Scope, dialect: Dialect, narrowing: Narrowing): Source {
  const parameters = new Parameters();
  const conditions = sharedConditions(scope, dialect, parameters, 'q', narrowing);
  if (scope.status === null)
    return { table: 'queue', sql: `from queue q where ${conditions.join(' and ')}`, parameters };
  conditions.push(queueStatusCondition(scope.status));
  return { table: 'queue', sql: joinedSql(conditions), parameters };
}

/** The queue joined with its heads, whatever the status asked for. */
export function queueSourcesWithHeads(scope: Scope, dialect: Dialect): Source[] {
  return namingsOf(scope).map((naming) => {
    const parameters = new Parameters();
    const conditions = sharedConditions(scope, dialect, parameters, 'q', { only: null, naming });
    if (scope.status !== null) conditions.push(queueStatusCondition(scope.status));
    return { table: 'queue', sql: joinedSql(conditions), parameters };
  });
}

/** A cross join keeps SQLite on the order of the queue. */
function joinedSql(conditions: readonly string[]): string {
  const join = 'h.entity_id = q.entity_id and h.webhook_no = q.webhook_no';
  return `from queue q cross join queue_heads h where ${[join, ...conditions].join(' and ')}`;
}

function namingsOf({ eventNo }: Scope): readonly Naming[] {
  return eventNo === null ? NAMINGS.slice(0, 1) : NAMINGS;
}

function queueStatusCondition(status: DeliveryStatus): string {
  const code = STATUS_CODES[status as keyof typeof STATUS_CODES] ?? 0;
  const isDeleted = `(h.blocked & ${BLOCKED.deleted}) <> 0`;
  switch (status) {
    case 'pending':
      return 'q.recorded is null and h.blocked = 0 and q.attempts = 0';
    case 'retrying':
      return 'q.recorded is null and h.blocked = 0 and q.attempts > 0';
    case 'held':
      return `q.recorded is null and h.blocked <> 0 and not ${isDeleted}`;
    case 'cancelled':
      return `(q.recorded = ${code} or (q.recorded is null and ${isDeleted}))`;
    default:
      return `q.recorded = ${code}`;
  }
}

function sharedConditions(
  scope: Scope,
  dialect: Dialect,
  parameters: Parameters,
  alias: string,
  { only, naming }: Narrowing,
): string[] {
  const conditions = rangeConditions(scope, dialect, parameters, alias);
  if (scope.eventNo !== null) conditions.push(eventCondition(scope.eventNo, naming, dialect, parameters, alias));
  const webhooks = only ?? scope.webhooks?.map(({ webhookNo }) => webhookNo) ?? null;
  if (webhooks !== null) conditions.push(`${alias}.webhook_no in ${webhookList(scope, parameters, webhooks)}`);
  return conditions;
}

function webhookList(scope: Scope, parameters: Parameters, webhooks: readonly number[]): string {
  if (webhooks.length > FEW_WEBHOOKS) {
    return `(select webhook_no from queue_heads where ${headConditions(scope.webhookFilter, scope.entity, parameters)})`;
  }
  const before = parameters.values.length;
  for (const webhookNo of webhooks) parameters.bind(webhookNo);
  return valuesList(1, webhooks.length, before);
}
