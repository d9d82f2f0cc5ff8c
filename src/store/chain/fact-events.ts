import type { InvoiceState } from '../../domain/chain/invoices/invoice-state.ts';
import { DomainError } from '../../domain/errors.ts';
import { RETRACTION } from '../../domain/event-kinds.ts';
import type { Database, Dialect, Queries, SqlUuid, SqlValue } from '../database/database.ts';
import {
  byEntity,
  Columns,
  chunks,
  entityKey,
  eventIdKey,
  integer,
  nullable,
  Parameters,
  type RowOf,
  text,
  uuid,
  valuesList,
} from '../database/sql.ts';
import type { AcceptQueue } from '../events/accept-queue.ts';
import type { NewEvent } from '../events/acceptance.ts';
import { FactUndoneError, release, roundOf, TaskPending } from './held/release.ts';
import { invoiceEventId, isInvoiceSubject } from './invoices/payload.ts';
import { factEventId } from './publish/fact-payload.ts';

/**
 * Accepts the events of facts in order, each once. The transaction that accepts an event also stores its number. After a crash,
 * acceptance finds the event by its id.
 */

const EVENTS_PER_STEP = 200;

const waitingColumns = new Columns({
  entityId: text('e.entity_id'),
  factId: text('e.fact_id'),
  revision: integer('e.revision'),
  event: text('e.event'),
  finality: text('e.finality'),
  no: integer('e.no'),
  body: nullable(text('e.body')),
  agreementId: nullable(text('f.agreement_id')),
  transferId: nullable(text('f.transfer_id')),
  heldNo: nullable(uuid('f.event_no')),
  seenRevision: nullable(integer('f.seen_revision')),
  ruleAmount: nullable(text('f.rule_amount')),
});
type WaitingEvent = RowOf<typeof waitingColumns>;

export type FactEventOptions = {
  readonly acceptQueue: AcceptQueue;
  /** Whether the entity's backlog or storage is full. The entity's events then wait, and other entities continue. */
  readonly isFull: (entityId: string) => Promise<boolean>;
  readonly firstDelayMs: number;
  /** Called after a transaction has added tasks for the job. */
  readonly onTask: () => void;
  /** A held event waits for the end of a task. No commit of the network announces that end, so the caller must try again soon. */
  readonly onWaiting?: () => void;
};

/** Accepts the first waiting events. Returns how many it has accepted; 0 means that none can be accepted now. */
export async function acceptFactEvents(db: Database, networkId: number, options: FactEventOptions): Promise<number> {
  const passedOver: string[] = [];
  // The loop ends: it passes over each waiting entity once, and the next read finds no event whose fact was undone.
  for (;;) {
    const waiting = await readWaiting(db, networkId, passedOver);
    if (waiting.length === 0) return 0;
    const full = await findFull(waiting, options.isFull);
    passedOver.push(...full);
    if (full.length > 0) continue;
    try {
      return await acceptFirst(db, networkId, waiting, options);
    } catch (error) {
      if (error instanceof TaskPending) {
        passedOver.push(error.entityId);
        options.onWaiting?.();
      } else if (!(error instanceof FactUndoneError)) throw error;
    }
  }
}

/** Releases the first event alone if it was held. Otherwise accepts the events before the next held event. */
async function acceptFirst(
  db: Database,
  networkId: number,
  waiting: readonly WaitingEvent[],
  { acceptQueue, firstDelayMs, onTask }: FactEventOptions,
): Promise<number> {
  const end = waiting.findIndex(({ heldNo, event }) => heldNo !== null && event !== RETRACTION);
  const [held] = waiting;
  if (end === 0 && held !== undefined && held.heldNo !== null) {
    const released = { ...held, heldNo: held.heldNo };
    await db.transaction((queries) => release(queries, db, released, firstDelayMs));
    onTask();
    return 1;
  }
  const group = end === -1 ? waiting : waiting.slice(0, end);
  const events = group.map((one) => toEvent(one, networkId, firstDelayMs));
  const results = await acceptQueue.acceptInOrder(events, (queries, accepted) =>
    noteAccepted(queries, db, group.slice(0, accepted.length), accepted),
  );
  return results.length;
}

function readWaiting(db: Database, networkId: number, except: readonly string[]): Promise<WaitingEvent[]> {
  const parameters = new Parameters(networkId);
  const others = except.length === 0 ? '' : `and e.entity_id not in ${parameters.list(except)}`;
  return waitingColumns.all(
    db,
    `select ${waitingColumns.list} from fact_events e
     left join facts f on f.entity_id = e.entity_id and f.id = e.fact_id
     where e.network_id = $1 and e.event_no is null ${others} order by e.no limit ${EVENTS_PER_STEP}`,
    parameters.values,
  );
}

async function findFull(
  waiting: readonly WaitingEvent[],
  isFull: (entityId: string) => Promise<boolean>,
): Promise<string[]> {
  const full: string[] = [];
  for (const entityId of new Set(waiting.map((one) => one.entityId))) if (await isFull(entityId)) full.push(entityId);
  return full;
}

