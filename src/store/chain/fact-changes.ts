import type { Evidence, FactChange, FactKey, FactState, Position, RetractionReason } from '../../domain/chain/facts.ts';
import { paymentColumns } from '../../domain/chain/payments.ts';
import type { Queries, SqlValue } from '../database/database.ts';
import { chunks, type RowOf, valuesList } from '../database/sql.ts';
import { entityTable } from '../tables.ts';
import { factTable, historyTable } from './tables.ts';

/** Writes what a look at the network found out about facts, with their history. The transitions are in `domain/chain/facts.ts`. */

export const factColumns = factTable.pick([
  'entityId',
  'factId',
  'networkId',
  'state',
  'revision',
  'kind',
  'isSilent',
  'transactionHash',
  'contract',
  'blockNumber',
  'blockHash',
  'logIndex',
  'transferId',
  'agreementId',
  'eventNo',
  'fields',
  'seenRevision',
  'votes',
  'isDisputed',
  'blockS',
]);
export type FactRow = RowOf<typeof factColumns>;

export type Moment = { readonly networkId: number; readonly nowMs: number; readonly final: number | null };

export type RetractedRow = FactRow & { readonly reason: RetractionReason };

export type Changed = {
  /** Facts that have come to where they stand now, or are no longer disputed: their levels must be looked at. */
  readonly placed: FactRow[];
  readonly retracted: RetractedRow[];
  /** Facts that nodes disagree about from now on. */
  readonly disputed: FactRow[];
};

/** The states from which each change leads on; any other change is out of date and is passed over. */
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

export async function writeChanges(queries: Queries, changes: readonly FactChange[], moment: Moment): Promise<Changed> {
  const history = new History(moment.nowMs);
  const revisions = await readRevisions(queries, changes);
  const found = changes.flatMap((change) => (change.change === 'seen' ? change : []));
  const placed = await insertFacts(queries, found, revisions, moment, history);
  const retracted: RetractedRow[] = [];
  const disputed = placed.filter(({ isDisputed }) => isDisputed === 1);
  const others = changes.flatMap((change) => (change.change === 'seen' ? [] : change));
  const rows = await readFacts(queries, others);
  for (const change of others) {
    const row = rows.get(nameOf(change));
    if (row === undefined || !leadsFrom(change).includes(row.state)) continue;
    const moved = nextRow(row, change, moment);
    // A move to another block keeps the registry that the payment was first seen with.
    const isFirstSight = change.change === 'again' || (change.change === 'moved' && row.state === 'waiting');
    const next = isFirstSight ? { ...moved, seenRevision: revisions.get(row.entityId) ?? 0 } : moved;
    // No log tells that the transaction of a held event is in a block again. A transaction that failed for good never is.
    const isAsked = change.change === 'retracted' && row.state === 'lost' && row.eventNo !== null;
    const lostAtHead = change.change === 'lost' ? change.lostAtHead : null;
    await updateFact(queries, next, { lostAtHead, nextAskBlock: isAsked ? 0 : null }, moment.nowMs);
    const isSameStanding = next.state === row.state && next.isDisputed === row.isDisputed;
    if (change.change !== 'judged' || !isSameStanding) history.add(next);
    rows.set(nameOf(change), next);
    if (next.isDisputed > row.isDisputed) disputed.push(next);
    if (change.change === 'retracted') retracted.push({ ...next, reason: change.reason ?? 'reorg' });
    else if (change.change !== 'lost') placed.push(next);
  }
  await history.write(queries);
  return { placed, retracted, disputed };
}

const revisionColumns = entityTable.pick(['entityId', 'revision']);

