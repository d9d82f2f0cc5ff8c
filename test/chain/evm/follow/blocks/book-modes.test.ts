import { expect, test } from 'bun:test';
import { BookModes } from '../../../../../src/chain/evm/follow/blocks/book-modes.ts';
import { readBlocks } from '../../../../../src/chain/evm/follow/blocks/read-blocks.ts';
import { evmIdentity } from '../../../../../src/chain/evm/identity.ts';
import { Node } from '../../../../../src/chain/rpc/node.ts';
import { AddressSet } from '../../../../../src/store/chain/addresses/address-set.ts';
import type { FollowedSource } from '../../../../../src/store/chain/network-store.ts';
import { addressOf, ModelChain } from '../../../../support/chain/model-chain.ts';
import { modelSource, TOPIC } from '../../../../support/chain/model-decoder.ts';
import { ModelNode } from '../../../../support/chain/model-node.ts';

const wordOf = (number: number) => `0x${number.toString(16).padStart(64, '0')}`;

/** A source with this number of addresses, from the first one on. */
function withBook(count: number, first = 1, sourceId = 'src_1'): FollowedSource {
  const addresses = new AddressSet();
  for (let number = first; number < first + count; number++) addresses.add(`0x${wordOf(number).slice(26)}`);
  return modelSource({ sourceId, book: { place: 1, group: 'usdc', addresses, groupAddresses: addresses } });
}

test('a small book is asked for by its addresses', () => {
  const modes = new BookModes();
  expect(modes.choose([withBook(9)], 1)).toEqual(new Set());
});

test('a book is read widely once to measure, and then if that needs fewer bytes', () => {
  const modes = new BookModes();
  const source = withBook(100);
  expect(modes.choose([source], 1)).toEqual(new Set(['usdc']));
  modes.noteReceived('usdc', 1, 11);
  expect(modes.choose([source], 1)).toEqual(new Set());
  // Twice the addresses: 11 logs cost less than asking for them.
  expect(modes.choose([withBook(200)], 1)).toEqual(new Set(['usdc']));
  expect(modes.choose([withBook(200)], 2)).toEqual(new Set());
});

test('the measurement reads few blocks, and is repeated after many narrow readings', () => {
  const modes = new BookModes();
  const source = withBook(100);
  expect(modes.choose([source], 1_000)).toEqual(new Set());
  modes.noteReceived('usdc', 1, 1_000);
  for (let reading = 0; reading < 256; reading++) expect(modes.choose([source], 1)).toEqual(new Set());
  expect(modes.choose([source], 1)).toEqual(new Set(['usdc']));
  modes.noteReceived('usdc', 1, 1);
  expect(modes.choose([source], 1)).toEqual(new Set(['usdc']));
});

test('the first polls measure, although they read the tail too, and after a refusal fewer blocks', () => {
  const modes = new BookModes();
  const source = withBook(2_500);
  const isWide = (blocks: number) => modes.choose([source], blocks).size === 1;
  expect([7, 16, 17].map(isWide)).toEqual([true, true, false]);
  modes.noteRefused('usdc', 7);
  expect([7, 4, 3].map(isWide)).toEqual([false, false, true]);
  modes.noteRefused('usdc', 1);
  expect([3, 1].map(isWide)).toEqual([false, false]);
  for (let reading = 0; reading < 256; reading++) isWide(7);
  expect(isWide(7)).toBe(true);
  modes.noteReceived('usdc', 7, 70);
  expect(isWide(7)).toBe(true);
});

test('a book of more than four calls is read widely up to 4 MB of logs', () => {
  const modes = new BookModes();
  const sources = [withBook(2_000), withBook(2_001, 5_000, 'src_2')];
  modes.choose(sources, 1);
  modes.noteReceived('usdc', 1, 6_000);
  expect(modes.choose(sources, 1)).toEqual(new Set(['usdc']));
  modes.noteReceived('usdc', 1, 60_000);
  expect(modes.choose(sources, 1)).toEqual(new Set());
});

test('the practice network is asked for the addresses, because it pays them', () => {
  expect(new BookModes(true).choose([withBook(5_000)], 1)).toEqual(new Set());
});

