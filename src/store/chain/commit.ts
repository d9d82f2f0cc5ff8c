import type { BlockRef } from '../../domain/chain/facts.ts';
import { finalityOf, type Levels, reachedBlock } from '../../domain/chain/finality.ts';
import { readNowMs } from '../database/clock.ts';
import type { Database, Queries, SqlValue } from '../database/database.ts';
import { chunks, valuesList } from '../database/sql.ts';
import { dropAccounts, writeAccounts } from './accounts.ts';
import { withoutRemoved } from './addresses/books.ts';
import { noteDisputes, noteTrouble, type StoredTrouble } from './alerts.ts';
import { finalizeFacts, type RetractedRow, writeChanges } from './fact-changes.ts';
import { type FactRow, KnownFactError } from './facts/new-facts.ts';
import { writeAsked } from './held/hold.ts';
import { attribute } from './invoices/attribute.ts';
import { publishInvoices } from './invoices/events.ts';
import { endWatches, findPassed } from './invoices/expire.ts';
import { type Lease, MAX_ANCHORS, type Step } from './network-store.ts';
import { publishable, publishReached, readSymbols, retractFacts } from './publish/facts.ts';
import { Outbox } from './publish/outbox.ts';
import { boundLevel, type Reached, readReached } from './reached.ts';
import { withoutOutdated } from './sources/outdated.ts';
import { anchorTable, networkTable } from './tables.ts';
import { readFinalities, readWanted } from './wanted.ts';

/**
 * One step of a network, in one transaction under the token of its holder: facts with their history, the events that they lead
 * to, and how far the network was read. The events wait in `fact_events` until they are accepted (`fact-events.ts`), so that a
 * crash between the two transactions loses no event and publishes none twice.
 */

const beforeColumns = networkTable.pick([
  'head',
  'safe',
  'final',
  'nextNo',
  'headS',
  'headChangedAtMs',
  'stalledSinceMs',
  'stalledReason',
  'stalledNode',
  'isStallAlerted',
  'addressRevision',
  'tipNumber',
  'tipHash',
  'tipS',
]);

/**
 * Returns false, and writes nothing, if another instance now holds the network. The poll has checked that its new facts are not
 * stored, so the first write assumes it. If a fact is stored all the same, the step is written again, and the database returns
 * which facts are new. SQLite would need a seventh of the time of the insertion to return them always.
 */
export async function commitStep(db: Database, lease: Lease, step: Step): Promise<boolean> {
  try {
    return await writeStep(db, lease, step, true);
  } catch (error) {
    if (!(error instanceof KnownFactError)) throw error;
    return writeStep(db, lease, step, false);
  }
}

function writeStep(db: Database, lease: Lease, step: Step, areNew: boolean): Promise<boolean> {
  const { networkId, token } = lease;
  return db.transaction(async (queries) => {
    const before = await beforeColumns.get(
      queries,
      `select ${beforeColumns.list} from chains where network_id = $1 and token = $2 ${db.dialect.lockRow}`,
      [networkId, token],
    );
    if (before === undefined) return false;
    const nowMs = await readNowMs(queries, db.dialect);
    const levels: Levels = {
      head: step.head,
      safe: await boundLevel(queries, networkId, before.safe, step.safe),
      final: await boundLevel(queries, networkId, before.final, step.final),
    };
    const moment = { networkId, nowMs, final: levels.final };
    const current = await withoutOutdated(queries, step.changes);
    const changes = before.addressRevision === lease.bookRevision ? current : await withoutRemoved(queries, current);
    const expected = await attribute(queries, networkId, changes);
    const { placed, retracted, disputed } = await writeChanges(queries, db.dialect, expected, moment, areNew);
    const outbox = new Outbox(networkId, before.nextNo);
    await retractFacts(queries, db.dialect, outbox, retracted, nowMs);
    const old = { head: before.head ?? step.head, safe: before.safe, final: before.final };
    const reached = await readAllReached(queries, networkId, placed, old, levels);
    const final = reached.filter(
      ({ fact, finalities }) => fact.state === 'seen' && fact.isDisputed === 0 && finalities.has('final'),
    );
    await finalizeFacts(
      queries,
      final.map(({ fact }) => fact),
      nowMs,
    );
    await writeBackfills(queries, lease, step);
    await writeAccounts(queries, networkId, step.accounts ?? []);
    await dropAccounts(queries, networkId, step.droppedAccounts ?? []);
    // A timestamp belongs to its block, so a new tip without a timestamp ends no invoice.
    const isOldTip = step.tip === null || (step.tip.number === before.tipNumber && step.tip.hash === before.tipHash);
    const tip = {
      number: step.tip?.number ?? before.tipNumber ?? 0,
      timestampS: step.tipS ?? (isOldTip ? before.tipS : null),
    };
    await publish(queries, outbox, { reached, retracted, levels, nowMs, tip });
    await outbox.write(queries);
    await writeAnchors(queries, networkId, step.anchors);
    await writeAsked(queries, step, nowMs);
    await writeCosts(queries, step);
    await noteDisputes(queries, networkId, disputed, nowMs);
    const trouble = await noteTrouble(queries, networkId, before, step.trouble, nowMs);
    const isNewHead = step.head !== before.head || step.headS !== before.headS;
    const headChangedAtMs = isNewHead ? nowMs : before.headChangedAtMs;
    const written = { nextNo: outbox.nextNo, nowMs, headChangedAtMs, trouble, tipS: tip.timestampS };
    await writeNetwork(queries, lease, step, levels, written);
    if (tip.timestampS !== null) await endWatches(queries, networkId, tip.number, tip.timestampS);
    return true;
  });
}

