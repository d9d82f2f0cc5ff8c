import { expect, test } from 'bun:test';
import { evmIdentity } from '../../../src/chain/evm/identity.ts';
import { blockAt, chainId, logsOf, receiptOf, taggedBlock } from '../../../src/chain/evm/rpc/calls.ts';
import type { Call } from '../../../src/chain/rpc/call.ts';
import { RpcFailure } from '../../../src/chain/rpc/failures.ts';
import type { Exchange } from '../../../src/chain/rpc/http-exchange.ts';
import { Node, type NodeOptions } from '../../../src/chain/rpc/node.ts';
import { contractCall } from '../../support/chain/contract-call.ts';
import { TestClock } from '../../support/chain/followed-chain.ts';
import { addressOf, wordOf } from '../../support/chain/model-chain.ts';
import { rejection } from '../../support/rejection.ts';

type Request = { id: number; method: string; params: unknown[] };
type Answer = (request: Request) => object;

const LOGS = logsOf({ fromBlock: 1, toBlock: 5, addresses: [], topics: [] });
const HEADER = { number: '0x5', hash: wordOf(0xb5), timestamp: '0x1' };

const sound: Answer = ({ id, method }) => ({
  jsonrpc: '2.0',
  id,
  result: method === 'eth_chainId' ? '0x1' : method === 'eth_getLogs' ? [] : HEADER,
});

/** A node that answers each call by itself. */
const each =
  (answer: Answer): Exchange =>
  async (payload) =>
    Array.isArray(payload) ? (payload as Request[]).map(answer) : answer(payload as Request);

function nodeWith(exchange: Exchange, options: Partial<NodeOptions> = {}): { node: Node; clock: TestClock } {
  const clock = new TestClock();
  const all = { name: '1#1', identity: evmIdentity(1), exchange, clock, random: () => 1, dateMs: () => 77, ...options };
  return { node: new Node(all), clock };
}

const fails = (kind: 'unreachable' | 'rate_limited' | 'too_large', retryAfterMs?: number): Exchange => {
  return () => Promise.reject(new RpcFailure(kind, { retryAfterMs: retryAfterMs ?? null }));
};

test('the calls of a batch find their results, in whatever order they come', async () => {
  const exchange: Exchange = async (payload) => (payload as Request[]).map(sound).reverse();
  const { node } = nodeWith(exchange);
  const [head, logs] = [taggedBlock('latest'), logsOf({ fromBlock: 1, toBlock: 5, addresses: [], topics: [] })];
  const outcomes = await node.send([head, logs]);
  expect(outcomes.value(head)).toEqual({ number: 5, hash: wordOf(0xb5), parentHash: null, timestampS: 1 });
  expect(outcomes.value(logs)).toEqual([]);
});

test('a call without a reply is sent alone', async () => {
  const sent: unknown[] = [];
  const exchange: Exchange = async (payload) => {
    sent.push(payload);
    return Array.isArray(payload) ? payload.map(sound).slice(0, -1) : sound(payload as Request);
  };
  const { node } = nodeWith(exchange);
  const calls = [taggedBlock('latest'), taggedBlock('safe')];
  const outcomes = await node.send(calls);
  expect(calls.map((call) => outcomes.failure(call))).toEqual([null, null]);
  expect(sent.at(-1)).toMatchObject({ params: ['safe', false] });
});

test('answers for which the node had no room in a batch are asked for alone, and its batches stay large', async () => {
  const sizes: number[] = [];
  const { node } = nodeWith(async (payload) => {
    if (!Array.isArray(payload)) return sound(payload as Request);
    sizes.push(payload.length);
    return (payload as Request[]).map((request) =>
      request.params[0] === 'safe' ? { id: request.id, error: { code: -32003 } } : sound(request),
    );
  });
  const calls = [taggedBlock('latest'), taggedBlock('safe')];
  for (let time = 0; time < 5; time++) {
    const outcomes = await node.send(calls);
    expect(calls.map((call) => outcomes.failure(call))).toEqual([null, null]);
  }
  expect(sizes).toEqual([3, 2, 2, 2, 2]);
  expect(node.batchSize).toBe(100);
});

