import type { FactKey, StoredFact } from '../../domain/chain/facts.ts';
import { readNowMs } from '../database/clock.ts';
import type { Database, Queries } from '../database/database.ts';
import { chunks, type RowOf, valuesList } from '../database/sql.ts';
import { readAccounts } from './accounts.ts';
import { dropRemoved } from './addresses/drop.ts';
import { takeOverUnread } from './addresses/unread.ts';
import { queueAlerts } from './alerts.ts';
import { commitStep, readAnchors } from './commit.ts';
import { haltNetwork, pauseSources } from './halt.ts';
import { readDueHeld } from './held/due.ts';
import { noteBalances, readDueBalances } from './invoices/check.ts';
import type {
  AccountProgress,
  DueBalance,
  FollowedSource,
  FollowerStore,
  Lease,
  NetworkState,
  NodeHealth,
  ReadBalance,
  SourceKey,
  Step,
} from './network-store.ts';
import { readStored } from './read/stored-facts.ts';
import { retryFlooded } from './sources/pauses.ts';
import { networkTable } from './tables.ts';

/**
 * Leases of networks, and the stored state that a follower starts from. The holder renews its lease while it runs. After the lease
 * has expired, the next instance that asks takes it and raises the token, so the previous holder can no longer write. A lease with
 * more time left than `LEASE_MS` counts as expired too: it was set before the clock was set back.
 */

/** Short enough that another instance continues soon after a crash. */
const LEASE_MS = 6_000;
/** Short enough that the lease is renewed several times before it ends, so that a slow store does not lose it. */
export const RENEW_MS = 1_500;
const MAX_LOST = 1_000;
const MAX_UNCONFIRMED = 100;

export class NetworkStore implements FollowerStore {
  /** By network: the entity after which the next poll looks for held events. Without an entry, a poll starts with the first entity. */
  readonly #heldAfter = new Map<number, string>();
  readonly #readBefore = new Set<number>();

  /** `holder` names this process among the instances. */
  constructor(
    private readonly db: Database,
    private readonly holder: string,
    private readonly readSources: (queries: Pick<Queries, 'all'>, networkId: number) => Promise<FollowedSource[]>,
  ) {}

  async lease(networkId: number): Promise<Lease | null> {
    const { db, holder } = this;
    // The first reading loads address books, which takes too long for the transaction below.
    if (!this.#readBefore.has(networkId)) await this.readSources(db, networkId);
    this.#readBefore.add(networkId);
    return db.transaction(async (queries) => {
      await queries.run('insert into chains (network_id) values ($1) on conflict (network_id) do nothing', [networkId]);
      const row = await networkTable.get(
        queries,
        `update chains set holder = $2, lease_ms = ${db.dialect.nowMs} + ${LEASE_MS},
           token = case when holder = $2 then token else token + 1 end
         where network_id = $1 and (holder is null or holder = $2 or lease_ms <= ${db.dialect.nowMs}
           or lease_ms > ${db.dialect.nowMs} + ${LEASE_MS})
         returning ${networkTable.list}`,
        [networkId, holder],
      );
      if (row === undefined) return null;
      const state = await readState(queries, row);
      const nowMs = await readNowMs(queries, db.dialect);
      await retryFlooded(queries, db.dialect, networkId);
      await takeOverUnread(queries, networkId, row.tipNumber);
      await dropRemoved(queries, networkId, state.final);
      const sources = await this.readSources(queries, networkId);
      return {
        networkId,
        token: row.token,
        state,
        sources,
        bookRevision: row.addressRevision,
        startBlock: state.tip === null ? await findStart(queries, row, sources) : null,
        nodes: row.nodes === null ? [] : (JSON.parse(row.nodes) as NodeHealth[]),
        lost: await readStored(queries, `network_id = $1 and state = 'lost' order by block_number limit ${MAX_LOST}`, [
          networkId,
        ]),
        held: await this.#readHeld(queries, networkId, state.head ?? 0),
        unconfirmed: await readStored(
          queries,
          `network_id = $1 and state = 'seen' and block_number <= $2 order by block_number limit ${MAX_UNCONFIRMED}`,
          [networkId, state.final ?? -1],
        ),
        ...(await readWork(queries, networkId)),
        nowMs,
      };
    });
  }

  async #readHeld(queries: Queries, networkId: number, head: number): Promise<StoredFact[]> {
    const after = this.#heldAfter.get(networkId) ?? '';
    const { facts, nextAfter } = await readDueHeld(queries, { networkId, head, after });
    this.#heldAfter.set(networkId, nextAfter);
    return facts;
  }

  factsIn(networkId: number, from: number, to: number): Promise<StoredFact[]> {
    const which = `network_id = $1 and block_number >= $2 and block_number <= $3 and state in ('seen', 'final')`;
    return readStored(this.db, which, [networkId, from, to]);
  }

  async factsOf(keys: readonly FactKey[]): Promise<StoredFact[]> {
    const found: StoredFact[] = [];
    for (const [entityId, own] of Map.groupBy(keys, (key) => key.entityId)) {
      for (const chunk of chunks(own)) {
        const which = `entity_id = $1 and id in ${valuesList(1, chunk.length, 1)}`;
        found.push(...(await readStored(this.db, which, [entityId, ...chunk.map(({ factId }) => factId)])));
      }
    }
    return found;
  }

  accounts(networkId: number): Promise<AccountProgress[]> {
    return readAccounts(this.db, networkId);
  }

