import type { Log } from '../../../src/chain/evm/rpc/types.ts';
import { RpcFailure } from '../../../src/chain/rpc/failures.ts';
import type { Exchange, Fetch } from '../../../src/chain/rpc/http-exchange.ts';
import type { Random } from '../random.ts';
import type { ModelBlock, ModelChain, ModelTransaction, View } from './model-chain.ts';

/** A node of a model chain, over JSON-RPC in the process, which misbehaves as nodes in the field do. */

export type Tag = number | 'error' | 'null' | 'zero';

export type Faults = {
  /** How many heads of the network the node has not seen yet. */
  lag: number;
  /** Seconds that the timestamps of its blocks are ahead. */
  aheadS: number;
  /** Seconds that the times sent with its logs are ahead; null if it sends none. */
  logsAheadS: number | null;
  /** Logs that the node adds to a block, and to the receipts of their transactions. */
  invents: (block: ModelBlock) => readonly Log[];
  /** Coin that contracts have brought to an address, which no transaction shows. */
  unseenCoin: (address: string) => bigint;
  /** Transactions that the node has without their logs. */
  denies: (transactionHash: string) => boolean;
  /** In this share of the responses with logs (of 100), so many of 100 logs are left out. */
  omission: { readonly responses: number; readonly logs: number };
  /** Of 100 requests, how many are rejected with 429. */
  rateLimited: number;
  garbage: number;
  unreachable: number;
  chainId: number;
  /** How many blocks below the head they are, or what a node without them has. */
  finalized: Tag;
  safe: Tag;
  /** Whether logs can be asked for by the hash of a block. */
  takesHashes: boolean;
  /** A request for more blocks is refused. */
  maxBlocks: number;
  /** A request with more logs is refused. */
  maxLogs: number;
  /** A list ends there, without an error. */
  cutAt: number;
  /** A response with more logs is larger than the client reads. */
  maxSize: number;
};

const SOUND: Faults = {
  lag: 0,
  aheadS: 0,
  logsAheadS: null,
  invents: () => [],
  unseenCoin: () => 0n,
  denies: () => false,
  omission: { responses: 0, logs: 0 },
  rateLimited: 0,
  garbage: 0,
  unreachable: 0,
  chainId: 1,
  finalized: 16,
  safe: 8,
  takesHashes: true,
  maxBlocks: Number.POSITIVE_INFINITY,
  maxLogs: Number.POSITIVE_INFINITY,
  cutAt: Number.POSITIVE_INFINITY,
  maxSize: Number.POSITIVE_INFINITY,
};

export type RpcRequest = { readonly id: number; readonly method: string; readonly params: readonly unknown[] };
type RpcFilter = {
  fromBlock?: string;
  toBlock?: string;
  blockHash?: string;
  address: string[];
  topics: (string[] | null)[];
};

const NEVER: Random = { below: () => 99 };

export class ModelNode {
  readonly faults: Faults;
  readonly calls = new Map<string, number>();
  requests = 0;
  /** The blocks of each `eth_getLogs`, and whether the node refused it. */
  readonly ranges: { readonly blocks: number; readonly isRefused: boolean }[] = [];
  /** Calls for logs by the hash of a block, and by a range. */
  hashCalls = 0;
  rangeCalls = 0;
  isDown = false;
  #frozen: View | null = null;

  constructor(
    readonly chain: ModelChain,
    faults: Partial<Faults> = {},
    private readonly random: Random = NEVER,
  ) {
    this.faults = { ...SOUND, ...faults };
  }

