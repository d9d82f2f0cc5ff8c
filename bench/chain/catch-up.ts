import { parseArgs } from 'node:util';
import { printLine } from '../../src/cli/terminal/output.ts';
import { printTable } from '../../src/cli/terminal/table.ts';
import type { ChainList } from '../../src/contract/chain/chains.ts';
import type { DeployedContract } from '../../test/support/chain/deployed-contract.ts';
import { EdrChain } from '../../test/support/chain/edr-chain.ts';
import { RpcProxy } from '../../test/support/chain/rpc-proxy.ts';
import { type Instance, Instances } from '../../test/support/instances.ts';
import { Ledger } from '../../test/support/ledger.ts';
import { runAndExit } from '../../test/support/run-and-exit.ts';
import { ENGINES, type Engine } from '../../test/support/stores.ts';
import { cpuSeconds } from '../harness/processor-time.ts';

/**
 * How long a service that was stopped takes to catch up with a network: until every block is read, and until every payment
 * has been told. `npx bun bench/chain/catch-up.ts --blocks 5000 --logs 10000 --store sqlite`
 */

const { values } = parseArgs({
  options: {
    blocks: { type: 'string', default: '5000' },
    logs: { type: 'string', default: '10000' },
    store: { type: 'string' },
  },
});
const BLOCKS = Number(values.blocks);
const LOGS = Number(values.logs);
const NETWORK_ID = 8453;
const LIMIT_MS = 300_000;

async function waitUntil(what: string, isSo: () => Promise<boolean> | boolean): Promise<number> {
  const startedMs = performance.now();
  while (!(await isSo())) {
    if (performance.now() - startedMs > LIMIT_MS) throw new Error(`Waited too long until ${what}`);
    await Bun.sleep(20);
  }
  return performance.now();
}

async function tipOf({ client }: Instance): Promise<number> {
  const { chains } = (await (await client.request('GET', '/chains')).json()) as ChainList;
  return chains[0]?.tip ?? -1;
}

async function post({ client }: Instance, path: string, body: object): Promise<void> {
  const response = await client.request('POST', path, JSON.stringify(body));
  if (!response.ok) throw new Error(`POST ${path}: ${response.status} ${await response.text()}`);
}

/** The payments are spread over the blocks. */
async function mineAll(chain: EdrChain, token: DeployedContract, payee: string): Promise<void> {
  const payer = chain.account(2);
  await chain.send(payer, token.call('mint(address,uint256)', [payer, 10n ** 18n]));
  let paid = 0;
  for (let block = 1; block <= BLOCKS; block++) {
    const due = Math.floor((block * LOGS) / BLOCKS) - paid;
    const pay = token.call('transferMany(address,uint256,uint256)', [payee, paid + 1, due], 100_000 + due * 50_000);
    if (due > 0) await chain.send(payer, pay);
    await chain.mine();
    paid += due;
  }
}

async function run(engine: Engine): Promise<string[]> {
  const chain = await EdrChain.start({ chainId: NETWORK_ID });
  const token = await chain.deploy('Token', 'uint8', [6]);
  await chain.mine(20);
  await using node = new RpcProxy(chain.rpc);
  await using ledger = new Ledger();
  const settings = {
    NETWORKS: String(NETWORK_ID),
    CHAIN_RPC: `${NETWORK_ID}=${node.url}`,
    CHAIN_MIN_DEPTH: `${NETWORK_ID}=1`,
    LOG_LEVEL: 'warn',
  };
  const instances = await Instances.on(engine, settings);
  try {
    const first = await instances.start();
    const payee = chain.account(1);
    await post(first, '/webhooks/classic', {
      ...{ postUrl: ledger.url(), networkIds: [NETWORK_ID], events: ['TransferProcessed'] },
    });
    const source = { preset: 'erc20', contract: token.address, where: { to: [payee] } };
    await post(first, '/sources', { networkId: NETWORK_ID, fromBlock: 'latest', ...source });
    const start = (await chain.head()).number;
    await waitUntil('the network is followed', async () => (await tipOf(first)) === start);
    await instances.killAll();
    await mineAll(chain, token, payee);
    const head = (await chain.head()).number;
    const instance = await instances.start();
    const startedMs = performance.now();
    const cpuBefore = cpuSeconds(instance.served.child.pid) ?? 0;
    const readMs = await waitUntil('every block is read', async () => (await tipOf(instance)) === head);
    const cpuRead = (cpuSeconds(instance.served.child.pid) ?? 0) - cpuBefore;
    const toldMs = await waitUntil('every payment is told', () => ledger.requests.length >= LOGS);
    const cpuTold = (cpuSeconds(instance.served.child.pid) ?? 0) - cpuBefore;
    const seconds = [readMs - startedMs, toldMs - startedMs].map((ms) => (ms / 1_000).toFixed(1));
    return [engine, ...seconds, cpuRead.toFixed(1), cpuTold.toFixed(1), String(ledger.requests.length)];
  } finally {
    await instances.stop();
  }
}

async function main(): Promise<number> {
  printLine(`${BLOCKS} blocks with ${LOGS} payments behind`);
  const rows: string[][] = [];
  for (const engine of ENGINES) if (values.store === undefined || values.store === engine) rows.push(await run(engine));
  printTable(['store', 'read s', 'told s', 'CPU s read', 'CPU s told', 'requests'], rows, '');
  return 0;
}

await runAndExit(main);
