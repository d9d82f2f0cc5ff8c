import { describe, expect, test } from 'bun:test';
import { EVM } from '../../../src/chain/evm/family.ts';
import { evmIdentity } from '../../../src/chain/evm/identity.ts';
import type { Family } from '../../../src/chain/family.ts';
import { Follower } from '../../../src/chain/follow/follower.ts';
import { Node } from '../../../src/chain/rpc/node.ts';
import { Nodes } from '../../../src/chain/rpc/nodes.ts';
import { TRON } from '../../../src/chain/tron/family.ts';
import { MemoryStore } from '../../support/chain/memory-store.ts';
import { ModelChain, wordOf } from '../../support/chain/model-chain.ts';
import { modelDecoder, modelSource, TOPIC } from '../../support/chain/model-decoder.ts';
import { ModelNode } from '../../support/chain/model-node.ts';
import { seededRandom } from '../../support/random.ts';

/** The calls that a network costs, and how long a block waits, with a follower and its loop on virtual time. */

const GENESIS_MS = 1_700_000_000_000;
const HOUR_MS = 3_600_000;
const ROUND_TRIP_MS = 60;
const FIRST_BLOCKS = 40;
/** Until the follower has learned the pace, and trusts its nodes. */
const WARM_UP_MS = 1_800_000;
/** One of so many blocks has a payment, so that some payment always waits for finality. */
const PAYMENT_EVERY = 10;

type Network = {
  readonly blockTimeMs: number;
  /** The least and the most time from the timestamp of a block to its arrival at the nodes. */
  readonly arrivesMs: readonly [number, number];
  readonly finalBlocks: number;
  /** For a network without payments. */
  readonly isIdle?: boolean;
  /** For a network whose polls are kept apart, as Tron's are. */
  readonly family?: Family;
};

async function followFor(network: Network, nodeCount: number, measuredMs: number) {
  const { blockTimeMs, arrivesMs, finalBlocks, isIdle = false, family = EVM } = network;
  const random = seededRandom(7);
  const chain = new ModelChain(blockTimeMs / 1_000);
  chain.mineEmpty(FIRST_BLOCKS + finalBlocks);
  const startMs = (chain.head + 1) * blockTimeMs;
  const endMs = startMs + WARM_UP_MS + measuredMs;
  let ms = startMs;
  const isMeasured = () => ms >= startMs + WARM_UP_MS;
  const arrivals = new Map<number, number>();
  const arriveAt = () => {
    const [least, most] = arrivesMs;
    return (chain.head + 1) * blockTimeMs + least + random.below(most - least);
  };
  let nextMs = arriveAt();
  const arrive = () => {
    for (; nextMs <= ms; nextMs = Math.max(nextMs, arriveAt())) {
      const number = chain.head + 1;
      const log = { address: modelSource().contract, topics: [TOPIC], data: wordOf(number) };
      chain.mine(!isIdle && number % PAYMENT_EVERY === 0 ? [chain.transaction({ logs: [log] })] : []);
      if (isMeasured()) arrivals.set(number, nextMs);
    }
  };
  const calls = new Map<string, number>();
  let mostOfPoll = 0;
  const clock = {
    nowMs: () => ms,
    sleep: async (forMs: number) => {
      ms += forMs;
    },
  };
  const nodes = Array.from({ length: nodeCount }, (_, index) => {
    const model = new ModelNode(chain, { finalized: finalBlocks, safe: Math.floor(finalBlocks / 2) });
    return new Node({
      name: `1#${index + 1}`,
      ...{ identity: evmIdentity(1), clock, dateMs: () => GENESIS_MS + ms },
      exchange: async (payload) => {
        ms += ROUND_TRIP_MS;
        arrive();
        return model.exchange(payload);
      },
      onCall: (_node, method, purpose) => {
        if (isMeasured()) calls.set(`${purpose} ${method}`, (calls.get(`${purpose} ${method}`) ?? 0) + 1);
      },
    });
  });
  const store = new MemoryStore({ sources: [modelSource()], startBlock: chain.head + 1 });
  store.nowMs = () => GENESIS_MS + ms;
  const latencies: number[] = [];
  store.onCommit = ({ tip }) => {
    for (const [number, atMs] of arrivals) {
      if (number > (tip?.number ?? 0)) break;
      arrivals.delete(number);
      latencies.push(ms - atMs);
    }
  };
  const ended = Promise.withResolvers<void>();
  const follower = new Follower({
    ...{ store, nodes: new Nodes(nodes), reader: family.newReader({ decoder: modelDecoder }), clock },
    ...{ networkId: 1, finalityDepth: null, graceBlocks: 3, leastDepth: 1, quorum: null, pollMs: family.pollMs },
    onPoll: (result) => {
      if (isMeasured()) mostOfPoll = Math.max(mostOfPoll, result.calls);
    },
    ...{ nowMs: clock.nowMs, dateMs: () => GENESIS_MS + ms },
    onError: (error) => ended.reject(error),
    sleep: async (forMs) => {
      ms += forMs;
      if (ms < endMs) return;
      ended.resolve();
      await new Promise(() => undefined);
    },
  });
  follower.start();
  await ended.promise;
  const total = [...calls.values()].reduce((sum, count) => sum + count, 0);
  latencies.sort((a, b) => a - b);
  return {
    callsAnHour: Math.round((total * HOUR_MS) / measuredMs),
    medianMs: latencies[Math.floor(latencies.length / 2)] ?? Number.POSITIVE_INFINITY,
    calls,
    mostOfPoll,
    final: (store.state.head ?? 0) - (store.state.final ?? 0),
  };
}

