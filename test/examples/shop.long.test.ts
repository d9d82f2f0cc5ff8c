import { afterEach, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ChainStage } from '../support/chain/chain-stage.ts';
import { tempBase } from '../support/temp-base.ts';
import { until } from '../support/until.ts';

/** The shop of the examples, as a process, paid on a real EVM that reorganises. */

const SHOP = resolve(import.meta.dir, '../../examples/shop.ts');
const ADDRESSES = ['a1', 'a2', 'a3', 'a4'].map((byte) => `0x${byte.repeat(20)}`);
const NETWORK = 8453;

type Order = { state: string; received: string; isShipped: boolean };
type Books = { agrees: boolean; differences: object[]; tokens: { onChain: string; net: string; retracted: string }[] };
type Shop = {
  readonly url: string;
  readonly port: string;
  readonly printed: () => string;
  readonly kill: () => Promise<unknown>;
};

const folder = mkdtempSync(join(tempBase(), 'paybell-shop-'));
const running = new Set<Shop>();

afterEach(async () => {
  for (const shop of running) await shop.kill();
  rmSync(folder, { recursive: true, force: true });
});

async function startShop({ service, token }: ChainStage, port = '0'): Promise<Shop> {
  const { url, credentials } = service.client;
  const env = {
    ...{ PATH: process.env.PATH ?? '', PORT: port, PAYBELL_URL: url, PAYBELL_ENTITY_ID: credentials.entityId },
    ...{ PAYBELL_API_KEY: credentials.apiKey, NETWORK_ID: String(NETWORK), TOKEN: token.address },
    ...{ ADDRESSES: ADDRESSES.join(','), JOURNAL: join(folder, 'shop.ndjson') },
  };
  const child = Bun.spawn([process.execPath, SHOP], { env, stdout: 'pipe', stderr: 'inherit' });
  let printed = '';
  const reading = (async () => {
    for await (const part of child.stdout) printed += new TextDecoder().decode(part);
  })();
  await until('the shop listens', () => /port: \d+/.test(printed) || child.exitCode !== null);
  const taken = /port: (\d+)/.exec(printed)?.[1] ?? '';
  const shop: Shop = {
    ...{ url: `http://127.0.0.1:${taken}`, port: taken, printed: () => printed },
    kill: () => {
      running.delete(shop);
      child.kill('SIGKILL');
      return Promise.all([child.exited, reading]);
    },
  };
  running.add(shop);
  return shop;
}

const readOrder = async ({ url }: Shop, id: string) => (await (await fetch(`${url}/orders/${id}`)).json()) as Order;
/** Of the day on which the test began, and of today. Blocks of the tests are some seconds ahead of the clock. */
async function readBooks({ url }: Shop, startMs: number): Promise<Books[]> {
  const days = new Set([startMs, Date.now()].map((ms) => new Date(ms).toISOString().slice(0, 10)));
  return Promise.all([...days].map(async (day) => (await (await fetch(`${url}/books?day=${day}`)).json()) as Books));
}

test('the shop ships what is final, gives up what a reorg undoes, and has the books of the chain', async () => {
  const startMs = Date.now();
  await using stage = await ChainStage.start('sqlite', { nodeCount: 2, settings: { CHAIN_GRACE: '3' } });
  const { chain, token, service } = stage;
  const mine = async (blocks: number) => {
    await chain.mine(blocks);
    await stage.followed();
  };
  let shop = await startShop(stage);
  const order = async (amount: string) => {
    const response = await fetch(`${shop.url}/orders`, { method: 'POST', body: JSON.stringify({ amount }) });
    expect(response.status).toBe(201);
    return (await response.json()) as { orderId: string; address: string };
  };
  const pay = (from: number, to: string, value: number) =>
    chain.send(chain.account(from), token.call('mint(address,uint256)', [to, value]));
  const has = (orderId: string, wanted: Partial<Order>) =>
    until(`the order has ${JSON.stringify(wanted)}`, async () => {
      const found = await readOrder(shop, orderId);
      return Object.entries(wanted).every(([name, value]) => found[name as keyof Order] === value);
    });

  const [kept, undone] = [await order('25'), await order('10')];
  await stage.mineAndFollow();
  await pay(2, kept.address, 25_000_000);
  const dropped = await pay(3, undone.address, 10_000_000);
  await stage.mineAndFollow();
  await has(kept.orderId, { state: 'paid', received: '25', isShipped: false });
  await has(undone.orderId, { state: 'paid', received: '10', isShipped: false });

  // The payment of the first order moves to another block, and the other one is gone.
  await chain.fork(1, { place: ({ hash }) => (hash === dropped ? null : 1) });
  await stage.followed();
  await stage.mineAndFollow(4);
  await has(undone.orderId, { state: 'open', received: '0', isShipped: false });
  await mine(20);
  await has(kept.orderId, { state: 'paid', received: '25', isShipped: true });

  // The shop dies. What happens until it is back comes from the feed and from retries, once.
  await shop.kill();
  await pay(4, undone.address, 4_000_000);
  await stage.mineAndFollow();
  await pay(5, undone.address, 6_000_000);
  // One by one: logs of this node have no date, and a reading has the header of its last block.
  await stage.mineAndFollow();
  await mine(22);
  shop = await startShop(stage, shop.port);
  await has(undone.orderId, { state: 'paid', received: '10', isShipped: true });
  await has(kept.orderId, { state: 'paid', received: '25', isShipped: true });
  expect(shop.printed()).toContain(`shipped: ${undone.orderId}`);

  await service.delivered();
  let books: Books[] = [];
  const sumOf = (name: 'onChain' | 'net' | 'retracted') =>
    books.flatMap(({ tokens }) => tokens).reduce((sum, each) => sum + Number(each[name]), 0);
  await until('the books have every block', async () => {
    books = await readBooks(shop, startMs);
    return books.every(({ agrees }) => agrees) && sumOf('onChain') === 35;
  }).catch((error: Error) => {
    throw new Error(`${error.message}: ${JSON.stringify(books)}`);
  });
  expect(books.flatMap(({ differences }) => differences)).toEqual([]);
  expect([sumOf('onChain'), sumOf('net'), sumOf('retracted')]).toEqual([35, 35, 10]);
});
