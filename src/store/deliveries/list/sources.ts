import type { DeliveryStatus } from '../../../domain/attempt.ts';
import { Parameters, valuesList } from '../../database/sql.ts';
import { STATUS_CODES } from '../states.ts';
import { eventCondition, headConditions, rangeConditions, type Scope } from './scope.ts';
import { countWithStatus, HEAD_CONDITIONS, isOpen, type WaitingOfWebhook } from './waiting.ts';

/** Matches of a scope in one table, as `from … where …`. */
export type Source = {
  readonly table: 'deliveries' | 'queue';
  readonly sql: string;
  readonly parameters: Parameters;
  /** The order of ids. If it is an expression that no index has, the engine reads by webhook and sorts. */
  readonly order: string;
};

/** One statement reads at most this many sources. */
export const SOURCES_PER_STATEMENT = 50;

/** The text of a source as part of a larger statement. The statement's parameters then include the source's own. */
export function textWithin({ sql, parameters: { values } }: Source, parameters: Parameters): string {
  const before = parameters.values.length;
  for (const value of values) parameters.bind(value);
  return sql.replace(/\$(\d+)/g, (_, number: string) => `$${Number(number) + before}`);
}

/** Up to this many webhooks are named one by one. For more webhooks, the statement repeats the condition of the filter. */
export const FEW_WEBHOOKS = 50;

/**
 * A queue up to this long is read in the order of ids. In a longer queue, up to this many rows of the wanted webhooks are read
 * and sorted.
 */
const SHORT_QUEUE = 20_000;

type Code = keyof typeof STATUS_CODES;
const CODES = Object.keys(STATUS_CODES) as Code[];

/** Sources that together have each match once. */
export function sourcesOf(scope: Scope): Source[] {
  return [...recordSources(scope), ...queueSources(scope)];
}

/**
 * The rows that are read in the order of ids to find the matches of a source, which may be few. Null if an index contains only
 * matches, or if all matches are read and sorted.
 */
export function walkOf(scope: Scope, { table, order }: Source): Source | null {
  const { status, webhooks, eventNos } = scope;
  if (eventNos !== null) return null;
  if (table === 'queue') {
    if (order !== 'q.id' || (status === null && webhooks === null)) return null;
    return queueSources({ ...scope, status: null, webhooks: null })[0] ?? null;
  }
  const isOneWebhook = webhooks?.length === 1;
  if (status !== 'delivered' && (webhooks === null || isOneWebhook)) return null;
  const indexed = { status: status === 'delivered' ? null : status, webhooks: isOneWebhook ? webhooks : null };
  return recordSources({ ...scope, ...indexed })[0] ?? null;
}

/** Sources of completed deliveries. */
export function recordSources(scope: Scope, only: readonly number[] | null = null): Source[] {
  const { status } = scope;
  if (status !== null && !(status in STATUS_CODES)) return [];
  return eventsOf(scope).map((event) => {
    const parameters = new Parameters();
    const conditions = sharedConditions(scope, parameters, 'd', event);
    const webhooks = only ?? scope.webhooks?.map(({ webhookNo }) => webhookNo) ?? null;
    if (webhooks !== null) conditions.push(webhookCondition(scope, parameters, 'd', webhooks));
    if (status !== null) conditions.push(recordCondition(status as Code));
    const index = webhooks?.length === 1 && scope.eventNos === null ? scope.dialect.byIndex(indexOf(status)) : '';
    const sql = `from deliveries d ${index} where ${conditions.join(' and ')}`;
    return { table: 'deliveries', sql, parameters, order: 'd.id' };
  });
}

/** The index by webhook that has the rows of this status. */
function indexOf(status: DeliveryStatus | null): string {
  return status === null || status === 'delivered' ? 'deliveries_by_webhook' : 'deliveries_not_delivered_by_webhook';
}

/** The code is a literal and not a parameter, because the planner must see that it can use the index of undelivered rows. */
function recordCondition(status: Code): string {
  const code = STATUS_CODES[status];
  return code === STATUS_CODES.delivered
    ? `d.status = ${code}`
    : `d.status = ${code} and d.status <> ${STATUS_CODES.delivered}`;
}

/** Sources of rows in the queue, both waiting and redelivered. */
export function queueSources(scope: Scope): Source[] {
  const { status, webhooks } = scope;
  if (status === null) {
    return queued(scope, { webhooks: webhooks ?? null, heads: null, condition: null });
  }
  const waiting = scope.waiting.filter((webhook) => countWithStatus(webhook, status) > 0);
  return [
    ...(status in STATUS_CODES ? recordedSources(scope, [status as Code]) : []),
    ...waitingSources(scope, waiting, IN_QUEUE[status]),
  ];
}

type Heads = keyof typeof HEAD_CONDITIONS;
type InQueue = { readonly heads: Heads; readonly attempts?: string };

const IN_QUEUE: Readonly<Partial<Record<DeliveryStatus, InQueue>>> = {
  pending: { heads: 'open', attempts: 'q.attempts = 0' },
  retrying: { heads: 'open', attempts: 'q.attempts > 0' },
  held: { heads: 'held' },
  cancelled: { heads: 'deleted' },
};

/** Rows of the queue without a scheduled attempt: on hold, about to be cancelled, or complete and sent again. */
export function unscheduledQueueSources(scope: Scope): Source[] {
  const { status } = scope;
  if (status !== null) return status === 'pending' || status === 'retrying' ? [] : queueSources(scope);
  const blocked = scope.waiting.filter((webhook) => !isOpen(webhook));
  return [...recordedSources(scope, CODES), ...waitingSources(scope, blocked, { heads: 'blocked' })];
}

