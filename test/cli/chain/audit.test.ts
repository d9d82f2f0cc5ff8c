import { expect, test } from 'bun:test';
import type { SourceDefinition } from '../../../src/domain/chain/source-definition.ts';
import { createSource } from '../../../src/store/chain/sources/sources.ts';
import { saveTokens } from '../../../src/store/chain/tokens.ts';
import { migrate } from '../../../src/store/database/migrate.ts';
import { openDatabase } from '../../../src/store/database/open.ts';
import { createTenant, TEST_CHANGE } from '../../support/api.ts';
import { CONTRACT, logOf, PAYEE, PAYER } from '../../support/chain/logs.ts';
import { GENESIS_S, ModelChain } from '../../support/chain/model-chain.ts';
import { ModelNode } from '../../support/chain/model-node.ts';
import { commandLine, TEST_SECRET_KEY } from '../../support/command-line.ts';
import { createTarget } from '../../support/stores.ts';

const NETWORK = 31_337;
const TRANSFER = 'event Transfer(address indexed from, address indexed to, uint256 value)';
/** The first block is at the beginning of a day within the retention. */
const FIRST_S = Math.floor(Date.now() / 1000 / 86_400 - 5) * 86_400;
const dayOf = (index: number) => new Date((FIRST_S + index * 86_400) * 1000).toISOString().slice(0, 10);
const DAY = dayOf(0);
const NEXT_DAY = dayOf(1);

test('paybell chain audit names what a node has and the store does not, and its exit code says how it ended', async () => {
  const target = await createTarget('sqlite');
  const db = await openDatabase(target.target);
  await migrate(db);
  const { entityId } = await createTenant(db);
  const chain = new ModelChain(600);
  const { address, topics, data } = logOf(TRANSFER, [PAYER, PAYEE, 2_500_000n]);
  chain.mine([chain.transaction({ logs: [{ address, topics, data }] })]);
  chain.mineEmpty(400);
  const definition: SourceDefinition = {
    ...{
      networkId: NETWORK,
      preset: 'erc20',
      contract: CONTRACT,
      abi: null,
      event: null,
      where: { to: [PAYEE] },
      fields: {},
    },
    ...{ fromBlock: 0, deliverHistory: true },
  };
  const prepared = { definition, topic: topics[0] ?? '', topics: [], head: 0 };
  await createSource(db, entityId, prepared, 1, TEST_CHANGE);
  await saveTokens(db, NETWORK, new Map([[CONTRACT, { decimals: 6, symbol: null }]]));
  await db.transaction(async (queries) => {
    await queries.run('update sources set next_block = 1, last_block = 0', []);
    await queries.run('insert into chains (network_id, final) values ($1, $2)', [NETWORK, 300]);
  });
  await db.close();
  const model = new ModelNode(chain, { chainId: NETWORK, aheadS: FIRST_S - GENESIS_S });
  await using server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async (request) => Response.json(await model.exchange(await request.json())),
  });
  const rpc = `http://127.0.0.1:${server.port}/`;
  const paybell = commandLine({
    DATABASE_URL: target.url,
    SECRET_KEY: TEST_SECRET_KEY,
    CHAIN_RPC: `${NETWORK}=${rpc}`,
  });
  const audit = (...args: string[]) => paybell(['chain', 'audit', '--network', String(NETWORK), ...args]);

  const named = await audit('--day', DAY, '--json');
  expect([named.exitCode, JSON.parse(named.stdout)]).toMatchObject([
    1,
    {
      ...{ networkId: NETWORK, day: DAY, node: `${NETWORK}#1`, state: 'complete', equal: 0, differenceCount: 1 },
      differences: [{ difference: 'missing', entityId, onChain: { amount: '2.5', token: CONTRACT }, stored: null }],
    },
  ]);
  const shown = await audit('--day', DAY, '--rpc', rpc);
  expect([shown.exitCode, shown.stdout]).toEqual([1, expect.stringContaining('not stored')]);
  expect(shown.stdout).toContain('0 payments equal, 1 difference.');
  expect(shown.stdout).not.toContain('127.0.0.1');

  expect((await audit('--day', NEXT_DAY)).exitCode).toBe(0);
  const limited = await audit('--day', NEXT_DAY, '--max-calls', '3');
  expect([limited.exitCode, limited.stderr]).toEqual([3, expect.stringContaining('--max-calls')]);
  const early = await audit('--day', dayOf(2));
  expect([early.exitCode, early.stderr]).toEqual([3, expect.stringContaining('not final yet')]);
  for (const wrong of [
    ['--day', 'today'],
    ['--day', '2001-01-01'],
    ['--day', DAY, '--rpc', 'ftp://x'],
  ]) {
    expect((await audit(...wrong)).exitCode).toBe(2);
  }
  expect((await paybell(['chain', 'audit', '--network', '5', '--day', DAY])).stderr).toContain('--rpc');
  target.remove();
});
