import { describe, expect, test } from 'bun:test';
import { compileSource, topicsOf } from '../../../src/chain/evm/decode/definition/compile-source.ts';
import { evmIdentity } from '../../../src/chain/evm/identity.ts';
import { EvmReader } from '../../../src/chain/evm/reader.ts';
import { blockAt, logsOf, receiptOf, taggedBlock } from '../../../src/chain/evm/rpc/calls.ts';
import type { Log } from '../../../src/chain/evm/rpc/types.ts';
import { Follower } from '../../../src/chain/follow/follower.ts';
import { practiceExchange } from '../../../src/chain/practice/practice-exchange.ts';
import type { Call } from '../../../src/chain/rpc/call.ts';
import { Node } from '../../../src/chain/rpc/node.ts';
import { Nodes } from '../../../src/chain/rpc/nodes.ts';
import { PRACTICE_ADDRESS, PRACTICE_NETWORK, PRACTICE_TOKEN } from '../../../src/domain/chain/practice.ts';
import { contractCall } from '../../support/chain/contract-call.ts';
import { TestClock } from '../../support/chain/followed-chain.ts';
import { definitionOf, library, PAYEE, PAYER, sourceOf, testDecoder, word } from '../../support/chain/logs.ts';
import { MemoryStore } from '../../support/chain/memory-store.ts';

/** Blocks and payments that follow from the time alone. */

const START_MS = 1_767_225_600_000;
const BLOCK_MS = 2_000;
const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';

/** A node whose newest block is the given one. Each is another process. */
function nodeAt(head: () => number): Node {
  const exchange = practiceExchange({ dateMs: () => START_MS + head() * BLOCK_MS });
  return new Node({ name: '0#1', identity: evmIdentity(PRACTICE_NETWORK), exchange, callsPerSecond: 1_000_000 });
}

async function ask<Result>(head: number, call: Call<Result>): Promise<Result> {
  return (await nodeAt(() => head).send([call])).value(call);
}

const paidTo = (fromBlock: number, toBlock: number, ...receivers: string[]) =>
  logsOf({
    ...{ fromBlock, toBlock, addresses: [PRACTICE_TOKEN] },
    topics: [[TRANSFER], null, receivers.map((receiver) => word(BigInt(receiver)))],
  });

describe('the practice network', () => {
  test('has blocks that follow each other at every head, and are final six blocks later', async () => {
    for (let head = 98; head <= 112; head++) {
      const headers = [];
      for (let number = 95; number <= head; number++) headers.push(await ask(head, blockAt(number)));
      for (const [place, header] of headers.entries()) {
        if (place > 0) expect(header?.parentHash).toBe(headers[place - 1]?.hash ?? '');
      }
      expect(await ask(head, blockAt(head + 1))).toBeNull();
      expect((await ask(head, taggedBlock('latest')))?.number).toBe(head);
      expect((await ask(head, taggedBlock('finalized')))?.number).toBe(head - 6);
    }
  });

  test('never replaces a block that it has called final', async () => {
    for (let head = 100; head <= 130; head++) {
      for (let number = 90; number <= head - 6; number++) {
        expect((await ask(head, blockAt(number)))?.hash).toBe((await ask(500, blockAt(number)))?.hash ?? '');
      }
    }
  });

  test('pays every address that is asked for in each tenth block, in the same way whoever asks', async () => {
    const both = await ask(500, paidTo(191, 220, PAYEE, PAYER));
    expect(both.map(({ blockNumber }) => blockNumber)).toEqual([200, 200, 210, 210, 220, 220]);
    const alone = await ask(260, paidTo(200, 200, PAYEE));
    expect(both.filter(({ transactionHash }) => transactionHash === alone[0]?.transactionHash)).toEqual(alone);
    expect(new Set(both.map(({ transactionHash }) => transactionHash)).size).toBe(6);
    const receipt = await ask(260, receiptOf(alone[0]?.transactionHash ?? ''));
    expect(receipt?.logs).toEqual(alone);
  });

  test('undoes one payment in a hundred blocks three blocks later', async () => {
    const [undone] = await ask(107, paidTo(101, 107, PAYEE));
    expect(undone?.blockNumber).toBe(105);
    const hash = undone?.transactionHash ?? '';
    expect(await ask(107, receiptOf(hash))).not.toBeNull();
    expect(await ask(108, receiptOf(hash))).toBeNull();
    expect(await ask(108, paidTo(101, 108, PAYEE))).toEqual([]);
    const inBlock = { ...{ fromBlock: 105, toBlock: 105 }, blockHash: undone?.blockHash ?? '' };
    const gone = logsOf({ ...inBlock, addresses: [PRACTICE_TOKEN], topics: [[TRANSFER]] });
    expect((await nodeAt(() => 108).send([gone])).failure(gone)?.code).toBe(-32_000);
  });

  test('has one token, with six decimals, and no other contract, payer or event', async () => {
    expect(Number(await ask(500, contractCall(PRACTICE_TOKEN, '0x313ce567')))).toBe(6);
    const all = { fromBlock: 200, toBlock: 200 };
    expect(await ask(500, logsOf({ ...all, addresses: [PAYEE], topics: [[TRANSFER]] }))).toEqual([]);
    expect(await ask(500, logsOf({ ...all, addresses: [PRACTICE_TOKEN], topics: [[word(1)]] }))).toEqual([]);
    const from = [[TRANSFER], [word(BigInt(PAYEE))]];
    expect(await ask(500, logsOf({ ...all, addresses: [PRACTICE_TOKEN], topics: from }))).toEqual([]);
    const any = await ask(500, logsOf({ ...all, addresses: [PRACTICE_TOKEN], topics: [[TRANSFER]] }));
    expect(any.map(({ topics }) => topics[2])).toEqual([word(BigInt(PRACTICE_ADDRESS))]);
    for (const hash of [`0x${'1'.repeat(64)}`, any[0]?.transactionHash.replace(/.{8}$/, '000000c9') ?? '']) {
      expect(await ask(500, receiptOf(hash))).toBeNull();
    }
  });

  test('refuses ranges and lists that are too long, as providers do', async () => {
    const addresses = Array.from({ length: 1_000 }, (_, n) => `0x${n.toString(16).padStart(40, '0')}`);
    for (const call of [paidTo(1, 10_001, PAYEE), paidTo(1, 200, ...addresses)]) {
      expect((await nodeAt(() => 50_000).send([call])).failure(call)?.kind).toBe('rpc_error');
    }
  });

  test('keeps the payments of half an hour to an hour, and every receipt', async () => {
    for (const head of [1_799, 1_800, 50_000, 50_399, 50_400]) {
      const [first] = await ask(head, paidTo(Math.max(0, head - 9_000), head, PAYEE));
      expect(head - (first?.blockNumber ?? 0)).toBeWithin(900, 1_801);
    }
    const [old] = await ask(260, paidTo(200, 200, PAYEE));
    expect((await ask(50_000, receiptOf(old?.transactionHash ?? '')))?.logs).toEqual([old as Log]);
  });
});

