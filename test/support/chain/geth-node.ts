import { createHmac } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Subprocess } from 'bun';
import { type JsonRpc, RpcError } from './json-rpc.ts';

/** One geth without peers, whose head is moved over the Engine API as a consensus client would. */

export const GETH_CHAIN_ID = 1337;
const START_LIMIT_MS = 60_000;
const GAS_LIMIT = '0x1c9c380';

/** Seconds. Blocks of the same height need other times, or they would be the same block. */
let lastBlockTimeS = 1_700_000_000;

export type Payload = {
  readonly parentHash: string;
  readonly blockHash: string;
  readonly blockNumber: string;
  readonly transactions: readonly string[];
};
type ForkchoiceAnswer = { readonly payloadStatus: { readonly status: string }; readonly payloadId: string | null };

const NO_HASH = `0x${'0'.repeat(64)}`;

export class GethNode {
  private constructor(
    private readonly child: Subprocess,
    /** The address of the public JSON-RPC. */
    readonly url: string,
    readonly rpc: JsonRpc,
    private readonly engine: JsonRpc,
  ) {}

  static async start(binary: string, folder: string, funded: readonly string[]): Promise<GethNode> {
    mkdirSync(folder, { recursive: true });
    const [genesis, secretFile] = [join(folder, 'genesis.json'), join(folder, 'jwt.hex')];
    const secret = crypto.getRandomValues(Buffer.alloc(32));
    await Bun.write(genesis, JSON.stringify(genesisOf(funded)));
    await Bun.write(secretFile, secret.toString('hex'));
    const data = ['--datadir', join(folder, 'data')];
    const init = Bun.spawn([binary, 'init', ...data, genesis], { stdout: 'ignore', stderr: 'pipe' });
    const output = await init.stderr.text();
    if ((await init.exited) !== 0) throw new Error(`geth init failed: ${output}`);
    const quiet = ['--nodiscover', '--maxpeers', '0', '--port', '0', '--ipcdisable', '--syncmode', 'full'];
    const http = ['--http', '--http.addr', '127.0.0.1', '--http.port', '0', '--http.api', 'eth,net,web3'];
    const engine = ['--authrpc.addr', '127.0.0.1', '--authrpc.port', '0', '--authrpc.jwtsecret', secretFile];
    const child = Bun.spawn([binary, ...data, ...quiet, ...http, ...engine], { stdout: 'ignore', stderr: 'pipe' });
    const [url, engineUrl] = await readAddresses(child);
    return new GethNode(
      child,
      url,
      rpcOver(url),
      rpcOver(engineUrl, () => bearerOf(secret)),
    );
  }

  /** The process hangs: connections stay open, and nothing is answered. */
  freeze(): void {
    this.child.kill('SIGSTOP');
  }

  thaw(): void {
    this.child.kill('SIGCONT');
  }

  async stop(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.child.exited;
  }

  /** Builds a block on the head with these transactions, and makes it the head. */
  async mine(parentHash: string, transactions: readonly string[]): Promise<Payload> {
    for (const raw of transactions) await this.rpc('eth_sendRawTransaction', [raw]);
    for (let attempt = 0; attempt < 50; attempt++) {
      const payload = await this.#build(parentHash, attempt);
      if (payload.transactions.length < transactions.length) continue;
      await this.import(payload);
      await this.setHead(payload.blockHash);
      return payload;
    }
    throw new Error('geth built no block with the transactions');
  }

