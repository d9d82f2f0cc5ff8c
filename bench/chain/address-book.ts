import { parseArgs } from 'node:util';
import { LogDecoder } from '../../src/chain/evm/decode/decoder.ts';
import { evmIdentity } from '../../src/chain/evm/identity.ts';
import { EvmReader } from '../../src/chain/evm/reader.ts';
import { Follower } from '../../src/chain/follow/follower.ts';
import { httpExchange } from '../../src/chain/rpc/http-exchange.ts';
import { Node } from '../../src/chain/rpc/node.ts';
import { Nodes } from '../../src/chain/rpc/nodes.ts';
import { printLine } from '../../src/cli/terminal/output.ts';
import { findEntries } from '../../src/store/chain/addresses/books.ts';
import { addAddresses } from '../../src/store/chain/addresses/change-book.ts';
import { NetworkStore } from '../../src/store/chain/networks.ts';
import { FollowedSources } from '../../src/store/chain/sources/followed.ts';
import { createSource } from '../../src/store/chain/sources/sources.ts';
import { readTokens, saveTokens } from '../../src/store/chain/tokens.ts';
import { migrate } from '../../src/store/database/migrate.ts';
import { openDatabase } from '../../src/store/database/open.ts';
import { readInteger } from '../../src/store/database/sql.ts';
import { createTenant, TEST_CHANGE } from '../../test/support/api.ts';
import { addressOf, wordOf } from '../../test/support/chain/model-chain.ts';
import { runAndExit } from '../../test/support/run-and-exit.ts';
import { createTarget, ENGINES, type Engine } from '../../test/support/stores.ts';

/**
 * An address book of 100,000 addresses: how long 100 requests take to fill it, and how much processor time a block with 8,000 logs
 * takes of which ten match. Every sixth poll reads the tail too. The responses of the node are made in this process from texts that are ready, and the time for that is
 * subtracted. Fails above 30 s and 200 ms. `npx bun bench/chain/address-book.ts --addresses 100000 --logs 8000`
 */

const { values } = parseArgs({
  options: {
    addresses: { type: 'string', default: '100000' },
    logs: { type: 'string', default: '8000' },
    store: { type: 'string' },
  },
});
const ADDRESSES = Number(values.addresses);
const LOGS = Number(values.logs);
const MATCHES = 10;
const BLOCKS = 12;
const BLOCK_MS = 5_000;
/** A new follower reads the tail in each of its first polls. */
const EARLY_POLLS = 100;
const MAX_LOAD_S = 30;
const MAX_BLOCK_MS = 200;
const NETWORK_ID = 8453;
const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
const TOKEN = addressOf(0xc0de);

const hashOf = (block: number) => wordOf(0xb10c_0000_0000 + block);
const quantity = (number: number) => `0x${number.toString(16)}`;
/** The addresses of the book, and others. */
const bookAddress = (n: number) => addressOf(0x1_0000_0000 + n * 7_919);
const otherAddress = (n: number) => wordOf(0x9_0000_0000 + n * 104_729);

type Call = { readonly id: unknown; readonly method: string; readonly params: readonly unknown[] };

type Filter = {
  readonly fromBlock?: string;
  readonly toBlock?: string;
  readonly blockHash?: string;
  readonly topics: readonly (readonly string[] | null)[];
};

/** A block has no log, or the same number of logs as each other, of which ten are of the book. */
class BusyChain {
  head = 100;
  makingMs = 0;
  readonly #logs = new Map<number, string>();
  readonly #matches = new Map<number, { readonly payee: string; readonly text: string }[]>();

  mineEmpty(): void {
    this.head++;
  }

  mine(): void {
    this.head++;
    const every = Math.floor(LOGS / MATCHES);
    const matches: { payee: string; text: string }[] = [];
    const texts = Array.from({ length: LOGS }, (_, n) => {
      const isMatch = n % every === 0 && n / every < MATCHES;
      const paid = bookAddress((this.head * 37 + n) % ADDRESSES);
      const payee = isMatch ? `0x${paid.slice(2).padStart(64, '0')}` : otherAddress(n);
      const text = JSON.stringify({
        ...{ address: TOKEN, topics: [TRANSFER, otherAddress(n + 1), payee], data: wordOf(1_000_000 + n) },
        ...{ blockNumber: quantity(this.head), blockHash: hashOf(this.head), logIndex: quantity(n), removed: false },
        ...{ transactionHash: wordOf(this.head * 100_000 + n), transactionIndex: quantity(n) },
        blockTimestamp: quantity(1_700_000_000 + 2 * this.head),
      });
      if (isMatch) matches.push({ payee, text });
      return text;
    });
    this.#logs.set(this.head, texts.join());
    this.#matches.set(this.head, matches);
  }

  readonly fetch = async (_url: string, { body }: RequestInit): Promise<Response> => {
    const started = process.cpuUsage();
    const payload = JSON.parse(String(body)) as Call | Call[];
    const text = Array.isArray(payload)
      ? `[${payload.map((call) => this.#answer(call)).join()}]`
      : this.#answer(payload);
    const { user, system } = process.cpuUsage(started);
    this.makingMs += (user + system) / 1_000;
    return new Response(text, { headers: { 'content-type': 'application/json' } });
  };

  #answer({ id, method, params: [first] }: Call): string {
    return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${this.#result(method, first)}}`;
  }

