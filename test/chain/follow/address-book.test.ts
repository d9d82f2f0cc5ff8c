import { expect, test } from 'bun:test';
import type { Follower } from '../../../src/chain/follow/follower.ts';
import { addAddresses, removeAddresses } from '../../../src/store/chain/addresses/change-book.ts';
import { createSource } from '../../../src/store/chain/sources/sources.ts';
import { readDefinition, updateSource } from '../../../src/store/chain/sources/update.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { TEST_CHANGE } from '../../support/api.ts';
import { definitionOf, presetLog, sourceOf } from '../../support/chain/logs.ts';
import { addressOf, ModelChain, type ModelTransaction } from '../../support/chain/model-chain.ts';
import { ModelNode } from '../../support/chain/model-node.ts';
import { forkAtRandom, storeFollower } from '../../support/chain/store-follower.ts';
import { seededRandom } from '../../support/random.ts';
import { onSuiteEngine } from '../../support/stores.ts';
import { suiteRuns } from '../../support/suite.ts';
import { newEntity } from '../../support/webhooks.ts';

const PAYER = addressOf(9);
const POLL_MS = 2_000;
const LIMITS = { ofEntity: 100_000, ofNetwork: 1_000_000 };
let lastNetworkId = 12_000;

/** The blocks for which an address counts, by what the requests returned. */
type Counted = { readonly from: number; until: number };
type Options = {
  readonly seed: number;
  readonly finalized: number;
  readonly forks: boolean;
  readonly registrations: number;
};

