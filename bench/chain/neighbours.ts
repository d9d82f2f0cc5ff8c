import { withStore } from '../../faults/harness/store-audit.ts';
import { HttpNode } from '../../faults/trials/chain/http-node.ts';
import { printLine } from '../../src/cli/terminal/output.ts';
import { printTable } from '../../src/cli/terminal/table.ts';
import type { ChainList } from '../../src/contract/chain/chains.ts';
import { createSource } from '../../src/store/chain/sources/sources.ts';
import { addressOf, ModelChain, wordOf } from '../../test/support/chain/model-chain.ts';
import { Instances } from '../../test/support/instances.ts';
import { Ledger } from '../../test/support/ledger.ts';
import { seededRandom } from '../../test/support/random.ts';
import { runAndExit } from '../../test/support/run-and-exit.ts';
import { ENGINES, type Engine } from '../../test/support/stores.ts';

/**
 * How long it takes from a block until its payment is told, in milliseconds and in attempts to read: while nothing is wrong, while another
 * network is halted, and while a contract of the same network has 100,000 logs in a block. `npx bun bench/chain/neighbours.ts`
 */

const PHASE_MS = 20_000;
const BLOCK_MS = 250;
const FINALITY_BLOCKS = 16;
const MAX_LOGS = 20_000;
const FLOOD_LOGS = 100_000;
const [QUIET, HALTED] = [8453, 137] as const;
const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
const PAYEE = addressOf(0xbee);
const [PAID, LOUD] = [addressOf(0xc0de), addressOf(0xf100d)];

class Network {
  readonly chain = new ModelChain(0.5);
  readonly nodes: readonly HttpNode[];
  /** When a payment was mined, and how many attempts there had been. */
  readonly mined = new Map<string, { atMs: number; looks: number }>();

  constructor(readonly networkId: number) {
    this.chain.mineEmpty(2 * FINALITY_BLOCKS);
    const faults = { chainId: networkId, finalized: FINALITY_BLOCKS, maxLogs: MAX_LOGS };
    // A flood is certain when two nodes refuse it.
    this.nodes = [1, 2].map((seed) => new HttpNode(this.chain, faults, seededRandom(seed)));
  }

  /** Attempts to read the newest blocks. */
  get looks(): number {
    return this.nodes.reduce((sum, { looks }) => sum + looks, 0);
  }

  /** A block with one payment, and with as many logs of the loud contract. */
  mine(loud: number): void {
    const log = (address: string) => ({
      ...{ address, topics: [TRANSFER, wordOf(0xace), wordOf(0xbee)], data: wordOf(this.mined.size + 1) },
    });
    const payment = this.chain.transaction({ logs: [log(PAID)] });
    const flood = this.chain.transaction({ logs: Array.from({ length: loud }, () => log(LOUD)) });
    this.mined.set(payment.hash, { atMs: performance.timeOrigin + performance.now(), looks: this.looks });
    this.chain.mine(loud === 0 ? [payment] : [payment, flood]);
  }

  /** Replaces more blocks than are not final. */
  undoFinalBlocks(): void {
    const depth = FINALITY_BLOCKS + 8;
    this.chain.fork(
      depth,
      Array.from({ length: depth + 1 }, () => []),
    );
  }
}

type Told = { atMs: number; lateMs: number; attempts: number };

async function run(engine: Engine): Promise<string[][]> {
  const networks = [new Network(QUIET), new Network(HALTED)] as const;
  const [quiet, halted] = networks;
  const told: Told[] = [];
  await using ledger = new Ledger(({ body, receivedAtMs }) => {
    const payload = JSON.parse(Buffer.from(body).toString()) as { networkId: number; transactionHash: string };
    const mined = quiet.mined.get(payload.transactionHash);
    if (mined !== undefined && payload.networkId === QUIET) {
      told.push({ atMs: mined.atMs, lateMs: receivedAtMs - mined.atMs, attempts: quiet.looks - mined.looks });
    }
    return new Response('ok');
  });
  const rpc = networks.flatMap(({ networkId, nodes }) => nodes.map(({ url }) => `${networkId}=${url}`)).join(',');
  const instances = await Instances.on(engine, { CHAIN_RPC: rpc, LOG_LEVEL: 'error' });
  try {
    const { client } = await instances.start();
    await client.register(ledger.url(), ['TransferProcessed'], [QUIET, HALTED]);
    const change = { actor: 'bench', nowS: Math.floor(Date.now() / 1_000) };
    for (const [network, contract] of [
      [quiet, PAID],
      [quiet, LOUD],
      [halted, PAID],
    ] as const) {
      await withStore(instances.databaseUrl, (db) =>
        createSource(db, instances.credentials.entityId, sourceOf(network, contract), 100, change),
      );
    }
    let isFlooded = false;
    const mining = setInterval(() => {
      quiet.mine(isFlooded ? FLOOD_LOGS : 0);
      isFlooded = false;
      halted.mine(0);
    }, BLOCK_MS);
    const phase = async (name: string) => {
      const fromMs = performance.timeOrigin + performance.now();
      await Bun.sleep(PHASE_MS);
      return row(
        engine,
        name,
        told.filter(({ atMs }) => atMs >= fromMs),
      );
    };
    await Bun.sleep(PHASE_MS / 2);
    const rows = [await phase('nothing is wrong')];
    halted.undoFinalBlocks();
    rows.push(await phase('another network is halted'));
    isFlooded = true;
    rows.push(await phase('a contract floods'));
    clearInterval(mining);
    const { chains } = (await (await client.request('GET', '/chains')).json()) as ChainList;
    const states = chains.map(({ networkId, state }) => `${networkId} ${state}`).join(', ');
    const sources = await (await client.request('GET', '/sources')).text();
    printLine(`${engine}: ${states}; sources paused: ${sources.split('"paused"').length - 1}`);
    return rows;
  } finally {
    await instances.stop();
    for (const { nodes } of networks) for (const node of nodes) await node[Symbol.asyncDispose]();
  }
}

function sourceOf({ networkId, chain }: Network, contract: string) {
  const where = { to: [PAYEE] };
  const definition = { networkId, preset: 'erc20' as const, contract, abi: null, event: null, where, fields: {} };
  return {
    definition: { ...definition, fromBlock: 'latest' as const, deliverHistory: false },
    ...{ topic: TRANSFER, topics: [[TRANSFER], null, [wordOf(0xbee)]], head: chain.head },
  };
}

function row(engine: Engine, name: string, told: readonly Told[]): string[] {
  const at = (values: number[], share: number) => {
    const sorted = values.toSorted((a, b) => a - b);
    return String(Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN));
  };
  const [lateMs, attempts] = [told.map((one) => one.lateMs), told.map((one) => one.attempts)];
  return [engine, name, String(told.length), at(lateMs, 0.5), at(lateMs, 0.99), at(attempts, 0.5), at(attempts, 1)];
}

await runAndExit(async () => {
  const rows: string[][] = [];
  for (const engine of ENGINES) rows.push(...(await run(engine)));
  printTable(['engine', 'phase', 'payments told', 'p50 ms', 'p99 ms', 'attempts p50', 'attempts, most'], rows, '');
  return 0;
});