  /** geth fills a payload in the background: one that is asked for too early is empty. */
  async #build(parentHash: string, attempt: number): Promise<Payload> {
    const attributes = {
      timestamp: `0x${(++lastBlockTimeS).toString(16)}`,
      prevRandao: NO_HASH,
      suggestedFeeRecipient: `0x${'0'.repeat(40)}`,
      withdrawals: [],
      parentBeaconBlockRoot: NO_HASH,
    };
    const { payloadId } = await this.#forkchoice(parentHash, {}, attributes);
    if (payloadId === null) throw new Error('geth began no payload');
    await Bun.sleep(20 * (attempt + 1));
    const { executionPayload } = (await this.engine('engine_getPayloadV3', [payloadId])) as {
      executionPayload: Payload;
    };
    return executionPayload;
  }

  /** Gives the node a block that it does not make its head yet. */
  async import(payload: Payload): Promise<void> {
    const { status } = (await this.engine('engine_newPayloadV3', [payload, [], NO_HASH])) as { status: string };
    if (status !== 'VALID') throw new Error(`geth found the block ${status}`);
  }

  async setHead(head: string, tags: { readonly safe?: string; readonly finalized?: string } = {}): Promise<void> {
    await this.#forkchoice(head, tags, null);
  }

  async #forkchoice(
    headBlockHash: string,
    { safe = NO_HASH, finalized = NO_HASH }: { readonly safe?: string; readonly finalized?: string },
    attributes: object | null,
  ): Promise<ForkchoiceAnswer> {
    const state = { headBlockHash, safeBlockHash: safe, finalizedBlockHash: finalized };
    const answer = (await this.engine('engine_forkchoiceUpdatedV3', [state, attributes])) as ForkchoiceAnswer;
    if (answer.payloadStatus.status !== 'VALID') throw new Error(`geth found the head ${answer.payloadStatus.status}`);
    return answer;
  }
}

function genesisOf(funded: readonly string[]): object {
  const blocks = ['homestead', 'eip150', 'eip155', 'eip158', 'byzantium', 'constantinople', 'petersburg'];
  blocks.push('istanbul', 'muirGlacier', 'berlin', 'london', 'arrowGlacier', 'grayGlacier', 'mergeNetsplit');
  return {
    config: {
      chainId: GETH_CHAIN_ID,
      ...Object.fromEntries(blocks.map((name) => [`${name}Block`, 0])),
      terminalTotalDifficulty: 0,
      shanghaiTime: 0,
      cancunTime: 0,
      blobSchedule: { cancun: { target: 3, max: 6, baseFeeUpdateFraction: 3_338_477 } },
    },
    difficulty: '0x0',
    gasLimit: GAS_LIMIT,
    timestamp: '0x0',
    alloc: Object.fromEntries(funded.map((address) => [address, { balance: '0xde0b6b3a7640000' }])),
  };
}

/** The addresses of the public and of the engine's JSON-RPC, as geth logs them. Its output is read on, or it would block. */
function readAddresses(child: Subprocess<'ignore', 'ignore', 'pipe'>): Promise<[string, string]> {
  const found = Promise.withResolvers<[string, string]>();
  const read = async () => {
    const decoder = new TextDecoder();
    let text = '';
    for await (const chunk of child.stderr) {
      text = (text + decoder.decode(chunk, { stream: true })).slice(-100_000);
      const [open, engine] = [/endpoint=(\S+) +auth=false/, /endpoint=(\S+) +auth=true/].map(
        (at) => at.exec(text)?.[1],
      );
      if (open !== undefined && engine !== undefined) found.resolve([`http://${open}/`, `http://${engine}/`]);
    }
    found.reject(new Error(`geth exited: ${text.slice(-2_000)}`));
  };
  read().catch(found.reject);
  const limit = setTimeout(() => found.reject(new Error('geth did not listen in time')), START_LIMIT_MS);
  return found.promise.finally(() => clearTimeout(limit));
}

function rpcOver(url: string, bearer: () => string | null = () => null): JsonRpc {
  return async (method, params) => {
    const token = bearer();
    const headers = {
      'content-type': 'application/json',
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const response = await fetch(url, { method: 'POST', headers, body });
    if (!response.ok) throw new Error(`geth responded with ${response.status}: ${await response.text()}`);
    const { result, error } = (await response.json()) as {
      result?: unknown;
      error?: { code: number; message: string };
    };
    if (error !== undefined) throw new RpcError(error.code, `${method}: ${error.message}`);
    return result ?? null;
  };
}

/** A JSON web token for the Engine API: it is valid for a minute. */
function bearerOf(secret: Buffer): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const signed = `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ iat: Math.floor(Date.now() / 1000) })}`;
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
}