function network(options: { mostLogs?: number } = {}) {
  const chain = new ModelChain();
  chain.mineEmpty(3);
  const log = (payee: number) => ({ address: addressOf(1), topics: [TOPIC, wordOf(payee)], data: '0x01' });
  chain.mine(Array.from({ length: 40 }, (_, n) => chain.transaction({ logs: [log(n + 1)] })));
  const model = new ModelNode(chain, { chainId: 1 });
  const filters: { topics: unknown[] }[] = [];
  const exchange = async (payload: unknown) => {
    const calls = (Array.isArray(payload) ? payload : [payload]) as { id: number; method: string; params: unknown[] }[];
    const asked = calls.flatMap(({ method, params }) =>
      method === 'eth_getLogs' ? (params[0] as { topics: unknown[] }) : [],
    );
    filters.push(...asked);
    const isWide = asked.some(({ topics }) => topics.length === 1);
    if (isWide && options.mostLogs !== undefined) {
      const error = { code: -32_602, message: 'too many results' };
      const replies = (await model.exchange(calls)) as { id: number }[];
      const isLogs = (id: number) => calls.find((one) => one.id === id)?.method === 'eth_getLogs';
      const refused = replies.map((reply) => (isLogs(reply.id) ? { jsonrpc: '2.0', id: reply.id, error } : reply));
      return Array.isArray(payload) ? refused : refused[0];
    }
    return model.exchange(payload);
  };
  const clock = { nowMs: () => 0, sleep: () => Promise.resolve() };
  const node = new Node({ name: '1#1', identity: evmIdentity(1), exchange, clock, callsPerSecond: 1_000_000 });
  return { chain, node, filters };
}

const payeesOf = (reading: Awaited<ReturnType<typeof readBlocks>>) =>
  typeof reading === 'string' ? reading : reading.logs.map(({ topics }) => Number(topics[1]));

test('a wide reading has the logs of the book alone', async () => {
  const { chain, node, filters } = network();
  const modes = new BookModes();
  const blocks = { from: chain.head, to: chain.head, check: null, modes };
  expect(payeesOf(await readBlocks(node, { ...blocks, sources: [withBook(10, 31)] }))).toEqual(
    Array.from({ length: 10 }, (_, n) => n + 31),
  );
  expect(filters).toMatchObject([{ topics: [[TOPIC]] }]);
  // 40 logs are more than 10 addresses are worth.
  expect(payeesOf(await readBlocks(node, { ...blocks, sources: [withBook(10, 31)] }))).toHaveLength(10);
  expect(filters.at(-1)?.topics[1]).toHaveLength(10);
});

test('a wide reading keeps the logs of a source without a book on the same contract', async () => {
  const { chain, node } = network();
  const sources = [withBook(10, 31), modelSource({ sourceId: 'src_all', entityId: 'other' })];
  const blocks = { from: chain.head, to: chain.head, check: null, modes: new BookModes() };
  expect(payeesOf(await readBlocks(node, { ...blocks, sources }))).toHaveLength(40);
});

test('a node that refuses all logs is asked for the addresses, and its range stays', async () => {
  const { chain, node, filters } = network({ mostLogs: 10 });
  const modes = new BookModes();
  const blocks = { from: chain.head - 1, to: chain.head, check: null, modes, sources: [withBook(10, 31)] };
  expect(payeesOf(await readBlocks(node, blocks))).toHaveLength(10);
  expect(filters.map(({ topics }) => topics.length)).toEqual([1, 2]);
  expect(node.logRange.limit).toBeNull();
  expect(modes.choose(blocks.sources, 2)).toEqual(new Set());
  // Two blocks may only have been too many to measure.
  expect(modes.choose(blocks.sources, 1)).toEqual(new Set(['usdc']));
});

test('a book of 2,500 addresses takes three filters of at most 1,000', async () => {
  const { chain, node, filters } = network();
  await readBlocks(node, { from: chain.head, to: chain.head, check: null, sources: [withBook(2_500)] });
  expect(filters.map(({ topics }) => (topics[1] as unknown[]).length)).toEqual([1_000, 1_000, 500]);
});