  commit(lease: Lease, step: Step): Promise<boolean> {
    return commitStep(this.db, lease, step);
  }

  dueBalances(networkId: number): Promise<DueBalance[]> {
    return readDueBalances(this.db, networkId);
  }

  noteBalances(balances: readonly ReadBalance[]): Promise<void> {
    return noteBalances(this.db, balances);
  }

  halt(lease: Lease, reason: string): Promise<void> {
    return haltNetwork(this.db, lease, reason);
  }

  queueAlerts(lease: Lease): Promise<void> {
    return queueAlerts(this.db, lease);
  }

  pauseSources(lease: Lease, sources: readonly SourceKey[], reason: string): Promise<boolean> {
    return pauseSources(this.db, lease, sources, reason);
  }

  /** Renews the lease during a poll, which may take longer than the lease. Changes nothing if another instance has the lease. */
  async renew(networkId: number): Promise<void> {
    const { db, holder } = this;
    const sql = `update chains set lease_ms = ${db.dialect.nowMs} + ${LEASE_MS} where network_id = $1 and holder = $2`;
    await db.transaction((queries) => queries.run(sql, [networkId, holder]));
  }

  /** Ends the lease, so that another instance continues at once. */
  async release(networkId: number): Promise<void> {
    const sql = 'update chains set lease_ms = 0 where network_id = $1 and holder = $2';
    await this.db.transaction((queries) => queries.run(sql, [networkId, this.holder]));
  }

  async releaseAll(): Promise<void> {
    await this.db.transaction((queries) => queries.run('update chains set lease_ms = 0'));
  }
}

async function readState(queries: Queries, row: RowOf<typeof networkTable>): Promise<NetworkState> {
  const anchors = await readAnchors(queries, row.networkId);
  const { tipNumber, tipHash, head, safe, final, rangeBlocks, blockTimeMs, haltedAtMs, haltedReason } = row;
  const { headS, headChangedAtMs, finalLagMs } = row;
  return {
    tip: tipNumber === null || tipHash === null ? null : { number: tipNumber, hash: tipHash },
    anchors,
    ...{ head, safe, final, rangeBlocks, blockTimeMs, haltedAtMs, haltedReason, headS, headChangedAtMs, finalLagMs },
    learnedDepth: { least: row.leastFinalDepth, next: row.leastNextDepth, sinceMs: row.leastSinceMs },
  };
}

/** Finds work for which the follower needs more calls than usual. */
async function readWork(queries: Queries, networkId: number): Promise<Pick<Lease, 'isWaiting' | 'areBalancesDue'>> {
  const states = ['seen', 'waiting', 'lost'].map(
    (state) => `exists (select 1 from facts where network_id = $1 and state = '${state}')`,
  );
  const due = 'exists (select 1 from invoices where network_id = $1 and balance_due = 1)';
  const sql = `select case when ${states.join(' or ')} then 1 else 0 end as waiting, case when ${due} then 1 else 0 end as due`;
  const row = await queries.get<Record<'waiting' | 'due', number | string>>(sql, [networkId]);
  return { isWaiting: Number(row?.waiting) === 1, areBalancesDue: Number(row?.due) === 1 };
}

/**
 * The block to begin with if there is no tip. If the network's progress was lost, the stored facts decide. Paybell has confirmed
 * every block up to the newest final fact. So it continues after that block, or at the oldest fact that can still be undone if
 * that is lower. The blocks of other facts prove nothing, because the network may have replaced them since.
 */
async function findStart(
  queries: Queries,
  { networkId, tipNumber }: RowOf<typeof networkTable>,
  sources: readonly FollowedSource[],
): Promise<number | null> {
  if (tipNumber !== null) return tipNumber + 1;
  const { final, open } = await readKnownBlocks(queries, networkId);
  const starts = final === null ? sources.map(({ createdHead }) => createdHead + 1) : [final + 1];
  if (open !== null) starts.push(open);
  return starts.length === 0 ? null : starts.reduce((least, number) => Math.min(least, number));
}

/** The block of the newest final fact, and of the oldest fact that can still be undone. */
async function readKnownBlocks(
  queries: Queries,
  networkId: number,
): Promise<{ readonly final: number | null; readonly open: number | null }> {
  const row = await queries.get<Record<'final' | 'open', number | string | null>>(
    `select (select max(block_number) from facts where network_id = $1 and state = 'final') as final,
       (select min(block_number) from facts where network_id = $1 and state in ('seen', 'lost')) as open`,
    [networkId],
  );
  const numberOf = (value: number | string | null | undefined) => (value == null ? null : Number(value));
  return { final: numberOf(row?.final), open: numberOf(row?.open) };
}

/** Resumes a halted network after an operator's decision. Paybell reads it again from this block on. */
export function resumeNetwork(db: Database, networkId: number, fromBlock: number): Promise<boolean> {
  return db.transaction(async (queries) => {
    const nowMs = await readNowMs(queries, db.dialect);
    const before = fromBlock - 1;
    await queries.run('delete from chain_anchors where network_id = $1 and number >= $2', [networkId, fromBlock]);
    const changed = await queries.run(
      `update chains set halted_at_ms = null, halted_reason = null, tip_number = $2, tip_hash = null,
         token = token + 1, holder = null, lease_ms = 0, polled_at_ms = $3,
         safe = case when safe > $2 then $2 else safe end, final = case when final > $2 then $2 else final end
       where network_id = $1 and halted_at_ms is not null`,
      [networkId, before, nowMs],
    );
    return changed > 0;
  });
}