test('a node that answers neither a batch nor its first call has failed, and its batches stay large', async () => {
  for (let time = 0; time < 5; time++) {
    const exchange: Exchange = async (payload) => {
      if (Array.isArray(payload)) throw new RpcFailure('http_status', { status: 500 });
      return { hello: 'world' };
    };
    const { node } = nodeWith(exchange);
    expect(await rejection(node.send([taggedBlock('latest'), LOGS]))).toMatchObject({ kind: 'garbage' });
    expect(node.contact).toMatchObject({ state: 'failing', limits: { batch: null } });
  }
});

test.each([
  ['null', null],
  ['a text', 'hello'],
  ['an empty list', []],
  ['replies without ids', [{ jsonrpc: '2.0' }]],
  ['an object', { hello: 'world' }],
  ['more replies than calls', Array.from({ length: 9 }, (_, id) => ({ id, result: '0x1' }))],
  ['lists in a list', [[], [], []]],
])('a body of %s is garbage', async (_, body) => {
  const { node } = nodeWith(async () => body);
  expect(await rejection(node.send([taggedBlock('latest'), taggedBlock('safe')]))).toMatchObject({ kind: 'garbage' });
  expect(node.contact).toMatchObject({ state: 'failing', lastError: 'garbage' });
});

test('one call that is refused among others is the failure of that call alone', async () => {
  const answer: Answer = (request) =>
    request.params[0] === 'finalized' ? { id: request.id, error: { code: -32000, message: 'x' } } : sound(request);
  const { node } = nodeWith(each(answer));
  const [head, finalized] = [taggedBlock('latest'), taggedBlock('finalized')];
  const outcomes = await node.send([head, finalized]);
  expect(outcomes.failure(finalized)).toMatchObject({ kind: 'rpc_error', code: -32000 });
  expect(node.contact.state).toBe('ok');
});

test('a contract that reverts says nothing about the node', async () => {
  const answer: Answer = (request) =>
    request.method === 'eth_call' ? { id: request.id, error: { code: 3 } } : sound(request);
  const { node } = nodeWith(each(answer));
  const call = contractCall(addressOf(1), '0x313ce567');
  await node.send([taggedBlock('latest')]);
  expect((await node.send([call])).failure(call)).toMatchObject({ kind: 'rpc_error', code: 3 });
  expect(node.contact.state).toBe('ok');
});

test('a node that refuses every call of a batch is failing', async () => {
  const { node } = nodeWith(
    each(({ id, method }) => (method === 'eth_chainId' ? sound({ id, method, params: [] }) : { id, error: {} })),
  );
  expect(await rejection(node.send([taggedBlock('latest'), taggedBlock('safe')]))).toMatchObject({ kind: 'rpc_error' });
  expect(node.contact.state).toBe('failing');
});

test('a node that answers a batch with one error gets its calls one by one after the third time', async () => {
  const payloads: unknown[] = [];
  const { node } = nodeWith(async (payload) => {
    payloads.push(payload);
    return Array.isArray(payload) ? { id: null, error: { code: -32600 } } : sound(payload as Request);
  });
  const calls = [taggedBlock('latest'), taggedBlock('safe')];
  for (let time = 0; time < 2; time++) {
    const outcomes = await node.send(calls);
    expect(calls.map((call) => outcomes.failure(call))).toEqual([null, null]);
  }
  expect(payloads.map(Array.isArray)).toEqual([true, false, true, false, false, true, false, false]);
  payloads.length = 0;
  await node.send(calls);
  expect(payloads.map(Array.isArray)).toEqual([false, false]);
  expect(node.contact.state).toBe('ok');
});

test.each([429, -32005])('every call refused with %d is a rate limit', async (code) => {
  const refusals: Exchange[] = [async () => ({ error: { code } }), each(({ id }) => ({ id, error: { code } }))];
  for (const exchange of refusals) {
    const { node } = nodeWith(exchange);
    const error = await rejection(node.send([taggedBlock('latest'), taggedBlock('safe')]));
    expect(error.message).toMatch(/rate_limited|rpc_error/);
    expect(node.contact.state).toBe('failing');
  }
});

