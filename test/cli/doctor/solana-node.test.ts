import { expect, test } from 'bun:test';
import { checkNetworks } from '../../../src/cli/doctor/networks.ts';
import { loadConfig } from '../../../src/config.ts';
import { genesisOf } from '../../../src/domain/chain/families/solana.ts';
import { type JsonRpc, RpcError } from '../../support/chain/json-rpc.ts';

const node =
  ({ genesis = genesisOf(900), final = 468, refused = '' } = {}): JsonRpc =>
  async (method, params) => {
    if (method === refused) throw new RpcError(-32601, 'not offered');
    if (method === 'getGenesisHash') return genesis;
    if (method === 'getSlot') return (params[0] as { commitment: string }).commitment === 'finalized' ? final : 500;
    if (method === 'getFirstAvailableBlock') return 7;
    return method === 'getTransaction' ? null : [];
  };

type Request = { readonly id: number; readonly method: string; readonly params: readonly unknown[] };

async function examine(rpc: JsonRpc) {
  const answer = async ({ id, method, params }: Request) => {
    try {
      return { id, result: await rpc(method, params) };
    } catch (error) {
      return { id, error: { code: error instanceof RpcError ? error.code : -32603 } };
    }
  };
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async (request) => {
      const body = (await request.json()) as Request | Request[];
      return Response.json(Array.isArray(body) ? await Promise.all(body.map(answer)) : await answer(body));
    },
  });
  try {
    return await Array.fromAsync(checkNetworks(loadConfig({ CHAIN_RPC: `900=http://127.0.0.1:${server.port}` })));
  } finally {
    await server.stop(true);
  }
}

test('doctor shows the slots of a node of Solana', async () => {
  expect(await examine(node())).toMatchObject([
    { state: 'ok', found: 'slot 500, finalized 468, history from slot 7' },
    { state: 'warning', found: 'one node' },
  ]);
});

test('doctor names the methods that a node refuses', async () => {
  const [finding] = await examine(node({ refused: 'getSignaturesForAddress' }));
  expect(finding).toMatchObject({ state: 'error' });
  expect(finding?.fix).toContain('refuses getSignaturesForAddress');
});

test('doctor warns about a node that calls its newest slot finalized', async () => {
  const [finding] = await examine(node({ final: 500 }));
  expect(finding).toMatchObject({ state: 'warning' });
  expect(finding?.fix).toContain('calls its newest slot finalized');
});

test('doctor names a node of another network', async () => {
  const [finding] = await examine(node({ genesis: genesisOf(901) }));
  expect(finding).toMatchObject({ state: 'error' });
  expect(finding?.fix).toContain('another network');
});
