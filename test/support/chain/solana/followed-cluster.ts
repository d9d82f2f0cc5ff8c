import { Follower } from '../../../../src/chain/follow/follower.ts';
import type { PollResult } from '../../../../src/chain/follow/poll-result.ts';
import { Node } from '../../../../src/chain/rpc/node.ts';
import { Nodes } from '../../../../src/chain/rpc/nodes.ts';
import { creditsOf, NATIVE } from '../../../../src/chain/solana/decode/credits.ts';
import { compileSource } from '../../../../src/chain/solana/decode/definition.ts';
import { readTransaction } from '../../../../src/chain/solana/decode/transaction.ts';
import { SOLANA } from '../../../../src/chain/solana/family.ts';
import type { SourceDefinition } from '../../../../src/domain/chain/source-definition.ts';
import { acceptFactEvents } from '../../../../src/store/chain/fact-events.ts';
import type { Step } from '../../../../src/store/chain/network-store.ts';
import { NetworkStore } from '../../../../src/store/chain/networks.ts';
import { FollowedSources } from '../../../../src/store/chain/sources/followed.ts';
import { createSource } from '../../../../src/store/chain/sources/sources.ts';
import type { Database } from '../../../../src/store/database/database.ts';
import { AcceptQueue } from '../../../../src/store/events/accept-queue.ts';
import { createTenant, TEST_CHANGE } from '../../api.ts';
import { seededRandom } from '../../random.ts';
import { register } from '../../webhooks.ts';
import { FakeNode, type Faults } from './fake-node.ts';
import { MINT, newShops } from './shops.ts';

const HOOK = 'https://hooks.example.com/paybell';
const NETWORK = 900;
const POLL_MS = 4_000;
const POLL_TAKES_MS = 50;
const SLOT_MS = 400;

export type ClusterOptions = {
  readonly seed?: number;
  readonly nodes?: readonly Partial<Faults>[];
  readonly shops?: number;
  /** Called before and after each step is written. If it throws, the instance is gone. */
  readonly onCommit?: (step: Step, isWritten: boolean) => void | Promise<void>;
};