  readonly exchange: Exchange = async (payload) => {
    this.requests++;
    const { rateLimited, garbage, unreachable } = this.faults;
    if (this.#happens(rateLimited)) throw new RpcFailure('rate_limited');
    if (this.isDown || this.#happens(unreachable)) throw new RpcFailure('unreachable');
    if (this.#happens(garbage)) return { hello: 'world' };
    const view = this.#view();
    const reply = (request: RpcRequest) => this.#reply(request, view);
    return Array.isArray(payload) ? payload.map(reply) : reply(payload as RpcRequest);
  };

  /** The same over HTTP bodies. */
  readonly fetch: Fetch = async (_, init) => {
    try {
      return Response.json(await this.exchange(JSON.parse(String(init.body))));
    } catch (error) {
      if (error instanceof RpcFailure && error.kind === 'rate_limited') return new Response('', { status: 429 });
      throw error;
    }
  };

  /** Whether the node has the transaction in a block up to this one. */
  hasTransaction(hash: string, to: number): boolean {
    const block = this.#blockOf(hash, this.#view());
    return block !== null && block.number <= to;
  }

  #happens(share: number): boolean {
    return share > 0 && this.random.below(100) < share;
  }

  /** From now on, the node answers with what it has now. */
  freeze(): void {
    this.#frozen = this.#view();
  }

  thaw(): void {
    this.#frozen = null;
  }

  #view(): View {
    if (this.#frozen !== null) return this.#frozen;
    const { views } = this.chain;
    const view = views[Math.max(0, views.length - 1 - this.faults.lag)];
    if (view === undefined) throw new Error('A chain has a block');
    return view;
  }

  #reply({ id, method, params }: RpcRequest, view: View): object {
    this.calls.set(method, (this.calls.get(method) ?? 0) + 1);
    try {
      return { jsonrpc: '2.0', id, result: this.#result(method, params, view) };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { jsonrpc: '2.0', id, error: { code: error.code, message: 'refused' } };
    }
  }

  #result(method: string, params: readonly unknown[], view: View): unknown {
    switch (method) {
      case 'eth_chainId':
        return hex(this.faults.chainId);
      case 'eth_getBlockByNumber':
        return this.#block(String(params[0]), view, params[1] === true);
      case 'eth_getBlockByHash':
        return this.#blockByHash(String(params[0]), view, params[1] === true);
      case 'eth_getTransactionByHash':
        return this.#transaction(String(params[0]), view);
      case 'eth_getBalance':
        return hex(this.balanceOf(String(params[0]), Number(params[1]), view));
      case 'eth_getLogs':
        return this.#logs(params[0] as RpcFilter, view);
      case 'eth_getTransactionReceipt':
        return this.#receipt(String(params[0]), view);
      default:
        throw new Refusal(-32601);
    }
  }

  /** The coin that transactions have brought to an address, failed ones left out. */
  balanceOf(address: string, block: number, { blocks, length }: View = this.#view()): bigint {
    const transactions = blocks.slice(0, Math.min(block + 1, length)).flatMap((each) => each.transactions);
    const paid = transactions.filter(({ transfer, isSuccess }) => isSuccess && transfer?.to === address);
    return paid.reduce((sum, { transfer }) => sum + (transfer?.value ?? 0n), this.faults.unseenCoin(address));
  }

  #transaction(hash: string, view: View): unknown {
    const transaction = this.#blockOf(hash, view)?.transactions.find((each) => each.hash === hash);
    return transaction === undefined ? null : wholeTransaction(transaction);
  }

