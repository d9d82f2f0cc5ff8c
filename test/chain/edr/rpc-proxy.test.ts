import { describe, expect, test } from 'bun:test';
import { EdrChain } from '../../support/chain/edr-chain.ts';
import { type Behaviour, RpcProxy } from '../../support/chain/rpc-proxy.ts';
import { rejection } from '../../support/rejection.ts';

type Answer = { id: number; result?: unknown; error?: { code: number; message: string } };

async function post(proxy: RpcProxy, body: unknown, signal: AbortSignal | null = null): Promise<Response> {
  return fetch(proxy.url, { method: 'POST', body: JSON.stringify(body), signal });
}

async function call(proxy: RpcProxy, method: string, ...params: unknown[]): Promise<Answer> {
  return (await (await post(proxy, { jsonrpc: '2.0', id: 7, method, params })).json()) as Answer;
}

async function heightOf(proxy: RpcProxy, at: string): Promise<number | null> {
  const { result } = await call(proxy, 'eth_getBlockByNumber', at, false);
  return result === null ? null : Number((result as { number: string }).number);
}

async function startBehind(behaviour: Partial<Behaviour> = {}): Promise<{ chain: EdrChain; proxy: RpcProxy }> {
  const chain = await EdrChain.start();
  return { chain, proxy: new RpcProxy(chain.rpc, behaviour) };
}

describe('the node in front of a chain', () => {
  test('has its tags at a distance, at a block, or not at all', async () => {
    const { chain, proxy: node } = await startBehind({ safe: 4, finalized: 10 });
    await using proxy = node;
    await chain.mine(3);
    expect(await Promise.all(['safe', 'finalized'].map((tag) => heightOf(proxy, tag)))).toEqual([0, 0]);
    await chain.mine(27);
    expect(await Promise.all(['latest', 'safe', 'finalized'].map((tag) => heightOf(proxy, tag)))).toEqual([30, 26, 20]);
    proxy.behaviour.finalized = { block: 12 };
    proxy.behaviour.safe = 'null';
    expect(await Promise.all(['safe', 'finalized'].map((tag) => heightOf(proxy, tag)))).toEqual([null, 12]);
    proxy.behaviour.finalized = 'error';
    expect((await call(proxy, 'eth_getBlockByNumber', 'finalized', false)).error?.code).toBe(-32000);
  });

  test('answers a batch in its order, with errors beside results, and counts calls and requests', async () => {
    const { chain, proxy: node } = await startBehind();
    await using proxy = node;
    await chain.mine(2);
    const batch = ['eth_blockNumber', 'eth_unknown', 'eth_chainId'].map((method, id) => ({ id, method, params: [] }));
    const answers = (await (await post(proxy, batch)).json()) as Answer[];
    expect(answers.map(({ id, result, error }) => [id, result ?? typeof error?.message])).toEqual([
      [0, '0x2'],
      [1, 'string'],
      [2, '0x2105'],
    ]);
    expect([proxy.requests, proxy.totalCalls, proxy.calls.get('eth_chainId')]).toEqual([1, 3, 1]);
  });

  test('lags: the newest blocks, their logs and their transactions are not there yet', async () => {
    const { chain, proxy: node } = await startBehind();
    await using proxy = node;
    const token = await chain.deploy('Token', 'uint8', [6]);
    const mint = token.call('mint(address,uint256)', [chain.account(1), 1n]);
    const early = await chain.send(chain.account(1), mint);
    await chain.mine(4);
    const late = await chain.send(chain.account(1), mint);
    await chain.mine();
    proxy.behaviour.lagBlocks = 2;
    expect([await heightOf(proxy, 'latest'), await heightOf(proxy, '0x5')]).toEqual([4, null]);
    const { result } = await call(proxy, 'eth_getLogs', { fromBlock: '0x0', toBlock: '0x6' });
    expect((result as { transactionHash: string }[]).map((log) => log.transactionHash)).toEqual([early]);
    expect((await call(proxy, 'eth_getTransactionReceipt', late)).result).toBeNull();
    expect((await call(proxy, 'eth_getLogs', { fromBlock: '0x6', toBlock: '0x6' })).result).toEqual([]);
  });

  test('leaves logs out, and names another network', async () => {
    const { chain, proxy: node } = await startBehind({ logs: (logs) => logs.slice(1), chainId: 5 });
    await using proxy = node;
    const flooder = await chain.deploy('Flooder');
    await chain.send(chain.account(1), flooder.call('flood(address,uint256)', [chain.account(2), 3]));
    await chain.mine();
    expect((await call(proxy, 'eth_getLogs', { fromBlock: '0x0', toBlock: 'latest' })).result).toHaveLength(2);
    expect((await call(proxy, 'eth_chainId')).result).toBe('0x5');
  });

  test('refuses, answers garbage or too much, or not at all', async () => {
    const { proxy: node } = await startBehind();
    await using proxy = node;
    const ask = () => post(proxy, { id: 1, method: 'eth_chainId' });
    proxy.behaviour.fault = () => ({ kind: 'status', status: 429, headers: { 'retry-after': '3' } });
    const refused = await ask();
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '3']);
    proxy.behaviour.fault = () => ({ kind: 'garbage' });
    expect(await (await ask()).text()).toStartWith('<html>');
    proxy.behaviour.fault = () => ({ kind: 'oversized', bytes: 50_000_000 });
    expect((await (await ask()).bytes()).length).toBeGreaterThan(50_000_000);
    proxy.behaviour.fault = ([method]) => (method === 'eth_chainId' ? { kind: 'hang' } : null);
    const gaveUp = await rejection(post(proxy, { id: 1, method: 'eth_chainId' }, AbortSignal.timeout(50)));
    expect(gaveUp.name).toBe('TimeoutError');
    expect(await heightOf(proxy, 'latest')).toBe(0);
  });
});