/** A source with an address book, two instances that take turns, and a chain in memory. Anything may happen at a request to a node. */
async function newTrial(db: Database, { seed, finalized, forks, registrations }: Options) {
  const random = seededRandom(seed);
  const networkId = ++lastNetworkId;
  const entityId = await newEntity(db);
  const chain = new ModelChain();
  chain.mineEmpty(20);
  const model = new ModelNode(chain, { chainId: networkId, finalized, safe: finalized });
  const payeeOf = new Map<string, string>();
  const definition = { ...definitionOf({ networkId, preset: 'erc20' }), addressBook: 'to' };
  const topics = [null, null, null, null];
  const { topic } = sourceOf({ preset: 'erc20' });
  const prepared = { definition, topic, topics, bookPlace: 2, head: chain.head };
  const { source } = await createSource(db, entityId, prepared, 10, TEST_CHANGE);
  const { sourceId } = source;
  const counted = new Map<string, Counted[]>();
  const added: string[] = [];
  let ms = 0;
  let isActing = true;
  let lastAct = Promise.resolve();
  const followers = [newFollower('first'), newFollower('second')];

  function newFollower(holder: string): Follower {
    const exchange = async (payload: unknown) => {
      while (isActing && random.below(3) === 0) await actInTurn();
      return model.exchange(payload);
    };
    // Each instance has its own books in memory.
    return storeFollower(db, { networkId, exchanges: { [holder]: exchange }, nowMs: () => ms, holder });
  }

  const isFull = () => added.length >= registrations;

  /** One request after another, so that the trial knows their order. Polls are concurrent with them. */
  function actInTurn(): Promise<void> {
    lastAct = lastAct.then(act);
    return lastAct;
  }

  async function act(): Promise<void> {
    const action = random.below(12);
    if (action < 5) await register();
    else if (action < 6) await remove();
    else if (action < 7) await pause(random.below(2) === 0);
    else mine();
  }

  async function register(): Promise<void> {
    const isAgain = isFull() || (added.length > 3 && random.below(4) === 0);
    const count = 1 + random.below(3);
    const fresh = Array.from({ length: count }, (_, at) => addressOf(1_000 + added.length + at));
    const some = isAgain ? [added[random.below(added.length)] ?? PAYER] : fresh;
    const entries = some.map((address) => ({ address, reference: `paid to ${address}` }));
    const result = await addAddresses(db, entityId, sourceId, entries, LIMITS, TEST_CHANGE);
    if (result.kind !== 'changed') throw new Error(result.kind);
    if (!isAgain) added.push(...some);
    for (const address of result.result.added === 0 ? [] : some) {
      const from = result.result.fromBlock ?? 0;
      counted.set(address, [...(counted.get(address) ?? []), { from, until: Number.POSITIVE_INFINITY }]);
    }
  }

  async function remove(): Promise<void> {
    const address = added[random.below(Math.max(1, added.length))];
    const last = counted.get(address ?? '')?.at(-1);
    if (address === undefined || last === undefined || Number.isFinite(last.until)) return;
    const result = await removeAddresses(db, entityId, sourceId, [address], TEST_CHANGE);
    if (result.kind === 'changed') last.until = result.result.untilBlock ?? 0;
  }

  async function pause(isPaused: boolean): Promise<void> {
    const revision = (await readDefinition(db, entityId, sourceId))?.revision ?? 0;
    await updateSource(db, entityId, sourceId, revision, { isPaused }, TEST_CHANGE);
  }

  function pay(): ModelTransaction {
    const payee =
      added[random.below(2) === 0 ? Math.max(0, added.length - 1) : random.below(Math.max(1, added.length))];
    const made = chain.transaction({
      logs: [presetLog('erc20', [PAYER, payee ?? PAYER, BigInt(1 + random.below(9))])],
    });
    payeeOf.set(made.hash, payee ?? PAYER);
    return made;
  }

  function mine(): void {
    chain.mine(Array.from({ length: random.below(4) }, pay));
  }

  /** Both instances poll at the same time. The lease of one often ends in the middle of its poll. */
  async function poll(): Promise<boolean> {
    ms += POLL_MS;
    const isMoved = isActing && random.below(3) === 0;
    const sql = 'update chains set lease_ms = 0 where network_id = $1';
    if (isMoved) await db.transaction((queries) => queries.run(sql, [networkId]));
    const order = random.below(2) === 0 ? followers : followers.toReversed();
    const results = await Promise.all(order.map((follower) => follower.poll()));
    return results.some(({ hasBackfill }) => hasBackfill);
  }

  async function run(): Promise<void> {
    for (let round = 0; round < 200 && (round < 20 || !isFull()); round++) {
      for (let block = random.below(3); block > 0; block--) mine();
      if (forks && random.below(4) === 0) forkAtRandom(chain, random);
      await poll();
    }
    isActing = false;
    await pause(false);
    for (let round = 0; round < 30; round++) {
      chain.mine();
      await poll();
    }
    for (let rounds = 0; (await poll()) && rounds < 200; rounds++);
  }

  async function stored(): Promise<Set<string>> {
    const sql = `select transaction_hash, fields from facts where entity_id = $1 and state in ('seen', 'final') and is_silent = 0`;
    const rows = await db.all<{ transaction_hash: string; fields: string }>(sql, [entityId]);
    for (const { transaction_hash, fields } of rows) {
      expect(JSON.parse(fields)).toMatchObject({ reference: `paid to ${payeeOf.get(transaction_hash)}` });
    }
    expect(new Set(rows.map(({ transaction_hash }) => transaction_hash)).size).toBe(rows.length);
    return new Set(rows.map(({ transaction_hash }) => transaction_hash));
  }

  /** An address that is added again before its removal is final counts without an interruption. */
  const isTaken = (hash: string, block: number, isStrict: boolean) => {
    const spans = counted.get(payeeOf.get(hash) ?? '') ?? [];
    if (isStrict) return spans.some(({ from, until }) => block >= from && block <= until);
    return block >= (spans[0]?.from ?? block + 1) && block <= (spans.at(-1)?.until ?? 0);
  };
  return { chain, run, stored, isTaken, registered: () => added.length };
}

const REGISTRATIONS = Number(process.env.CHAIN_REGISTRATIONS ?? suiteRuns(15, 100));

onSuiteEngine('an address book that changes during polls', (store) => {
  test.each([
    ['final at once', 0, false],
    ['final after 16 blocks', 16, false],
    ['final after 16 blocks, with reorgs', 16, true],
  ])('misses no payment with two instances, on a network that is %s', async (_, finalized, forks) => {
    let registered = 0;
    for (let seed = 1; registered < REGISTRATIONS; seed++) {
      const trial = await newTrial(store.db, { seed, finalized, forks, registrations: suiteRuns(15, 100) });
      await trial.run();
      registered += trial.registered();
      const stored = await trial.stored();
      const canonical = trial.chain.logs().map((log) => [log.transactionHash, log.blockNumber] as const);
      const missed = canonical.filter(([hash, block]) => trial.isTaken(hash, block, true) && !stored.has(hash));
      const hashes = new Set(canonical.map(([hash]) => hash));
      const blocksOf = (hash: string) => trial.chain.blocksOf.get(hash) ?? [];
      const wrong = [...stored].filter(
        (hash) => !hashes.has(hash) || !blocksOf(hash).some(({ number }) => trial.isTaken(hash, number, false)),
      );
      expect({ seed, missed, wrong }).toEqual({ seed, missed: [], wrong: [] });
      expect(stored.size).toBeGreaterThan(10);
    }
  });
});
