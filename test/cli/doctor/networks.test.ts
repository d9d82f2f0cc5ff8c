import { describe, expect, test } from 'bun:test';
import type { Finding } from '../../../src/cli/doctor/finding.ts';
import { checkNetworks } from '../../../src/cli/doctor/networks.ts';
import { loadConfig } from '../../../src/config.ts';
import { hex, type JsonRpc, RpcError } from '../../support/chain/json-rpc.ts';
import { RpcProxy } from '../../support/chain/rpc-proxy.ts';
import { freePort } from '../../support/free-port.ts';

const NETWORK = 8453;
const HEAD = 5_000;

/** A chain of empty blocks; `branch` tells its blocks from those of another one. */
const chain =
  (branch: string, mostBlocks = Number.POSITIVE_INFINITY): JsonRpc =>
  async (method, params) => {
    if (method === 'eth_chainId') return hex(NETWORK);
    if (method === 'eth_blockNumber') return hex(HEAD);
    if (method === 'eth_getLogs') {
      const [{ fromBlock, toBlock }] = params as [{ fromBlock: string; toBlock: string }];
      if (Number(toBlock) - Number(fromBlock) > mostBlocks) throw new RpcError(-32005, 'range too large');
      return [];
    }
    const [block] = params as [string];
    const number = block === 'latest' ? HEAD : Number(block);
    return {
      number: hex(number),
      hash: `0x${branch}${number.toString(16).padStart(63, '0')}`,
      parentHash: '0x',
      timestamp: hex(Math.floor(Date.now() / 1000)),
    };
  };

async function examine(settings: Record<string, string>): Promise<Record<string, Finding>> {
  const findings: Record<string, Finding> = {};
  for await (const finding of checkNetworks(loadConfig(settings))) findings[finding.check] = finding;
  return findings;
}

const nodesOf = (...proxies: readonly { readonly url: string }[]) => ({
  CHAIN_RPC: proxies.map(({ url }) => `${NETWORK}=${url}`).join(','),
});

describe('doctor looks at the nodes of each network', () => {
  test('and finds nothing wrong with two that agree', async () => {
    await using one = new RpcProxy(chain('a'), { finalized: 60 });
    await using two = new RpcProxy(chain('a'), { finalized: 70 });
    const findings = await examine(nodesOf(one, two));
    expect(Object.values(findings).map(({ check, state }) => `${check} ${state}`)).toEqual([
      'node 8453#1 ok',
      'node 8453#2 ok',
      'heads of network 8453 ok',
      'network 8453 ok',
    ]);
    expect(findings['heads of network 8453']?.found).toBe(`8453#1 ${HEAD}, 8453#2 ${HEAD}`);
    expect(findings['network 8453']?.found).toBe(`2 nodes agree on block ${HEAD - 70}`);
  });

  test('and warns that the payments of practice mode are made up', async () => {
    const findings = await examine({ CHAIN_RPC: 'practice' });
    expect(Object.values(findings).map(({ check, state }) => `${check} ${state}`)).toEqual([
      'node 0#1 ok',
      'heads of network 0 ok',
      'network 0 warning',
    ]);
    expect(findings['network 0']?.found).toBe('practice mode');
  });

  test('and warns of one that calls blocks final too early, and of one whose head stays behind', async () => {
    await using early = new RpcProxy(chain('a'), { finalized: 59 });
    await using frozen = new RpcProxy(chain('a'), { finalized: 60, lagBlocks: 5 });
    expect(await examine(nodesOf(early, frozen))).toMatchObject({
      'node 8453#1': { state: 'warning', fix: expect.stringContaining('CHAIN_MIN_DEPTH') },
      'node 8453#2': { state: 'ok' },
      'heads of network 8453': { state: 'warning', fix: expect.stringContaining('8453#2') },
    });
  });

  test('and warns of a single node, of one without finality, and of one with a small range', async () => {
    await using one = new RpcProxy(chain('a'), { finalized: 'error', safe: 'null' });
    expect(await examine(nodesOf(one))).toMatchObject({
      'node 8453#1': { state: 'warning', fix: expect.stringContaining('CHAIN_FINALITY') },
      'network 8453': { state: 'warning', fix: expect.stringContaining('second node') },
    });
    await using narrow = new RpcProxy(chain('a', 100), { finalized: 60 });
    expect(await examine({ ...nodesOf(narrow), CHAIN_FINALITY: '8453=20' })).toMatchObject({
      'node 8453#1': {
        state: 'warning',
        found: expect.stringMatching(/ranges of (7[5-9]|[89]\d|100|101) blocks/),
        fix: expect.stringContaining('1000 blocks'),
      },
    });
  });

  test.each([
    ['text and the status 400', 1, 'refuses batches: single calls', 400],
    ['text and the status 413', 3, 'batches of at most 3 calls', 413],
    ['text and the status 500', 3, 'batches of at most 3 calls', 500],
  ])('and says what it found of one that refuses batches with %s, without blaming the key', async (...refusal) => {
    const [, most, found, status] = refusal;
    const fault = (methods: readonly string[]) =>
      methods.length > most ? ({ kind: 'status', status } as const) : null;
    await using one = new RpcProxy(chain('a'), { fault, finalized: 60 });
    const { 'node 8453#1': finding } = await examine(nodesOf(one));
    expect(finding).toMatchObject({ state: 'ok', found: expect.stringContaining(found) });
    expect(JSON.stringify(finding)).not.toContain('key');
  });

  test.each([
    [401, /key in its URL/],
    [403, /key in its URL/],
    [500, /status page/],
    [503, /status page/],
  ])('and names the likely cause of the status %d for every request', async (status, fix) => {
    await using one = new RpcProxy(chain('a'), { fault: () => ({ kind: 'status', status }) });
    expect((await examine(nodesOf(one)))['node 8453#1']).toMatchObject({
      state: 'error',
      fix: expect.stringMatching(fix),
    });
  });

  test('and fails where one is on another network, unreachable, or has another final block, without showing a URL', async () => {
    await using good = new RpcProxy(chain('a'), { finalized: 60 });
    await using other = new RpcProxy(chain('a'), { chainId: 1 });
    await using forked = new RpcProxy(chain('b'), { finalized: 60 });
    const gone = { url: `http://secret-key@127.0.0.1:${await freePort()}/` };
    const findings = await examine(nodesOf(good, other, gone, forked));
    expect(findings).toMatchObject({
      'node 8453#1': { state: 'ok' },
      'node 8453#2': { state: 'error', fix: expect.stringContaining('another network') },
      'node 8453#3': { state: 'error', fix: expect.stringContaining('running') },
      'network 8453': { state: 'error', found: expect.stringContaining('differ at final block') },
    });
    expect(JSON.stringify(findings)).not.toMatch(/127\.0\.0\.1|secret-key/);
  });

  test('and does nothing where no network is followed', async () => {
    expect(await examine({})).toEqual({});
  });
});
