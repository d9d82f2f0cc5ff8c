import type { FactChange, FactKey, FactState, RetractionReason } from '../../domain/chain/facts.ts';
import type { Dialect, Queries, SqlValue } from '../database/database.ts';
import { chunks, valuesList } from '../database/sql.ts';
import { entityTable } from '../tenants/tables.ts';
import { finalEntry, withEntry } from './facts/fact-history.ts';
import { type FactRow, factColumns, insertFacts, type Moment, nameOf, standingAt } from './facts/new-facts.ts';

/** Writes the changes of facts that a poll has found, with their history. The transitions are in `domain/chain/facts.ts`. */

export type RetractedRow = FactRow & { readonly reason: RetractionReason };

export type Changed = {
  /** Facts that have a new position, or are no longer disputed. The caller must find the finalities that they have at their position. */
  readonly placed: FactRow[];
  readonly retracted: RetractedRow[];
  /** Facts that nodes disagree about from now on. */
  readonly disputed: FactRow[];
};

/** The states in which each change is possible. In any other state, the change is out of date and is ignored. */
const FROM: Readonly<Record<Exclude<FactChange['change'], 'seen'>, readonly FactState[]>> = {
  moved: ['waiting', 'seen', 'lost', 'final'],
  lost: ['seen', 'final'],
  retracted: ['waiting', 'lost'],
  again: ['retracted'],
  judged: ['seen'],
};
/** A fact that most nodes deny is retracted although its block stands. */
const FROM_DENIED: readonly FactState[] = ['seen', 'lost'];

function leadsFrom(change: Exclude<FactChange, { change: 'seen' }>): readonly FactState[] {
  const isDenied = change.change === 'retracted' && change.reason === 'not_on_chain';
  return isDenied ? FROM_DENIED : FROM[change.change];
}

/** With `areNew`, throws a `KnownFactError` if one of the facts is stored. Without it, leaves the stored fact as it is. */
export async function writeChanges(
  queries: Queries,
  dialect: Dialect,
  changes: readonly FactChange[],
  moment: Moment,
  areNew: boolean,
): Promise<Changed> {
  const revisions = await readRevisions(queries, changes);
  const found = changes.flatMap((change) => (change.change === 'seen' ? change : []));
  await removeSilent(queries, found);
  const placed = await insertFacts(queries, dialect, found, revisions, moment, areNew);
  const retracted: RetractedRow[] = [];
  const disputed = placed.filter(({ isDisputed }) => isDisputed === 1);
  const others = changes.flatMap((change) => (change.change === 'seen' ? [] : change));
  const rows = await readFacts(queries, others);
  for (const change of others) {
    const row = rows.get(nameOf(change));
    if (row === undefined || !leadsFrom(change).includes(row.state)) continue;
    const moved = nextRow(row, change, moment);
    // A move to another block keeps the revision of the registry at which the payment was first seen.
    const isFirstSight = change.change === 'again' || (change.change === 'moved' && row.state === 'waiting');
    const seenRevision = isFirstSight ? (revisions.get(row.entityId) ?? 0) : row.seenRevision;
    const isSameStanding = moved.state === row.state && moved.isDisputed === row.isDisputed;
    const isEntry = change.change !== 'judged' || !isSameStanding;
    const history = isEntry ? withEntry(row.history, { ...moved, atMs: moment.nowMs }) : row.history;
    const next = { ...moved, seenRevision, history };
    // Nodes are asked again for the transaction of a retracted held event, because no log shows that it is back in a block. A
    // transaction that failed in a final block cannot come back.
    const isAsked = change.change === 'retracted' && row.state === 'lost' && row.eventNo !== null;
    const lostAtHead = change.change === 'lost' ? change.lostAtHead : null;
    await updateFact(queries, next, { lostAtHead, nextAskBlock: isAsked ? 0 : null }, moment.nowMs);
    rows.set(nameOf(change), next);
    if (next.isDisputed > row.isDisputed) disputed.push(next);
    if (change.change === 'retracted') retracted.push({ ...next, reason: change.reason ?? 'reorg' });
    else if (change.change !== 'lost') placed.push(next);
  }
  return { placed, retracted, disputed };
}