/** The facts that reach a finality in this step: placed facts with every finality of their block, and facts that the risen levels cover. */
async function readAllReached(
  queries: Queries,
  networkId: number,
  placed: readonly FactRow[],
  before: Levels,
  levels: Levels,
): Promise<Reached[]> {
  const finalities = new Set(['seen', 'final', ...(await readFinalities(queries, networkId))]);
  const passed = await readReached(
    queries,
    networkId,
    [...finalities].filter((one) => one !== 'seen'),
    before,
    levels,
  );
  const reached = new Map(passed.map((one) => [`${one.fact.entityId} ${one.fact.factId}`, one]));
  for (const fact of placed) {
    // Paybell publishes nothing about silent facts, and they are final already if enough nodes have shown them.
    if (fact.isSilent === 1) {
      reached.delete(`${fact.entityId} ${fact.factId}`);
      continue;
    }
    const has = [...finalities].filter((finality) => {
      const block = reachedBlock(finalityOf(finality), levels);
      return (
        block !== null && (fact.blockNumber ?? 0) <= block && !(finality === 'final' && isUnconfirmed(fact, levels))
      );
    });
    reached.set(`${fact.entityId} ${fact.factId}`, { fact, finalities: new Set(has) });
  }
  const place = ({ fact }: Reached) => [fact.blockNumber ?? 0, fact.logIndex ?? 0] as const;
  return [...reached.values()].sort((a, b) => place(a)[0] - place(b)[0] || place(a)[1] - place(b)[1]);
}

/** Below finality, a fact that is still `seen` waits for more nodes to show it. */
function isUnconfirmed({ state, blockNumber }: FactRow, { final }: Levels): boolean {
  return state === 'seen' && final !== null && (blockNumber ?? 0) <= final;
}

type Found = {
  readonly reached: readonly Reached[];
  readonly retracted: readonly RetractedRow[];
  readonly levels: Levels;
  readonly nowMs: number;
  readonly tip: { readonly number: number; readonly timestampS: number | null };
};

/** Adds the events of facts and of invoices to the outbox. Most steps have none, and cost one statement. */
async function publish(
  queries: Queries,
  outbox: Outbox,
  { reached, retracted, levels, nowMs, tip }: Found,
): Promise<void> {
  const { networkId } = outbox;
  const toPublish = publishable(reached);
  const passed = tip.timestampS === null ? [] : await findPassed(queries, networkId, tip.number, tip.timestampS);
  const ofInvoices = retracted.filter(({ invoiceId }) => invoiceId !== null);
  const facts = [...toPublish.map(({ fact }) => fact), ...ofInvoices];
  if (facts.length + passed.length === 0) return;
  const entityIds = new Set([...facts, ...passed].map(({ entityId }) => entityId));
  const wanted = await readWanted(queries, networkId, [...entityIds]);
  const symbols = await readSymbols(queries, networkId, [...facts, ...passed]);
  const context = { networkId, head: levels.head, nowMs, wanted, symbols };
  publishReached(outbox, toPublish, context);
  await publishInvoices(queries, outbox, {
    ...{ ...context, levels, passed },
    ...{ reached: toPublish, retracted: ofInvoices, tip: tip.number },
  });
}

const anchorColumns = anchorTable.pick(['number', 'hash']);