describe.each([
  ['12 s', { blockTimeMs: 12_000, arrivesMs: [800, 3_500], finalBlocks: 75 }, [1_050, 1_400], 1_100],
  ['2 s', { blockTimeMs: 2_000, arrivesMs: [200, 700], finalBlocks: 600 }, [4_800, 5_300], 300],
  ['0.25 s', { blockTimeMs: 250, arrivesMs: [100, 400], finalBlocks: 3_600 }, [11_800, 12_800], 700],
] as [string, Network, [number, number], number][])('a network with blocks every %s', (_, network, most, latencyMs) => {
  test.each([
    [1, most[0]],
    [3, most[1]],
  ])('and %d nodes takes at most %d calls an hour while payments wait', async (nodeCount, limit) => {
    const { callsAnHour, medianMs, calls, final } = await followFor(network, nodeCount, HOUR_MS);
    if (process.env.SHOW_CALLS === '1') console.log({ nodeCount, callsAnHour, medianMs, final, calls });
    expect(callsAnHour).toBeLessThanOrEqual(limit);
    expect(medianMs).toBeLessThanOrEqual(latencyMs);
    // Nodes are asked what is final once a minute, and a lone node has to say it twice.
    expect((final - network.finalBlocks) * network.blockTimeMs).toBeLessThanOrEqual(180_000);
  });
});

describe('Tron, with blocks every 3 s and polls every 6 s', () => {
  const tron: Network = { blockTimeMs: 3_000, arrivesMs: [200, 900], finalBlocks: 19, family: TRON };

  test('takes 4 calls a poll on average while no payment waits, and 2 more in a poll that finality rises in', async () => {
    const { callsAnHour, mostOfPoll, calls } = await followFor({ ...tron, isIdle: true }, 1, HOUR_MS);
    if (process.env.SHOW_CALLS === '1') console.log({ callsAnHour, mostOfPoll, calls });
    expect(mostOfPoll).toBeLessThanOrEqual(6);
    expect(callsAnHour).toBeLessThanOrEqual(2_400);
  });

  test('takes at most 2,800 calls an hour while payments wait for finality', async () => {
    const { callsAnHour, calls, final } = await followFor(tron, 1, HOUR_MS);
    if (process.env.SHOW_CALLS === '1') console.log({ callsAnHour, final, calls });
    expect(callsAnHour).toBeLessThanOrEqual(2_800);
    expect(final).toBeLessThanOrEqual(19 + 15);
  });
});
