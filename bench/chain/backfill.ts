import { parseArgs } from 'node:util';
import { contractCalls } from '../../src/chain/evm/decode/contract-calls.ts';
import { LogDecoder } from '../../src/chain/evm/decode/decoder.ts';
import { evmIdentity } from '../../src/chain/evm/identity.ts';
import { EvmReader } from '../../src/chain/evm/reader.ts';
import { Follower } from '../../src/chain/follow/follower.ts';
import { httpExchange } from '../../src/chain/rpc/http-exchange.ts';
import { Node } from '../../src/chain/rpc/node.ts';
import { Nodes } from '../../src/chain/rpc/nodes.ts';
import { printLine } from '../../src/cli/terminal/output.ts';
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
 * How many logs of older blocks a second of processor time reads, decodes and stores for a new source. One node gives every range
 * twice. Its responses are made in this process from texts that are ready, and the time for that is subtracted.
 * `npx bun bench/chain/backfill.ts --blocks 100000 --logs 50000`
 */

const { values } = parseArgs({
  options: {
    blocks: { type: 'string', default: '100000' },
    logs: { type: 'string', default: '50000' },
    store: { type: 'string' },
  },
});
const BLOCKS = Number(values.blocks);
const LOGS = Number(values.logs);
const NETWORK_ID = 8453;
const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
const [TOKEN, PAYEE] = [addressOf(0xc0de), 0xbee];

const hashOf = (block: number) => wordOf(0xb10c_0000_0000 + block);
const quantity = (number: number) => `0x${number.toString(16)}`;

/** The logs are spread over the blocks. */
class StillChain {
  readonly #texts: { readonly block: number; readonly text: string }[] = [];
  makingMs = 0;
  calls = 0;

  constructor() {
    for (let n = 0; n < LOGS; n++) {
      const block = 1 + Math.floor((n * BLOCKS) / LOGS);
      const log = {
        ...{ address: TOKEN, topics: [TRANSFER, wordOf(7_919 * n + 1), wordOf(PAYEE)], data: wordOf(1_000_000 + n) },
        ...{ blockNumber: quantity(block), blockHash: hashOf(block), transactionHash: wordOf(0x7000_0000_0000 + n) },
        ...{ transactionIndex: '0x0', logIndex: quantity(n % 8), removed: false },
      };
      this.#texts.push({ block, text: JSON.stringify(log) });
    }
  }

  readonly fetch = async (_url: string, { body }: RequestInit): Promise<Response> => {
    const startedMs = process.cpuUsage();
    const payload = JSON.parse(String(body)) as Call | Call[];
    const text = Array.isArray(payload)
      ? `[${payload.map((call) => this.#answer(call)).join()}]`
      : this.#answer(payload);
    const { user, system } = process.cpuUsage(startedMs);
    this.makingMs += (user + system) / 1_000;
    return new Response(text, { headers: { 'content-type': 'application/json' } });
  };

  #answer({ id, method, params }: Call): string {
    this.calls++;
    return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${this.#result(method, params)}}`;
  }

  #result(method: string, [first]: readonly unknown[]): string {
    if (method === 'eth_chainId') return `"${quantity(NETWORK_ID)}"`;
    if (method === 'eth_call') return `"${wordOf(6)}"`;
    if (method === 'eth_getBlockByNumber') return JSON.stringify(headerOf(String(first)));
    if (method !== 'eth_getLogs') return 'null';
    const { fromBlock, toBlock } = first as { fromBlock: string; toBlock: string };
    const [from, to] = [Number(fromBlock), Number(toBlock)];
    const start = Math.ceil(((from - 1) * LOGS) / BLOCKS);
    const parts: string[] = [];
    for (let n = Math.max(0, start); n < LOGS; n++) {
      const { block = 0, text = '' } = this.#texts[n] ?? {};
      if (block > to) break;
      if (block >= from) parts.push(text);
    }
    return `[${parts.join()}]`;
  }
}

type Call = { readonly id: unknown; readonly method: string; readonly params: readonly unknown[] };

const HEAD = BLOCKS + 200;

function headerOf(tag: string): object | null {
  const number = tag === 'latest' ? HEAD : tag === 'finalized' || tag === 'safe' ? BLOCKS + 100 : Number(tag);
  if (number > HEAD) return null;
  const times = { timestamp: quantity(1_700_000_000 + 2 * number), transactions: [] };
  return { number: quantity(number), hash: hashOf(number), parentHash: hashOf(number - 1), ...times };
}

async function run(engine: Engine): Promise<string> {
  const { target, remove } = await createTarget(engine);
  const db = await openDatabase(target);
  try {
    await migrate(db);
    const { entityId } = await createTenant(db);
    const definition = {
      ...{ networkId: NETWORK_ID, preset: 'erc20' as const, contract: TOKEN, abi: null, event: null },
      ...{ where: { to: [addressOf(PAYEE)] }, fields: {}, fromBlock: 1, deliverHistory: false },
    };
    const prepared = { definition, topic: TRANSFER, topics: [[TRANSFER], null, [wordOf(PAYEE)]], head: HEAD };
    await createSource(db, entityId, prepared, 10, TEST_CHANGE);
    const chain = new StillChain();
    const exchange = httpExchange({ url: 'http://node.example', fetch: chain.fetch });
    const nodes = new Nodes([
      new Node({ name: 'still', identity: evmIdentity(NETWORK_ID), exchange, callsPerSecond: 1_000_000 }),
    ]);
    const sources = new FollowedSources();
    const callContract = contractCalls((_network, method, params) =>
      nodes.ask({ method, params, read: (result) => result }),
    );
    const follower = new Follower({
      ...{ networkId: NETWORK_ID, finalityDepth: null, graceBlocks: 3, leastDepth: 1, quorum: null, nodes },
      store: new NetworkStore(db, 'bench', (queries, networkId) => sources.read(queries, networkId)),
      reader: new EvmReader(
        new LogDecoder({
          tokens: { read: readTokens.bind(null, db), save: saveTokens.bind(null, db) },
          callContract,
        }),
      ),
    });
    const before = process.cpuUsage();
    let polls = 1;
    for (let result = await follower.poll(); result.hasBackfill; polls++) result = await follower.backfill();
    const { user, system } = process.cpuUsage(before);
    const facts = await readInteger(db, 'count(*)', 'from facts');
    if (facts !== LOGS) throw new Error(`${facts} facts of ${LOGS} logs`);
    const cpuS = (user + system) / 1_000_000 - chain.makingMs / 1_000;
    return `${engine}: ${Math.round(LOGS / cpuS)} logs per CPU second; ${cpuS.toFixed(1)} s, ${polls} ranges, ${chain.calls} calls`;
  } finally {
    await db.close();
    remove();
  }
}

async function main(): Promise<number> {
  for (const engine of ENGINES) {
    if (values.store === undefined || values.store === engine) printLine(await run(engine));
  }
  return 0;
}

await runAndExit(main);