test('a result that is not what was asked for is garbage', async () => {
  const calls: [Call<unknown>, unknown][] = [
    [blockAt(4), HEADER],
    [receiptOf(wordOf(1)), { transactionHash: wordOf(2), blockNumber: '0x1', blockHash: wordOf(9), logs: [] }],
    [chainId(), 'one'],
  ];
  for (const [call, result] of calls) {
    const { node } = nodeWith(each((request) => (request.id === 1 ? sound(request) : { id: request.id, result })));
    expect((await node.send([call])).failure(call)).toMatchObject({ kind: 'garbage' });
  }
});

test('a log outside of the blocks that were asked for is garbage', async () => {
  const log = {
    ...{ blockNumber: '0x9', blockHash: wordOf(9), transactionHash: wordOf(8), logIndex: '0x0' },
    ...{ address: addressOf(1), topics: [], data: '0x' },
  };
  const answer: Answer = (request) =>
    request.method === 'eth_getLogs' ? { id: request.id, result: [log] } : sound(request);
  const { node } = nodeWith(each(answer));
  const [inside, outside] = [9, 8].map((toBlock) => logsOf({ fromBlock: 1, toBlock, addresses: [], topics: [] }));
  if (inside === undefined || outside === undefined) throw new Error('There are two filters');
  const outcomes = await node.send([inside, outside]);
  expect(outcomes.value(inside)).toHaveLength(1);
  expect(outcomes.failure(outside)).toMatchObject({ kind: 'garbage' });
});

test('a node on another network is not believed, and is asked again after a while', async () => {
  let id = '0x89';
  const { node, clock } = nodeWith(
    each((request) => ({ ...sound(request), ...(request.method === 'eth_chainId' ? { result: id } : {}) })),
  );
  expect(await rejection(node.send([taggedBlock('latest')]))).toMatchObject({ kind: 'wrong_chain' });
  expect(node.contact).toMatchObject({ state: 'wrong_chain', lastError: 'wrong_chain' });
  expect(node.waitMs).toBe(60_000);
  id = '0x1';
  clock.ms += 60_000;
  await node.send([taggedBlock('latest')]);
  expect(node.contact.state).toBe('ok');
});

test('the network is asked for once, and again after a failure', async () => {
  const methods: string[] = [];
  let isDown = false;
  const { node } = nodeWith(async (payload) => {
    if (isDown) throw new RpcFailure('unreachable');
    const requests = (Array.isArray(payload) ? payload : [payload]) as Request[];
    methods.push(requests.map(({ method }) => method.slice(4)).join(' '));
    return Array.isArray(payload) ? requests.map(sound) : requests.map(sound)[0];
  });
  await node.send([taggedBlock('latest')]);
  await node.send([taggedBlock('latest')]);
  isDown = true;
  await rejection(node.send([taggedBlock('latest')]));
  isDown = false;
  await node.send([taggedBlock('latest')]);
  const first = 'chainId getBlockByNumber';
  expect(methods).toEqual([first, 'getBlockByNumber', first]);
});

test('the back-off doubles with each failure up to a minute, with jitter, and ends with a success', async () => {
  let exchange = fails('unreachable');
  const waits: number[] = [];
  let random = 1;
  const { node, clock } = nodeWith((payload) => exchange(payload), { random: () => random });
  for (let failure = 0; failure < 9; failure++) {
    await rejection(node.send([taggedBlock('latest')]));
    waits.push(node.waitMs);
  }
  expect(waits).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
  random = 0;
  await rejection(node.send([taggedBlock('latest')]));
  expect(node.waitMs).toBe(30_000);
  exchange = each(sound);
  clock.ms += 30_000;
  await node.send([taggedBlock('latest')]);
  expect(node.contact).toMatchObject({ name: '1#1', state: 'ok', lastError: 'unreachable', lastOkAtMs: 77 });
});

test('a Retry-After that is longer than the back-off is obeyed', async () => {
  const { node } = nodeWith(fails('rate_limited', 45_000));
  await rejection(node.send([taggedBlock('latest')]));
  expect(node.waitMs).toBe(45_000);
});