/** Newest first. */
export function readAnchors(queries: Queries, networkId: number): Promise<BlockRef[]> {
  return anchorColumns.all(
    queries,
    `select ${anchorColumns.list} from chain_anchors where network_id = $1 order by number desc limit ${MAX_ANCHORS}`,
    [networkId],
  );
}

/** Writes only the anchors that differ: most steps add one anchor and drop one. */
async function writeAnchors(queries: Queries, networkId: number, now: readonly BlockRef[]): Promise<void> {
  const before = await readAnchors(queries, networkId);
  const kept = new Map(now.map(({ number, hash }) => [number, hash]));
  const known = new Map(before.map(({ number, hash }) => [number, hash]));
  const gone = before.filter(({ number }) => !kept.has(number));
  for (const chunk of chunks(gone)) {
    const sql = `delete from chain_anchors where network_id = $1 and number in ${valuesList(1, chunk.length, 1)}`;
    await queries.send(sql, [networkId, ...chunk.map(({ number }) => number)]);
  }
  for (const chunk of chunks(now.filter(({ number, hash }) => known.get(number) !== hash))) {
    await queries.send(
      `insert into chain_anchors (network_id, number, hash) values ${valuesList(chunk.length, 3)}
       on conflict (network_id, number) do update set hash = excluded.hash`,
      chunk.flatMap(({ number, hash }): SqlValue[] => [networkId, number, hash]),
    );
  }
}

/**
 * Stores the progress of backfills. If a request has changed, paused or resumed a source since the poll began, the source keeps
 * the progress that the request has set.
 */
async function writeBackfills(queries: Queries, { sources }: Lease, { backfilled }: Step): Promise<void> {
  for (const { entityId, sourceId, nextBlock, lastBlock } of backfilled) {
    const known = sources.find((source) => source.sourceId === sourceId && source.entityId === entityId);
    await queries.send(
      `update sources set next_block = $3, last_block = $4 where entity_id = $1 and id = $2 and revision = $5
         and coalesce(next_block, -1) = $6 and coalesce(last_block, -1) = $7`,
      [entityId, sourceId, nextBlock, lastBlock, known?.revision ?? 1, known?.nextBlock ?? -1, known?.lastBlock ?? -1],
    );
  }
}

/** Adds to the meters of the sources. A source that was deleted since has no meter. */
async function writeCosts(queries: Queries, { costs }: Step): Promise<void> {
  for (const { entityId, sourceId, requests, logs } of costs) {
    await queries.send(
      `update sources set log_requests = log_requests + $3, logs_received = logs_received + $4
       where entity_id = $1 and id = $2`,
      [entityId, sourceId, requests, logs],
    );
  }
}

type Written = {
  readonly nextNo: number;
  readonly nowMs: number;
  readonly headChangedAtMs: number | null;
  readonly trouble: StoredTrouble;
  readonly tipS: number | null;
};

async function writeNetwork(
  queries: Queries,
  { networkId, token }: Lease,
  { tip, rangeBlocks, blockTimeMs, nodes, headS, learnedDepth, finalLagMs, witnessesNeeded, readFinal }: Step,
  { head, safe, final }: Levels,
  { nextNo, nowMs, headChangedAtMs, trouble, tipS }: Written,
): Promise<void> {
  // A step without a tip keeps the stored number: after a resume, the network is read from the operator's block.
  await queries.send(
    `update chains set tip_number = coalesce($3, tip_number), tip_hash = $4, head = $5, safe = $6, final = $7, range_blocks = $8,
       block_time_ms = $9, nodes = $10, next_no = $11, polled_at_ms = $12, head_s = $13, head_changed_at_ms = $14,
       least_final_depth = $15, least_next_depth = $16, least_since_ms = $17, final_lag_ms = $18, stalled_since_ms = $19,
       stalled_reason = $20, stalled_node = $21, is_stall_alerted = $22, witnesses_needed = $23,
       tip_s = $24, read_final = coalesce($25, read_final)
     where network_id = $1 and token = $2`,
    [
      networkId,
      token,
      tip?.number ?? null,
      tip?.hash ?? null,
      head,
      safe,
      final,
      rangeBlocks,
      blockTimeMs,
      JSON.stringify(nodes),
      nextNo,
      nowMs,
      headS,
      headChangedAtMs,
      learnedDepth.least,
      learnedDepth.next,
      learnedDepth.sinceMs,
      finalLagMs,
      trouble.stalledSinceMs,
      trouble.stalledReason,
      trouble.stalledNode,
      trouble.isStallAlerted,
      witnessesNeeded,
      tipS,
      readFinal ?? null,
    ],
  );
}