/** A cluster whose wallets are followed on a store of the test. */
export async function followCluster(db: Database, options: ClusterOptions = {}) {
  const { seed = 1, nodes: faults = [{}], shops: shopCount = 4, onCommit } = options;
  const model = newShops(seed, shopCount);
  const { cluster, shops, accounts } = model;
  // Only one network of this id can be followed on a store.
  for (const table of ['chains', 'chain_accounts', 'sources', 'facts', 'fact_events']) {
    await db.transaction((queries) => queries.run(`delete from ${table} where network_id = $1`, [NETWORK]));
  }
  const tenant = await createTenant(db);
  const { entityId } = tenant;
  for (const event of ['TransferProcessed', 'TransferFinalized']) {
    await register(db, entityId, HOOK, [{ networkId: NETWORK, event }]);
  }
  const fakes = faults.map((one, index) => new FakeNode(cluster, accounts, seededRandom(seed * 100 + index), one));
  let ms = 0;
  let instances = 0;
  const clock = { nowMs: () => ms, sleep: () => Promise.resolve() };
  const sources = new FollowedSources();
  let passedMs = 0;
  let polls = 0;
  let stopsAtMs = Number.POSITIVE_INFINITY;
  let stopped = Promise.withResolvers<void>();
  const pass = (waitedMs: number) => {
    ms += waitedMs;
    for (passedMs += waitedMs; passedMs >= SLOT_MS; passedMs -= SLOT_MS) cluster.add([]);
    if (ms >= stopsAtMs) stopped.resolve();
  };
  const hooks = {
    nowMs: () => ms,
    onPoll: () => {
      polls++;
      pass(POLL_TAKES_MS);
    },
    sleep: async (waitedMs: number, signal: AbortSignal) => {
      pass(waitedMs);
      if (ms >= stopsAtMs && !signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve));
    },
  };

  function newInstance() {
    const store = new NetworkStore(db, `instance ${++instances}`, (queries, id) => sources.read(queries, id));
    const commit = store.commit.bind(store);
    store.commit = async (lease, step) => {
      await onCommit?.(step, false);
      const isWritten = await commit(lease, step);
      await onCommit?.(step, true);
      return isWritten;
    };
    const nodes = fakes.map(
      ({ exchange }, index) =>
        new Node({
          ...{ name: `900#${index + 1}`, identity: SOLANA.identity(NETWORK), dialect: SOLANA.dialect, exchange, clock },
          ...{ callsPerSecond: 1_000_000, random: () => 0, hasOthers: fakes.length > 1 },
        }),
    );
    const parts = { decode: async () => [], identify: () => new Map() };
    const reader = SOLANA.newReader({ decoder: parts });
    const follower = new Follower({
      ...{ store, nodes: new Nodes(nodes), reader, networkId: NETWORK, finalityDepth: null, graceBlocks: 3 },
      ...{ leastDepth: 1, quorum: null, clock, pollMs: POLL_MS, ...hooks },
    });
    return { follower, store };
  }

  let instance = newInstance();
  let other = newInstance();
  /** The holder of the network is too late with its lease. */
  const freeNetwork = () =>
    db.transaction((queries) => queries.run('update chains set lease_ms = 0 where network_id = $1', [NETWORK]));
  const acceptQueue = new AcceptQueue(db, { onDue: () => undefined });

  return {
    ...model,
    ...{ entityId, tenant, fakes, networkId: NETWORK },
    get follower() {
      return instance.follower;
    },
    /** A source for all shops, of another entity if one is given. */
    addSource: async (preset: 'spl' | 'native', changes: Partial<SourceDefinition> = {}, owner = entityId) => {
      const definition: SourceDefinition = {
        ...{ networkId: NETWORK, preset, contract: preset === 'spl' ? MINT : NATIVE, abi: null, event: null },
        where: { to: shops.map(({ sol }) => sol.key) },
        ...{ fields: {}, fromBlock: 'latest', deliverHistory: false, ...changes },
      };
      const compiled = compileSource(definition);
      if (!compiled.isValid) throw new Error(JSON.stringify(compiled.errors));
      const wallets = [...compiled.source.wallets];
      const watched = wallets.map((key) => {
        const shop = shops.find(({ sol }) => sol.key === key);
        return (preset === 'spl' ? shop?.token.key : shop?.sol.key) ?? key;
      });
      const prepared = {
        ...{ definition: compiled.definition, topic: preset, topics: [wallets, watched] },
        head: cluster.tip.slot,
      };
      return (await createSource(db, owner, prepared, 1_000, TEST_CHANGE)).source;
    },
    poll: async (): Promise<PollResult> => {
      ms += POLL_MS;
      return instance.follower.poll();
    },
    /** Lets the follower poll at its own pace for so long, while slots pass. Returns the number of its polls. */
    run: async (runMs: number): Promise<number> => {
      const before = polls;
      stopsAtMs = ms + runMs;
      stopped = Promise.withResolvers<void>();
      const { follower } = instance;
      follower.start();
      await stopped.promise;
      await follower.stop();
      stopsAtMs = Number.POSITIVE_INFINITY;
      return polls - before;
    },
    final: async (): Promise<number> => {
      const row = await db.get<{ final: number | string | null }>('select final from chains where network_id = $1', [
        NETWORK,
      ]);
      return Number(row?.final ?? -1);
    },
    wait: (waitedMs: number) => {
      ms += waitedMs;
    },
    /** Another instance takes over, as after the first one was killed. */
    replace: async () => {
      await freeNetwork();
      instance = newInstance();
    },
    /** The other of two instances takes over and polls, as while the first one hangs in a poll of its own. */
    overtake: async () => {
      await freeNetwork();
      [instance, other] = [other, instance];
      await instance.follower.poll();
    },
    publish: async () => {
      const parts = { acceptQueue, isFull: () => Promise.resolve(false), firstDelayMs: 0, onTask: () => undefined };
      while ((await acceptFactEvents(db, NETWORK, parts)) > 0);
    },
    /** Compares the facts with the branch that stands, for payments above this slot. */
    judge: async (after: number) => {
      const truth = new Map<string, string>();
      const wallets = new Set(shops.map(({ sol }) => sol.key));
      for (const block of cluster.blocks) {
        for (const { shown } of block.slot > after ? block.executed : []) {
          const transaction = readTransaction(shown);
          for (const { payee, token, amount } of transaction === null ? [] : creditsOf(transaction)) {
            if (!wallets.has(payee)) continue;
            truth.set(`${transaction?.signature} ${payee} ${token} ${amount}`, `${block.slot} ${block.hash}`);
          }
        }
      }
      const facts = await db.all<Record<string, string>>(
        `select id, state, block_number, block_hash, transaction_hash, contract, fields from facts
         where network_id = $1 and entity_id = $2`,
        [NETWORK, entityId],
      );
      const stands = new Map<string, { state: string; place: string }>();
      for (const row of facts) {
        const { payee, amountBase } = JSON.parse(row.fields ?? '{}');
        const place = `${row.block_number} ${row.block_hash}`;
        stands.set(`${row.transaction_hash} ${payee} ${row.contract} ${amountBase}`, { state: row.state ?? '', place });
      }
      const events = await db.all<{ event: string; finality: string; fact_id: string; revision: number }>(
        'select event, finality, fact_id, revision from fact_events where network_id = $1 and entity_id = $2 order by no',
        [NETWORK, entityId],
      );
      const isStanding = (state = '') => state === 'seen' || state === 'final';
      const count = (kind: string) => events.filter(({ event }) => event === kind).length;
      return {
        payments: truth.size,
        missing: [...truth.keys()].filter((id) => stands.get(id)?.state !== 'final').length,
        extra: [...stands].filter(([id, { state }]) => isStanding(state) && !truth.has(id)).length,
        misplaced: [...truth].filter(
          ([id, place]) => isStanding(stands.get(id)?.state) && stands.get(id)?.place !== place,
        ).length,
        processed: count('TransferProcessed'),
        finalized: count('TransferFinalized'),
        retracted: count('EventRetracted'),
        retractedFacts: facts.filter(({ state }) => state === 'retracted').length,
      };
    },
  };
}