function toEvent(waiting: WaitingEvent, networkId: number, firstDelayMs: number): NewEvent {
  const { entityId, factId, event, finality, agreementId, transferId } = waiting;
  const body = waiting.body ?? '{}';
  const isRetraction = event === RETRACTION;
  const given = JSON.parse(body) as Partial<ReadFields>;
  const common = { entityId, eventId: idOf(waiting), event, networkId, body, firstDelayMs, factKey: factId };
  const invoiceState = given.invoice?.state ?? null;
  if (isInvoiceSubject(factId)) {
    return { ...common, agreementId: given.agreementId ?? null, transferId: given.transferId ?? null, invoiceState };
  }
  return {
    ...{ ...common, agreementId, transferId, invoiceState },
    finality: isRetraction ? null : finality,
    seenRevision: waiting.seenRevision,
    ruleAmount: waiting.ruleAmount,
    returned: isRetraction ? null : waiting,
    round: isRetraction && waiting.heldNo !== null ? roundOf(waiting) : 0,
    retracts: isRetraction ? (given.retracts?.eventId ?? null) : null,
  };
}

/** The fields of a payload that acceptance reads. */
type ReadFields = {
  readonly retracts: { readonly eventId: string };
  readonly agreementId: string;
  readonly transferId: string;
  readonly invoice: { readonly state: InvoiceState };
};

function idOf({ factId, revision, event, finality }: WaitingEvent): string {
  return isInvoiceSubject(factId) ? invoiceEventId(factId, event) : factEventId(factId, revision, event, finality);
}

/**
 * Stores the numbers of accepted events. Deletes the rows whose acceptance failed: retention had removed the original, or another
 * retraction came first.
 */
async function noteAccepted(
  queries: Queries,
  { dialect }: Database,
  events: readonly WaitingEvent[],
  results: readonly unknown[],
): Promise<void> {
  const isRejected = (index: number) => {
    const result = results[index];
    return result instanceof DomainError && result.kind !== 'event_conflict';
  };
  for (const chunk of chunks(events.filter((_, index) => isRejected(index)))) {
    const keys = `(entity_id, fact_id, revision, event, finality) in (values ${valuesList(chunk.length, KEY_TYPES.length)})`;
    await queries.run(`delete from fact_events where ${keys}`, chunk.flatMap(keyOf));
  }
  for (const chunk of chunks(events.filter((_, index) => !isRejected(index)))) {
    const types = [...KEY_TYPES, 'bigint', dialect.uuid];
    const numbers = await readNumbers(queries, dialect, chunk);
    // If an event was made again since, its row has another number in the order, and other bytes.
    const noted = await queries.run(
      `with accepted (entity_id, fact_id, revision, event, finality, no, event_no) as
         (values ${valuesList(chunk.length, types.length, 0, types)})
       update fact_events set body = null, event_no = accepted.event_no from accepted where fact_events.entity_id = accepted.entity_id and fact_events.fact_id = accepted.fact_id
         and fact_events.revision = accepted.revision and fact_events.event = accepted.event
         and fact_events.finality = accepted.finality and fact_events.no = accepted.no`,
      chunk.flatMap((one) => [...keyOf(one), one.no, numbers.get(nameOf(dialect, one)) ?? null]),
    );
    if (noted < chunk.length) throw new FactUndoneError();
  }
}

const numberColumns = new Columns({ entity: uuid('entity_id'), hash: uuid('hash'), no: uuid('no') });

function nameOf(dialect: Dialect, event: WaitingEvent): string {
  return `${dialect.hexOf(entityKey(dialect, event.entityId))} ${dialect.hexOf(eventIdKey(dialect, idOf(event)))}`;
}

/** Reads the numbers of accepted events. A separate statement, because Citus has facts and events on different servers. */
async function readNumbers(
  queries: Queries,
  dialect: Dialect,
  events: readonly WaitingEvent[],
): Promise<Map<string, SqlUuid>> {
  const numbers = new Map<string, SqlUuid>();
  for (const some of byEntity(dialect, events)) {
    const rows = await numberColumns.all(
      queries,
      `with wanted (entity_id, hash) as (values ${valuesList(some.length, 2, 0, [dialect.uuid, dialect.uuid])})
       select ${numberColumns.of('i.')} from wanted w
       ${dialect.lookUp('cross join', 'event_ids', 'i', { entity_id: 'w.entity_id', hash: 'w.hash' })}`,
      some.flatMap((one): SqlValue[] => [entityKey(dialect, one.entityId), eventIdKey(dialect, idOf(one))]),
    );
    for (const { entity, hash, no } of rows) numbers.set(`${dialect.hexOf(entity)} ${dialect.hexOf(hash)}`, no);
  }
  return numbers;
}

const KEY_TYPES = ['text', 'text', 'bigint', 'text', 'text'];

function keyOf({ entityId, factId, revision, event, finality }: WaitingEvent): SqlValue[] {
  return [entityId, factId, revision, event, finality];
}
