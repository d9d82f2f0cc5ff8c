import { withStore } from '../../faults/harness/store-audit.ts';
import { HttpNode } from '../../faults/trials/chain/http-node.ts';
import { printTable } from '../../src/cli/terminal/table.ts';
import { createTenant } from '../../test/support/api.ts';
import { ModelChain } from '../../test/support/chain/model-chain.ts';
import { TEST_SECRET_KEY } from '../../test/support/command-line.ts';
import { Instances } from '../../test/support/instances.ts';
import { Ledger } from '../../test/support/ledger.ts';
import { stopPostgres } from '../../test/support/postgres.ts';
import { seededRandom } from '../../test/support/random.ts';
import { runAndExit } from '../../test/support/run-and-exit.ts';
import { Client } from '../../test/support/service.ts';
import { ENGINES, type Engine } from '../../test/support/stores.ts';

/**
 * An entity holds events for transactions that are in the newest block. How long does it take until its receiver has them: alone, and
 * after another entity has held 1,500 events for invented transactions? Entities above their limit are not tried here: the limit is
 * higher than the flood. `npx bun bench/chain/held.ts 1500`
 */

const INVENTED = Number(process.argv[2] ?? 1_500);
const NETWORK_ID = 8453;
const BLOCK_MS = 1_000;
const EVENTS = 10;
const MOST_MS = 180_000;
const BATCH = 500;

type Delivered = { readonly ms: number; readonly blocks: number };

async function run(engine: Engine): Promise<string[][]> {
  const chain = new ModelChain(0.5);
  chain.mineEmpty(40);
  await using node = new HttpNode(chain, { chainId: NETWORK_ID, finalized: 16 }, seededRandom(1));
  const arrivals = new Map<string, PromiseWithResolvers<void>>();
  await using ledger = new Ledger(({ body }) => {
    const { eventId } = JSON.parse(Buffer.from(body).toString()) as { eventId: string };
    arrivals.get(eventId)?.resolve();
    return new Response('ok');
  });
  const settings = { SECRET_KEY: TEST_SECRET_KEY, CHAIN_RPC: `${NETWORK_ID}=${node.url}`, ENTITY_HELD_LIMIT: '5000' };
  const instances = await Instances.on(engine, { ...settings, LOG_LEVEL: 'error' });
  let due: ReturnType<ModelChain['transaction']>[] = [];
  const mining = setInterval(() => {
    chain.mine(due);
    due = [];
  }, BLOCK_MS);
  try {
    const { client, served } = await instances.start();
    await client.register(ledger.url(), ['TransferProcessed'], [NETWORK_ID]);
    const stranger = await withStore(instances.databaseUrl, (db) => createTenant(db));
    const loud = new Client(served.url, { entityId: stranger.entityId, apiKey: stranger.apiKey });

    const deliverOne = async (): Promise<Delivered> => {
      const transaction = chain.transaction({});
      due.push(transaction);
      while (due.length > 0) await Bun.sleep(5);
      const [startMs, startBlock] = [performance.now(), chain.head];
      const eventId = crypto.randomUUID();
      const arrival = Promise.withResolvers<void>();
      arrivals.set(eventId, arrival);
      await hold(client, [{ eventId, transactionHash: transaction.hash }]);
      await Promise.race([arrival.promise, Bun.sleep(MOST_MS)]);
      return { ms: performance.now() - startMs, blocks: chain.head - startBlock };
    };
    const phase = async (name: string, events: number) => {
      const delivered: Delivered[] = [];
      while (delivered.length < events && (delivered.at(-1)?.ms ?? 0) < MOST_MS) delivered.push(await deliverOne());
      return [engine, name, ...rowOf(delivered)];
    };
    await deliverOne();
    const rows = [await phase('alone', EVENTS)];
    const invented = Array.from({ length: INVENTED }, (_, n) => ({
      ...{ eventId: `invented-${n}`, transactionHash: `0x${'e'.repeat(40)}${n.toString(16).padStart(24, '0')}` },
    }));
    for (let from = 0; from < INVENTED; from += BATCH) await hold(loud, invented.slice(from, from + BATCH));
    rows.push(await phase(`${INVENTED} invented transactions of another entity`, EVENTS));
    return rows;
  } finally {
    clearInterval(mining);
    await instances.stop();
  }
}

async function hold(client: Client, events: readonly object[]): Promise<void> {
  const lines = events.map((event) => JSON.stringify({ event: 'TransferProcessed', networkId: NETWORK_ID, ...event }));
  const answer = await client.request('POST', '/events/batch?hold=chain', lines.join('\n'), 'application/x-ndjson');
  const { results } = (await answer.json()) as { results: { status: number; detail: string | null }[] };
  const rejected = results.find(({ status }) => status !== 202);
  if (rejected !== undefined) throw new Error(`${rejected.status} ${rejected.detail}`);
}

function rowOf(delivered: readonly Delivered[]): string[] {
  const ms = delivered.map((one) => one.ms).toSorted((a, b) => a - b);
  const at = (share: number) =>
    ((ms[Math.min(ms.length - 1, Math.floor(ms.length * share))] ?? Number.NaN) / 1_000).toFixed(2);
  return [String(ms.length), at(0.5), at(1), String(Math.max(...delivered.map(({ blocks }) => blocks)))];
}

await runAndExit(async () => {
  const rows: string[][] = [];
  for (const engine of ENGINES) rows.push(...(await run(engine)));
  printTable(['engine', 'phase', 'events', 'median s', 'slowest s', 'blocks, most'], rows, '');
  await stopPostgres();
  return 0;
});