/** Waiting deliveries with a scheduled attempt. */
export function scheduledSources(scope: Scope): Source[] {
  const open = scope.waiting.filter(isOpen);
  if (scope.status === null) return waitingSources(scope, open, { heads: 'open' });
  return scope.status === 'pending' || scope.status === 'retrying' ? queueSources(scope) : [];
}

/** Completed deliveries keep their status while they are sent again. */
function recordedSources(scope: Scope, statuses: readonly Code[]): Source[] {
  const webhooks = scope.webhooks?.map(({ webhookNo }) => webhookNo) ?? null;
  return statuses.flatMap((status) =>
    eventsOf(scope).map((event) => {
      const parameters = new Parameters();
      const conditions = sharedConditions(scope, parameters, 'q', event);
      if (webhooks !== null) conditions.push(webhookCondition(scope, parameters, 'q', webhooks));
      conditions.push(`q.recorded = ${STATUS_CODES[status]} and q.recorded is not null`);
      return {
        table: 'queue',
        sql: `from queue q where ${conditions.join(' and ')}`,
        parameters,
        order: 'q.id',
      };
    }),
  );
}

function waitingSources(scope: Scope, webhooks: readonly WaitingOfWebhook[], inQueue: InQueue | undefined): Source[] {
  if (webhooks.length === 0 || inQueue === undefined) return [];
  const { heads, attempts } = inQueue;
  const condition = ['q.recorded is null', ...(attempts === undefined ? [] : [attempts])].join(' and ');
  return queued(scope, { webhooks, heads, condition });
}

type Queued = {
  readonly webhooks: readonly { readonly webhookNo: number }[] | null;
  readonly heads: Heads | null;
  readonly condition: string | null;
};

function queued(scope: Scope, { webhooks, heads, condition }: Queued): Source[] {
  const wanted = webhooks?.map(({ webhookNo }) => webhookNo) ?? null;
  return eventsOf(scope).map((event) => {
    const parameters = new Parameters();
    const conditions = sharedConditions(scope, parameters, 'q', event);
    if (wanted !== null) conditions.push(webhookCondition(scope, parameters, 'q', wanted, heads));
    if (condition !== null) conditions.push(condition);
    const order = wanted === null || isWalked(scope, wanted) ? 'q.id' : sorted('q');
    return { table: 'queue', sql: `from queue q where ${conditions.join(' and ')}`, parameters, order };
  });
}

function isWalked(scope: Scope, webhooks: readonly number[]): boolean {
  if (scope.eventNos !== null) return true;
  const wanted = new Set(webhooks);
  let [all, some] = [0, 0];
  for (const { webhookNo, waiting } of scope.waitingOfEntity) {
    all += waiting;
    if (wanted.has(webhookNo)) some += waiting;
  }
  return all <= SHORT_QUEUE || some > SHORT_QUEUE;
}

/** Test requests to all webhooks. They were complete before they were stored. */
export function testSources(scope: Scope): Source[] {
  const from = [
    { table: 'deliveries', alias: 'd', index: 'deliveries_of_tests', condition: 'd.test is not null' },
    { table: 'queue', alias: 'q', index: 'queue_of_tests', condition: 'q.test is not null and q.recorded is not null' },
  ] as const;
  return from.flatMap(({ table, alias, index, condition }) =>
    eventsOf(scope).map((event) => {
      const parameters = new Parameters();
      const conditions = [...sharedConditions(scope, parameters, alias, event), condition];
      const by = scope.eventNos === null ? scope.dialect.byIndex(index) : '';
      const sql = `from ${table} ${alias} ${by} where ${conditions.join(' and ')}`;
      return { table, sql, parameters, order: `${alias}.id` };
    }),
  );
}

/** An order by an expression that no index has, so that the engine sorts the rows of another index. */
const sorted = (alias: string) => `coalesce(${alias}.id, ${alias}.id)`;

/** Null stands for all events. */
function eventsOf({ eventNos }: Scope): readonly (string | null)[] {
  return eventNos ?? [null];
}

function sharedConditions(scope: Scope, parameters: Parameters, alias: string, eventNo: string | null): string[] {
  const conditions = rangeConditions(scope, parameters, alias);
  if (eventNo !== null) conditions.push(eventCondition(eventNo, scope.dialect, parameters, alias));
  return conditions;
}

function webhookCondition(
  scope: Scope,
  parameters: Parameters,
  alias: string,
  webhooks: readonly number[],
  only: Heads | null = null,
): string {
  if (webhooks.length > FEW_WEBHOOKS) {
    const heads = headConditions(scope.webhookFilter, scope.entity, parameters);
    const condition = only === null ? heads : `${heads} and ${HEAD_CONDITIONS[only]}`;
    return `${alias}.webhook_no in (select webhook_no from queue_heads where ${condition})`;
  }
  // SQLite estimates `in` with one value badly, and may read all webhooks instead.
  if (webhooks.length === 1) return `${alias}.webhook_no = ${parameters.bind(webhooks[0] ?? 0)}`;
  const before = parameters.values.length;
  for (const webhookNo of webhooks) parameters.bind(webhookNo);
  return `${alias}.webhook_no in ${valuesList(1, webhooks.length, before)}`;
}