/** The registry of each entity now. Changes that commit later have higher revisions, whichever transaction ends first. */
async function readRevisions(queries: Queries, changes: readonly FactChange[]): Promise<Map<string, number>> {
  const ids = new Set(changes.map((change) => (change.change === 'seen' ? change.fact : change).entityId));
  const revisions = new Map<string, number>();
  for (const chunk of chunks([...ids])) {
    const rows = await revisionColumns.all(
      queries,
      `select ${revisionColumns.list} from entities where id in ${valuesList(1, chunk.length)}`,
      chunk,
    );
    for (const { entityId, revision } of rows) revisions.set(entityId, revision);
  }
  return revisions;
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

/** Below finality, a fact is final only if enough nodes have shown it. */
function standingAt(
  { blockNumber }: Pick<Position, 'blockNumber'>,
  final: number | null,
  evidence: Evidence | undefined,
): Pick<FactRow, 'state' | 'votes' | 'isDisputed'> {
  const isFinal = final !== null && blockNumber <= final && evidence?.standing === 'confirmed';
  return {
    state: isFinal ? 'final' : 'seen',
    votes: evidence === undefined ? null : JSON.stringify(evidence.votes),
    isDisputed: evidence?.standing === 'disputed' ? 1 : 0,
  };
}

function nameOf({ entityId, factId }: FactKey): string {
  return `${entityId} ${factId}`;
}

const NEW_FACT = factTable.insertion([
  'entityId',
  'factId',
  'networkId',
  'sourceId',
  'state',
  'revision',
  'kind',
  'isSilent',
  'transactionHash',
  'contract',
  'blockNumber',
  'blockHash',
  'logIndex',
  'transferId',
  'agreementId',
  'seenRevision',
  'fields',
  'votes',
  'isDisputed',
  'isPayment',
  'isDust',
  'payer',
  'payee',
  'token',
  'amount',
  'blockS',
  'createdAtMs',
  'changedAtMs',
]);

const keyColumns = factTable.pick(['entityId', 'factId']);

/** One that is there already stays as it is. Returns those that were not. */
async function insertFacts(
  queries: Queries,
  facts: readonly Extract<FactChange, { change: 'seen' }>[],
  revisions: ReadonlyMap<string, number>,
  { nowMs, final }: Moment,
  history: History,
): Promise<FactRow[]> {
  const inserted: FactRow[] = [];
  const distinct = [...new Map(facts.map((one) => [nameOf(one.fact), one])).values()];
  for (const chunk of chunks(distinct)) {
    const rows = chunk.map(({ fact: { position, fields, isSilent, isDust = false, ...fact }, evidence }) => ({
      ...fact,
      ...position,
      blockS: position.blockS ?? null,
      eventNo: null,
      fields: JSON.stringify(fields),
      isSilent: isSilent ? 1 : 0,
      isDust: isDust ? 1 : 0,
      ...paymentColumns(fact.kind, fields),
      ...standingAt(position, final, evidence),
      revision: 1,
      seenRevision: revisions.get(fact.entityId) ?? 0,
      createdAtMs: nowMs,
      changedAtMs: nowMs,
    }));
    const sql = `${NEW_FACT.text(rows.length)} on conflict (entity_id, id) do nothing returning ${keyColumns.list}`;
    const keys = await keyColumns.all(queries, sql, NEW_FACT.parameters(rows));
    const isNew = new Set(keys.map(nameOf));
    for (const row of rows) {
      if (!isNew.has(nameOf(row))) continue;
      inserted.push(row);
      history.addNew(row);
    }
  }
  return inserted;
}

async function readFacts(queries: Queries, keys: readonly FactKey[]): Promise<Map<string, FactRow>> {
  const found = new Map<string, FactRow>();
  const distinct = [...new Map(keys.map((key) => [nameOf(key), key])).values()];
  for (const chunk of chunks(distinct)) {
    const rows = await factColumns.all(
      queries,
      `select ${factColumns.list} from facts where (entity_id, id) in (values ${valuesList(chunk.length, 2)})`,
      chunk.flatMap(({ entityId, factId }): SqlValue[] => [entityId, factId]),
    );
    for (const row of rows) found.set(nameOf(row), row);
  }
  return found;
}

/** Sent without waiting: a reorganisation changes a thousand facts in a step, whose round trips would take it past its deadline. */
async function updateFact(
  queries: Queries,
  row: FactRow,
  { lostAtHead, nextAskBlock }: { readonly lostAtHead: number | null; readonly nextAskBlock: number | null },
  nowMs: number,
): Promise<void> {
  await queries.send(
    `update facts set state = $3, revision = $4, block_number = $5, block_hash = $6, log_index = $7, lost_at_head = $8,
       changed_at_ms = $9, seen_revision = $10, next_ask_block = $11, absences = 0, votes = $12, is_disputed = $13, block_s = $14
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
    ],
  );
}

/** Facts that have reached finality where they stand. */
export async function finalizeFacts(queries: Queries, rows: readonly FactRow[], nowMs: number): Promise<void> {
  const history = new History(nowMs);
  for (const chunk of chunks(rows)) {
    await queries.send(
      `update facts set state = 'final', changed_at_ms = $1
       where (entity_id, id) in (values ${valuesList(chunk.length, 2, 1)})`,
      [nowMs, ...chunk.flatMap(({ entityId, factId }): SqlValue[] => [entityId, factId])],
    );
    for (const row of chunk) history.add({ ...row, state: 'final' });
  }
  await history.write(queries);
}

const NEW_HISTORY = historyTable.insertion([
  'entityId',
  'factId',
  'no',
  'atMs',
  'state',
  'revision',
  'blockNumber',
  'blockHash',
  'logIndex',
  'isDisputed',
]);
const lastColumns = historyTable.pick(['entityId', 'factId']);

type Entry = Pick<
  FactRow,
  'entityId' | 'factId' | 'state' | 'revision' | 'blockNumber' | 'blockHash' | 'logIndex' | 'isDisputed'
>;

/** Gathers what is to be added to the history of facts. */
class History {
  readonly #added = new Map<string, Entry[]>();
  readonly #new = new Set<string>();

  constructor(private readonly atMs: number) {}

  add(row: Entry): void {
    const name = nameOf(row);
    this.#added.set(name, [...(this.#added.get(name) ?? []), row]);
  }

  /** One that was found below finality was seen and is final at once. */
  addNew(row: Entry): void {
    this.#new.add(nameOf(row));
    if (row.state === 'final') this.add({ ...row, state: 'seen' });
    this.add(row);
  }

  async write(queries: Queries): Promise<void> {
    const known = await this.#readLast(queries);
    const rows = [...this.#added].flatMap(([name, entries]) => {
      const last = known.get(name) ?? 0;
      return entries.map((entry, index) => ({ ...entry, no: last + index + 1, atMs: this.atMs }));
    });
    for (const chunk of chunks(rows)) {
      await queries.send(NEW_HISTORY.text(chunk.length), NEW_HISTORY.parameters(chunk));
    }
  }

  /** The last number of each fact that is not new. */
  async #readLast(queries: Queries): Promise<Map<string, number>> {
    const last = new Map<string, number>();
    const old = [...this.#added].flatMap(([name, [entry]]) =>
      this.#new.has(name) || entry === undefined ? [] : entry,
    );
    for (const chunk of chunks(old)) {
      const rows = await queries.all<{ entityId: string; factId: string; last: number | string }>(
        `select ${lastColumns.list}, max(no) as last from fact_history
         where (entity_id, fact_id) in (values ${valuesList(chunk.length, 2)}) group by entity_id, fact_id`,
        chunk.flatMap(({ entityId, factId }): SqlValue[] => [entityId, factId]),
      );
      for (const row of rows) last.set(nameOf(row), Number(row.last));
    }
    return last;
  }
}
