import { expect, test } from 'bun:test';
import { blockAt, logsOf, taggedBlock } from '../../../src/chain/evm/rpc/calls.ts';
import { type Exchange, httpExchange } from '../../../src/chain/rpc/http-exchange.ts';
import { Node } from '../../../src/chain/rpc/node.ts';
import { TRON } from '../../../src/chain/tron/family.ts';
import { rejection } from '../../support/rejection.ts';

const NETWORK = 728_126_428;
const HASH = `0x${'0'.repeat(15)}5${'b5'.repeat(24)}`;
const HEADER = { number: '0x5', hash: HASH, parentHash: HASH, timestamp: '0x1' };

type Request = { readonly id: number; readonly method: string };

function nodeWith(exchange: Exchange): Node {
  return new Node({ name: 'tron#1', identity: TRON.identity(NETWORK), dialect: TRON.dialect, exchange });
}

/** Answers the question for the network, and everything else as told. */
function answering(answer: (request: Request) => object): Exchange {
  const each = (request: Request) =>
    request.method === 'eth_chainId'
      ? { id: request.id, result: '0x2b6653dc' }
      : { id: request.id, ...answer(request) };
  return async (payload) => (Array.isArray(payload) ? (payload as Request[]).map(each) : each(payload as Request));
}

test('a body with Error and no result is a rate limit', async () => {
  const node = nodeWith(async () => ({ Error: 'class com.…: request rate exceeded' }));
  expect(await rejection(node.send([taggedBlock('latest')]))).toMatchObject({ kind: 'rate_limited' });
  expect(node.contact.lastError).toBe('rate_limited');
});

test('-32005 of one call is a refusal and not a rate limit', async () => {
  const node = nodeWith(answering(() => ({ error: { code: -32_005 } })));
  const call = logsOf({ fromBlock: 1, toBlock: 9, addresses: [], topics: [] });
  expect((await node.send([call])).failure(call)).toMatchObject({ kind: 'rpc_error', code: -32_005 });
  expect(node.contact.state).toBe('ok');
});

test('-32005 for a whole batch makes batches smaller', async () => {
  const sizes: number[] = [];
  const single = answering(() => ({ result: HEADER }));
  const node = nodeWith(async (payload) => {
    const calls = Array.isArray(payload) ? payload.length : 1;
    sizes.push(calls);
    return calls > 3 ? { id: null, error: { code: -32_005 } } : single(payload);
  });
  for (let attempt = 0; attempt < 3; attempt++) {
    await node.send(Array.from({ length: 20 }, () => blockAt(5)));
  }
  expect(node.batchSize).toBe(3);
  expect(node.contact.state).toBe('ok');
});

test('the key of a provider is sent as a header and is in no URL', async () => {
  const sent: { url: string; headers: Headers }[] = [];
  const exchange = httpExchange({
    url: 'https://node.example.com/jsonrpc#TRON-PRO-API-KEY=s3cret',
    fetch: async (url, { headers }) => {
      sent.push({ url, headers: new Headers(headers) });
      return Response.json([]);
    },
  });
  await exchange([]);
  expect(sent[0]?.url).toBe('https://node.example.com/jsonrpc');
  expect(sent[0]?.headers.get('tron-pro-api-key')).toBe('s3cret');
});

test('a node of another network is never read', async () => {
  const node = nodeWith(async (payload) => (payload as Request[]).map(({ id }) => ({ id, result: '0xcd8690dc' })));
  expect(await rejection(node.send([taggedBlock('latest')]))).toMatchObject({ kind: 'wrong_chain' });
});