  #result(method: string, first: unknown): string {
    if (method === 'eth_chainId') return `"${quantity(NETWORK_ID)}"`;
    if (method === 'eth_getBlockByNumber') return JSON.stringify(this.#header(String(first)));
    if (method !== 'eth_getLogs') return 'null';
    const { fromBlock, toBlock, blockHash, topics } = first as Filter;
    const only = blockHash === undefined ? null : Number(BigInt(blockHash) - 0xb10c_0000_0000n);
    const parts: string[] = [];
    for (let block = only ?? Number(fromBlock); block <= (only ?? Number(toBlock)); block++) {
      const payees = topics[2] ?? null;
      if (payees === null) parts.push(...(this.#logs.has(block) ? [this.#logs.get(block) ?? ''] : []));
      else for (const one of this.#matches.get(block) ?? []) if (payees.includes(one.payee)) parts.push(one.text);
    }
    return `[${parts.join()}]`;
  }

  #header(tag: string): object | null {
    const number = tag === 'latest' ? this.head : tag === 'finalized' || tag === 'safe' ? 50 : Number(tag);
    if (number > this.head) return null;
    const times = { timestamp: quantity(1_700_000_000 + 2 * number), transactions: [] };
    return { number: quantity(number), hash: hashOf(number), parentHash: hashOf(number - 1), ...times };
  }
}

async function run(engine: Engine): Promise<boolean> {
  const { target, remove } = await createTarget(engine);
  const db = await openDatabase(target);
  try {
    await migrate(db);
    const { entityId } = await createTenant(db);
    const definition = {
      ...{ networkId: NETWORK_ID, preset: 'erc20' as const, contract: TOKEN, abi: null, event: null, where: {} },
      ...{ fields: {}, fromBlock: 'latest' as const, deliverHistory: false, addressBook: 'to' },
    };
    const prepared = { definition, topic: TRANSFER, topics: [[TRANSFER], null, null, null], bookPlace: 2, head: 100 };
    const { source } = await createSource(db, entityId, prepared, 10, TEST_CHANGE);
    const limits = { ofEntity: ADDRESSES, ofNetwork: ADDRESSES };
    const startedMs = performance.now();
    for (let start = 0; start < ADDRESSES; start += 1_000) {
      const some = Array.from({ length: 1_000 }, (_, n) => ({
        address: bookAddress(start + n),
        reference: `order ${start + n}`,
      }));
      await addAddresses(db, entityId, source.sourceId, some, limits, TEST_CHANGE);
    }
    const loadS = (performance.now() - startedMs) / 1_000;
    const chain = new BusyChain();
    const exchange = httpExchange({ url: 'http://node.example', fetch: chain.fetch });
    let ms = 0;
    const clock = { nowMs: () => ms, sleep: () => Promise.resolve() };
    const node = new Node({
      name: 'busy',
      identity: evmIdentity(NETWORK_ID),
      exchange,
      clock,
      callsPerSecond: 1_000_000,
    });
    const sources = new FollowedSources();
    const follower = new Follower({
      ...{ networkId: NETWORK_ID, finalityDepth: null, graceBlocks: 3, leastDepth: 1, quorum: null, clock },
      nodes: new Nodes([node]),
      store: new NetworkStore(db, 'bench', (queries, networkId) => sources.read(queries, networkId)),
      reader: new EvmReader(
        new LogDecoder({
          tokens: { read: readTokens.bind(null, db), save: saveTokens.bind(null, db) },
          callContract: async () => ({ data: wordOf(6) }),
          findEntries: findEntries.bind(null, db),
        }),
      ),
    });
    const firstMs = performance.now();
    await follower.poll();
    const readMs = performance.now() - firstMs;
    const pollMs = async () => {
      ms += BLOCK_MS;
      const [before, made] = [process.cpuUsage(), chain.makingMs];
      await follower.poll();
      const { user, system } = process.cpuUsage(before);
      return (user + system) / 1_000 - (chain.makingMs - made);
    };
    const early: number[] = [];
    while (early.length < EARLY_POLLS) {
      chain.mineEmpty();
      early.push(await pollMs());
    }
    const times: number[] = [];
    while (times.length < BLOCKS) {
      chain.mine();
      times.push(await pollMs());
    }
    const facts = await readInteger(db, 'count(*)', 'from facts');
    if (facts !== BLOCKS * MATCHES) throw new Error(`${facts} facts of ${BLOCKS * MATCHES} payments`);
    const [block, earlyPoll] = [medianOf(times), medianOf(early)];
    printLine(
      `${engine}: ${ADDRESSES} addresses in ${loadS.toFixed(1)} s, read by the first poll in ${Math.round(readMs)} ms; ` +
        `each of ${EARLY_POLLS} more polls in ${Math.round(earlyPoll)} ms of processor time; then a block of ${LOGS} logs in ` +
        `${Math.round(block)} ms (${times.map(Math.round).join(' ')})`,
    );
    return loadS <= MAX_LOAD_S && block <= MAX_BLOCK_MS;
  } finally {
    await db.close();
    remove();
  }
}

function medianOf(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;
}

async function main(): Promise<number> {
  let isFast = true;
  for (const engine of ENGINES) {
    if (values.store === undefined || values.store === engine) isFast = (await run(engine)) && isFast;
  }
  return isFast ? 0 : 1;
}

await runAndExit(main);
