import { kindsOf } from '../../../domain/chain/facts.ts';
import { finalityOf } from '../../../domain/chain/finality.ts';
import { listedSymbol } from '../../../domain/chain/tokens.ts';
import { RETRACTION } from '../../../domain/event-kinds.ts';
import type { Dialect, Queries, SqlValue } from '../../database/database.ts';
import { chunks, type RowOf, valuesList } from '../../database/sql.ts';
import { namesOfEvents } from '../../events/event-ids.ts';
import type { RetractedRow } from '../fact-changes.ts';
import type { FactRow } from '../facts/new-facts.ts';
import type { Reached } from '../reached.ts';
import { factEventTable } from '../tables.ts';
import { readTokens } from '../tokens.ts';
import type { Wanted, WantedEvent } from '../wanted.ts';
import { factEventId, factPayload, type PublishedFact, retractionPayload } from './fact-payload.ts';
import type { Outbox, OutboxEvent } from './outbox.ts';

/** The events that the facts of one step lead to. */

/** The state of the network and the finalities that its webhooks want, from which one step makes payloads. */
export type PublishContext = {
  readonly networkId: number;
  readonly head: number;
  readonly nowMs: number;
  readonly wanted: Wanted;
  /** The symbols of tokens, by their addresses in lower case. */
  readonly symbols: ReadonlyMap<string, string>;
};

/** Leaves out silent and disputed facts, which never lead to an event. */
export function publishable(reached: readonly Reached[]): Reached[] {
  return reached.filter(({ fact }) => fact.isSilent === 0 && fact.isDisputed === 0);
}

/** Listed symbols, and symbols that the tokens of these facts state. */
export async function readSymbols(
  queries: Queries,
  networkId: number,
  facts: readonly Pick<FactRow, 'token'>[],
): Promise<Map<string, string>> {
  const symbols = new Map<string, string>();
  const unlisted = new Set<string>();
  for (const { token } of facts) {
    const listed = token === null ? null : listedSymbol(networkId, token);
    if (token !== null && listed !== null) symbols.set(token, listed);
    else if (token !== null) unlisted.add(token);
  }
  for (const [token, { symbol }] of await readTokens(queries, networkId, [...unlisted])) {
    if (symbol !== null) symbols.set(token, symbol);
  }
  return symbols;
}

export function publishReached(outbox: Outbox, reached: readonly Reached[], context: PublishContext): void {
  for (const { fact, finalities } of reached) {
    for (const event of kindsOf(fact.kind)) {
      for (const finality of context.wanted.of(wantedEvent(fact, event))) {
        if (finalities.has(finality)) addEvent(outbox, fact, event, finality, context);
      }
    }
  }
}

/** The event of a fact, for which `Wanted` finds the finalities that webhooks want. */
export function wantedEvent(fact: FactRow, event: string): WantedEvent {
  const { entityId, seenRevision: moment, ruleAmount } = fact;
  return { entityId, event, moment, ruleAmount };
}

/** Adds the event of a fact that has this finality. */
export function addEvent(
  outbox: Outbox,
  fact: FactRow,
  event: string,
  finality: string,
  { symbols, ...moment }: PublishContext,
): OutboxEvent {
  // A held event has the bytes that its sender sent.
  const payload =
    fact.eventNo === null
      ? factPayload(
          { ...toPublished(fact), symbol: symbols.get(fact.token ?? '') ?? null },
          event,
          finalityOf(finality),
          moment,
        )
      : null;
  return outbox.add({ fact, event, finality, payload });
}

function toPublished<Row extends FactRow>(fact: Row): Row & Pick<PublishedFact, 'position'> {
  const { blockNumber, blockHash, logIndex } = fact;
  return { ...fact, position: { blockNumber: blockNumber ?? 0, blockHash: blockHash ?? '', logIndex: logIndex ?? 0 } };
}

/** Drops the waiting events of these facts, and retracts the accepted ones. */
export async function retractFacts(
  queries: Queries,
  dialect: Dialect,
  outbox: Outbox,
  retracted: readonly RetractedRow[],
  nowMs: number,
): Promise<void> {
  for (const { entityId, factId, revision } of retracted) {
    const which = `entity_id = $1 and fact_id = $2 and revision = $3 and event <> '${RETRACTION}'`;
    await queries.send(`delete from fact_events where ${which} and event_no is null`, [entityId, factId, revision]);
  }
  const acceptedOf = await readAccepted(queries, retracted);
  const nameOf = await readHeldNames(queries, dialect, retracted);
  for (const fact of retracted) {
    const accepted = acceptedOf.get(keyOf(fact)) ?? [];
    // A held event is one event, even if it was released at several finalities.
    const events = fact.eventNo === null ? accepted : accepted.slice(0, 1);
    for (const { event, finality } of events) {
      const target = `${event}_${finality}`;
      const eventId = factEventId(fact.factId, fact.revision, RETRACTION, target);
      const retracts = nameOf(fact) ?? factEventId(fact.factId, fact.revision, event, finality);
      const payload = retractionPayload(toPublished(fact), eventId, { eventId: retracts, event }, nowMs);
      outbox.add({ fact, event: RETRACTION, finality: target, payload });
    }
  }
}

const acceptedColumns = factEventTable.pick(['entityId', 'factId', 'revision', 'event', 'finality']);
type AcceptedEvent = RowOf<typeof acceptedColumns>;

function keyOf({ entityId, factId, revision }: Pick<AcceptedEvent, 'entityId' | 'factId' | 'revision'>): string {
  return `${entityId} ${factId} ${revision}`;
}

/** The events that were accepted for each fact, in their order. */
async function readAccepted(
  queries: Queries,
  facts: readonly FactRow[],
): Promise<ReadonlyMap<string, AcceptedEvent[]>> {
  const accepted: AcceptedEvent[] = [];
  for (const chunk of chunks(facts)) {
    const rows = await acceptedColumns.all(
      queries,
      `select ${acceptedColumns.list} from fact_events where event <> '${RETRACTION}' and (entity_id, fact_id, revision) in
         (values ${valuesList(chunk.length, 3, 0, ['text', 'text', 'bigint'])}) order by no`,
      chunk.flatMap(({ entityId, factId, revision }): SqlValue[] => [entityId, factId, revision]),
    );
    accepted.push(...rows);
  }
  return Map.groupBy(accepted, keyOf);
}

/** Returns the public id of the held event of a fact; none for the fact of a log. */
async function readHeldNames(
  queries: Queries,
  dialect: Dialect,
  facts: readonly FactRow[],
): Promise<(fact: FactRow) => string | undefined> {
  const held = facts.flatMap(({ entityId, eventNo }) =>
    eventNo === null ? [] : { entityId, no: dialect.hexOf(eventNo) },
  );
  const names = await namesOfEvents(queries, dialect, held);
  return ({ eventNo }) => (eventNo === null ? undefined : names.get(dialect.hexOf(eventNo)));
}