test('a call with a small answer to one of several nodes may take 3 s, and any other call as long as the exchange allows', async () => {
  for (const hasOthers of [true, false]) {
    const limits: (number | undefined)[] = [];
    const exchange: Exchange = async (payload, _, timeoutMs) => {
      limits.push(timeoutMs);
      return each(sound)(payload);
    };
    const { node } = nodeWith(exchange, { hasOthers });
    await node.send([taggedBlock('latest')]);
    await node.send([taggedBlock('latest'), LOGS]);
    expect(limits).toEqual([hasOthers ? 3_000 : undefined, undefined]);
  }
});

test('a response with too many logs does not keep the node from being asked for less', async () => {
  const { node } = nodeWith(fails('too_large'));
  expect(await rejection(node.send([taggedBlock('latest'), LOGS]))).toMatchObject({ kind: 'too_large' });
  expect(node.waitMs).toBe(0);
});

test('a node that sends too much for a call with a small answer is failing', async () => {
  const { node } = nodeWith(fails('too_large'));
  expect(await rejection(node.send([taggedBlock('latest')]))).toMatchObject({ kind: 'garbage' });
  expect(node.contact).toMatchObject({ state: 'failing', lastError: 'garbage' });
});

test('16 MB are read of logs, receipts and whole blocks, and 1 MB of any other answer', async () => {
  const limits: (number | undefined)[] = [];
  const { node } = nodeWith(async (payload, maxBytes) => {
    limits.push(maxBytes);
    return each(sound)(payload);
  });
  const wholeBlock = { method: 'eth_getBlockByNumber', params: ['0x5', true], read: () => null };
  await node.send([]);
  await node.send([taggedBlock('latest')]);
  for (const call of [LOGS, receiptOf(wordOf(1)), wholeBlock]) await node.send([taggedBlock('latest'), call]);
  const MB = 1024 * 1024;
  expect(limits).toEqual([MB, MB, 16 * MB, 16 * MB, 16 * MB]);
});

test('no more calls a second than are allowed reach a node, those inside of batches among them', async () => {
  const at: number[] = [];
  const clock = new TestClock();
  const exchange: Exchange = async (payload) => {
    const requests = (Array.isArray(payload) ? payload : [payload]) as Request[];
    for (const _ of requests) at.push(clock.ms);
    return Array.isArray(payload) ? requests.map(sound) : requests.map(sound)[0];
  };
  const { node } = nodeWith(exchange, { clock, callsPerSecond: 10 });
  for (let batch = 0; batch < 40; batch++) {
    await node.send([taggedBlock('latest'), taggedBlock('safe')].slice(0, 1 + (batch % 2)));
  }
  expect(at).toHaveLength(61);
  // The bucket is full in the beginning.
  for (let call = 20; call < at.length; call++) {
    const [then = 0, now = 0] = [at[call - 11], at[call]];
    expect(now - then).toBeGreaterThanOrEqual(800);
  }
  expect(clock.ms).toBeGreaterThanOrEqual(5_000);
  expect(clock.ms).toBeLessThan(6_000);
});

test('each call is counted with its node, method, purpose and outcome', async () => {
  const seen: string[] = [];
  const onCall: NodeOptions['onCall'] = (...call) => seen.push(call.join(' '));
  const { node } = nodeWith(
    each((request) => (request.method === 'eth_getLogs' ? { id: request.id, error: { code: 1 } } : sound(request))),
    { onCall },
  );
  await node.send([taggedBlock('latest'), logsOf({ fromBlock: 1, toBlock: 2, addresses: [], topics: [] })], 'tail');
  const down = nodeWith(fails('unreachable'), { onCall });
  await rejection(down.node.send([taggedBlock('latest')]));
  expect(seen).toEqual([
    '1#1 eth_chainId other ok',
    '1#1 eth_getBlockByNumber tail ok',
    '1#1 eth_getLogs tail rpc_error',
    '1#1 eth_chainId other unreachable',
    '1#1 eth_getBlockByNumber other unreachable',
    '1#1 eth_chainId other unreachable',
  ]);
});