const revisionColumns = entityTable.pick(['entityId', 'revision']);

/** The present revision of each entity's registry. Changes that commit later have higher revisions, whichever transaction ends first. */
async function readRevisions(queries: Queries, changes: readonly FactChange[]): Promise<Map<string, number>> {
  const ids = new Set(changes.map((change) => (change.change === 'seen' ? change.fact : change).entityId));
  const rows = await revisionColumns.allIn(queries, 'from entities where id in', [], [...ids]);
  return new Map(rows.map(({ entityId, revision }) => [entityId, revision]));
}

function nextRow(row: FactRow, change: Exclude<FactChange, { change: 'seen' }>, { final }: Moment): FactRow {
  switch (change.change) {
    case 'lost':
      return { ...row, state: change.change, isDisputed: 0 };
    case 'retracted': {
      const votes = change.votes === undefined ? row.votes : JSON.stringify(change.votes);
      return { ...row, state: change.change, isDisputed: 0, votes };
    }
    case 'moved':
    case 'again': {
      const revision = change.change === 'again' ? row.revision + 1 : row.revision;
      const standing = standingAt(change.position, final, change.evidence);
      return { ...row, blockS: null, ...change.position, ...standing, revision };
    }
    case 'judged': {
      const position = { ...row, blockNumber: row.blockNumber ?? 0 };
      return { ...row, ...standingAt(position, final, change.evidence) };
    }
  }
}

/** Removes facts without events, which no receiver knows. A payment of an invoice stays. */
async function removeSilent(
  queries: Queries,
  changes: readonly Extract<FactChange, { change: 'seen' }>[],
): Promise<void> {
  const keys = changes.flatMap(({ fact, replacesSilent }) => (replacesSilent === true ? fact : []));
  for (const chunk of chunks(keys)) {
    await queries.run(
      `delete from facts where is_silent = 1 and invoice_id is null and (entity_id, id) in (values ${valuesList(chunk.length, 2)})`,
      chunk.flatMap(({ entityId, factId }): SqlValue[] => [entityId, factId]),
    );
  }
}

async function readFacts(queries: Queries, keys: readonly FactKey[]): Promise<Map<string, FactRow>> {
  const distinct = [...new Map(keys.map((key) => [nameOf(key), key])).values()];
  const from = 'from facts where (entity_id, id) in';
  const named = distinct.map(({ entityId, factId }) => [entityId, factId]);
  const rows = await factColumns.allIn(queries, from, [], named);
  return new Map(rows.map((row) => [nameOf(row), row]));
}

/**
 * Sends the statement without waiting. A reorg may change a thousand facts in a step, and their round trips would exceed the
 * deadline of the step.
 */
async function updateFact(
  queries: Queries,
  row: FactRow,
  { lostAtHead, nextAskBlock }: { readonly lostAtHead: number | null; readonly nextAskBlock: number | null },
  nowMs: number,
): Promise<void> {
  await queries.send(
    `update facts set state = $3, revision = $4, block_number = $5, block_hash = $6, log_index = $7, lost_at_head = $8,
       changed_at_ms = $9, seen_revision = $10, next_ask_block = $11, absences = 0, votes = $12, is_disputed = $13, block_s = $14,
       history = $15
     where entity_id = $1 and id = $2`,
    [
      row.entityId,
      row.factId,
      row.state,
      row.revision,
      row.blockNumber,
      row.blockHash,
      row.logIndex,
      lostAtHead,
      nowMs,
      row.seenRevision,
      nextAskBlock,
      row.votes,
      row.isDisputed,
      row.blockS,
      row.history,
    ],
  );
}

/** Makes facts final that have reached finality in their present block. */
export async function finalizeFacts(queries: Queries, rows: readonly FactRow[], nowMs: number): Promise<void> {
  for (const chunk of chunks(rows)) {
    await queries.send(
      `update facts set state = 'final', changed_at_ms = $1, history = history || cast($2 as text)
       where (entity_id, id) in (values ${valuesList(chunk.length, 2, 2)})`,
      [nowMs, finalEntry(nowMs), ...chunk.flatMap(({ entityId, factId }): SqlValue[] => [entityId, factId])],
    );
  }
}