  #blockByHash(hash: string, { blocks, length }: View, isWhole: boolean): unknown {
    const block = blocks.slice(0, length).findLast((each) => each.hash === hash);
    return block === undefined ? null : header(block, this.faults.aheadS, isWhole);
  }

  #block(name: string, view: View, isWhole: boolean): unknown {
    const head = view.length - 1;
    if (name === 'latest') return this.#header(view.blocks[head]);
    if (name !== 'finalized' && name !== 'safe') {
      const block = view.blocks[Number(name)];
      return Number(name) > head ? null : header(block, this.faults.aheadS, isWhole);
    }
    const tag = this.faults[name];
    if (tag === 'error') throw new Refusal(-32000);
    if (tag === 'null') return null;
    if (tag === 'zero') return { number: '0x0', hash: `0x${'0'.repeat(64)}`, timestamp: '0x0' };
    return this.#header(view.blocks[Math.max(0, head - tag)]);
  }

  #header(block: ModelBlock | undefined): unknown {
    return header(block, this.faults.aheadS);
  }

  /** What a log says of the time of its block. */
  #timeOf(block: ModelBlock | undefined): object {
    const { logsAheadS } = this.faults;
    return block === undefined || logsAheadS === null ? {} : { blockTimestamp: hex(block.timestampS + logsAheadS) };
  }

  #logsOf(block: ModelBlock): readonly Log[] {
    const { invents, denies } = this.faults;
    const own = block.logs.filter(({ transactionHash }) => !denies(transactionHash));
    return [...own, ...invents(block)];
  }

  #blockOf(hash: string, { blocks, length }: View): ModelBlock | null {
    const isSeen = (block: ModelBlock) => block.number < length && blocks[block.number] === block;
    return this.chain.blocksOf.get(hash)?.find(isSeen) ?? null;
  }

  /** Like geth, which has an error for a block that it does not have. */
  #numberOf(blockHash: string, { blocks, length }: View): number {
    for (let number = length - 1; number >= 0; number--) if (blocks[number]?.hash === blockHash) return number;
    throw new Refusal(-32000);
  }

  #receipt(hash: string, view: View): unknown {
    const block = this.#blockOf(hash, view) ?? this.#inventedIn(hash, view);
    if (block === null) return null;
    const transaction = block.transactions.find((each) => each.hash === hash);
    const isSuccess = transaction === undefined || transaction.isSuccess;
    const logs = this.#logsOf(block)
      .filter(({ transactionHash }) => transactionHash === hash)
      .map((log) => rpcLog(log, this.#timeOf(block)));
    const place = { blockNumber: hex(block.number), blockHash: block.hash };
    return { transactionHash: hash, ...place, status: isSuccess ? '0x1' : '0x0', logs };
  }

  /** The newest block to which the node adds the transaction. */
  #inventedIn(hash: string, { blocks, length }: View): ModelBlock | null {
    for (let number = length - 1; number >= Math.max(0, length - 100); number--) {
      const block = blocks[number];
      if (block !== undefined && this.faults.invents(block).some(({ transactionHash }) => transactionHash === hash)) {
        return block;
      }
    }
    return null;
  }

  #logs({ fromBlock, toBlock, blockHash, address, topics }: RpcFilter, view: View): unknown {
    const { maxBlocks, maxLogs, maxSize, cutAt, omission } = this.faults;
    if (blockHash === undefined) this.rangeCalls++;
    else this.hashCalls++;
    if (blockHash !== undefined && !this.faults.takesHashes) throw new Refusal(-32602);
    const ofHash = blockHash === undefined ? undefined : this.#numberOf(blockHash, view);
    const [from, last] = [ofHash ?? Number(fromBlock), ofHash ?? Number(toBlock)];
    const to = Math.min(last, view.length - 1);
    const blocks = last - from + 1;
    const refuse = (code: number) => {
      this.ranges.push({ blocks, isRefused: true });
      return new Refusal(code);
    };
    if (blocks > maxBlocks) throw refuse(-32602);
    const found: Log[] = [];
    for (let number = from; number <= to; number++) {
      const block = view.blocks[number];
      for (const log of block === undefined ? [] : this.#logsOf(block)) {
        if (address.includes(log.address) && matches(log, topics)) found.push(log);
      }
    }
    if (found.length > maxSize) throw new RpcFailure('too_large');
    if (found.length > maxLogs) throw refuse(-32005);
    this.ranges.push({ blocks, isRefused: false });
    const isLossy = this.#happens(omission.responses);
    return (isLossy ? found.filter(() => !this.#happens(omission.logs)) : found)
      .slice(0, cutAt)
      .map((log) => rpcLog(log, this.#timeOf(view.blocks[log.blockNumber])));
  }
}

export type Answered = { readonly id: number; readonly result?: unknown; readonly error?: object };

/** The node with other answers to some calls. */
export function changing(exchange: Exchange, change: (request: RpcRequest, answer: Answered) => Answered): Exchange {
  return async (payload) => {
    const requests = (Array.isArray(payload) ? payload : [payload]) as RpcRequest[];
    const body = await exchange(payload);
    const answers = (Array.isArray(body) ? body : [body]) as Answered[];
    const byId = new Map(requests.map((request) => [request.id, request]));
    const changed = answers.map((answer) => {
      const request = byId.get(answer.id);
      return request === undefined ? answer : change(request, answer);
    });
    return Array.isArray(body) ? changed : changed[0];
  };
}

/** One URL with several nodes behind it, which take the requests in turn. */
export function balancer(nodes: readonly { readonly exchange: Exchange }[]): Exchange {
  let requests = 0;
  return async (payload) => {
    const node = nodes[requests++ % nodes.length];
    if (node === undefined) throw new RpcFailure('unreachable');
    return node.exchange(payload);
  };
}

class Refusal extends Error {
  constructor(readonly code: number) {
    super('refused');
  }
}

function matches({ topics }: Log, wanted: readonly (readonly string[] | null)[]): boolean {
  return wanted.every((values, index) => values === null || values.includes(topics[index] ?? ''));
}

function wholeTransaction({ hash, transfer }: ModelTransaction): unknown {
  const { from = `0x${'0'.repeat(40)}`, to = null, value = 0n } = transfer ?? {};
  return { hash, from, to, value: hex(value) };
}

function header(block: ModelBlock | undefined, aheadS: number, isWhole = false): unknown {
  if (block === undefined) return null;
  const { number, hash, parentHash, timestampS, transactions } = block;
  return {
    ...{ number: hex(number), hash, parentHash, timestamp: hex(timestampS + aheadS) },
    transactions: transactions.map((transaction) => (isWhole ? wholeTransaction(transaction) : transaction.hash)),
  };
}

function rpcLog(log: Log, time: object): unknown {
  return { ...log, ...time, blockNumber: hex(log.blockNumber), logIndex: hex(log.logIndex), removed: false };
}

function hex(number: number | bigint): string {
  return `0x${number.toString(16)}`;
}