/** A follower of the network, whose newest block the test sets. */
function follow(start: number) {
  const clock = new TestClock();
  const at = { head: start };
  const definition = definitionOf({
    ...{ networkId: PRACTICE_NETWORK, preset: 'erc20', contract: PRACTICE_TOKEN },
    where: { to: [PAYEE] },
  });
  const compiled = compileSource(definition, library);
  if (!compiled.isValid) throw new Error('the definition is wrong');
  const source = sourceOf(definition, { topics: [null, ...topicsOf(compiled.source)], fromBlock: start + 1 });
  const store = new MemoryStore({ sources: [source], startBlock: start + 1 });
  store.nowMs = () => START_MS + at.head * BLOCK_MS;
  const follower = new Follower({
    ...{ store, clock, networkId: PRACTICE_NETWORK, finalityDepth: null, graceBlocks: 3, leastDepth: 1, quorum: null },
    nodes: new Nodes([nodeAt(() => at.head)]),
    reader: new EvmReader(testDecoder().decoder),
  });
  const pollUntil = async (last: number) => {
    for (; at.head < last; at.head++, clock.ms += BLOCK_MS) await follower.poll();
  };
  return { at, store, pollUntil };
}

test('a follower of it makes every payment final but those that are undone, which it retracts', async () => {
  const { store, pollUntil } = follow(96);
  await pollUntil(240);
  const states = [...store.facts.values()].map(({ state, position }) => [position?.blockNumber ?? null, state]);
  const isPaid = (block: number) => states.some(([number, state]) => number === block && state === 'final');
  expect(Array.from({ length: 13 }, (_, n) => 100 + n * 10).filter((block) => !isPaid(block))).toEqual([]);
  expect(states.filter(([, state]) => state === 'retracted')).toHaveLength(2);
  expect(store.state.haltedAtMs).toBeNull();
});

test('a follower that was stopped for a day reads the newest payments, and makes the last one that it saw final', async () => {
  const { at, store, pollUntil } = follow(195);
  await pollUntil(203);
  expect([...store.facts.values()].map(({ state }) => state)).toEqual(['seen']);
  at.head += 43_200;
  await pollUntil(at.head + 60);
  const facts = [...store.facts.values()];
  expect(facts[0]).toMatchObject({ state: 'final', position: { blockNumber: 200 } });
  expect(facts.length).toBeWithin(90, 190);
  expect(store.state.haltedAtMs).toBeNull();
});
