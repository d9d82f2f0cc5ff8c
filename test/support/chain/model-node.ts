import { RpcFailure } from '../../../src/chain/rpc/failures.ts';
import type { Exchange, Fetch } from '../../../src/chain/rpc/http-exchange.ts';
import type { Log } from '../../../src/chain/rpc/types.ts';
import type { Random } from '../random.ts';
import type { ModelBlock, ModelChain, View } from './model-chain.ts';

/** A node of a model chain, over JSON-RPC in the process, which misbehaves as nodes in the field do. */

export type Tag = number | 'error' | 'null' | 'zero';

export type Faults = {
  /** How many heads of the network the node has not seen yet. */
  lag: number;
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
  omission: { responses: 0, logs: 0 },
  rateLimited: 0,
  garbage: 0,
  unreachable: 0,
  chainId: 1,
  finalized: 16,
  safe: 8,
  maxBlocks: Number.POSITIVE_INFINITY,
  maxLogs: Number.POSITIVE_INFINITY,
  cutAt: Number.POSITIVE_INFINITY,
  maxSize: Number.POSITIVE_INFINITY,
};

type RpcRequest = { readonly id: number; readonly method: string; readonly params: readonly unknown[] };
type RpcFilter = { fromBlock: string; toBlock: string; address: string[]; topics: (string[] | null)[] };

const NEVER: Random = { below: () => 99 };

export class ModelNode {
  readonly faults: Faults;
  readonly calls = new Map<string, number>();
  requests = 0;
  /** The blocks of each `eth_getLogs`, and whether the node refused it. */
  readonly ranges: { readonly blocks: number; readonly isRefused: boolean }[] = [];
  isDown = false;

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

  #view(): View {
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
        return this.#block(String(params[0]), view);
      case 'eth_getLogs':
        return this.#logs(params[0] as RpcFilter, view);
      case 'eth_getTransactionReceipt':
        return this.#receipt(String(params[0]), view);
      default:
        throw new Refusal(-32601);
    }
  }

  #block(name: string, view: View): unknown {
    const head = view.length - 1;
    if (name === 'latest') return header(view.blocks[head]);
    if (name !== 'finalized' && name !== 'safe') return Number(name) > head ? null : header(view.blocks[Number(name)]);
    const tag = this.faults[name];
    if (tag === 'error') throw new Refusal(-32000);
    if (tag === 'null') return null;
    if (tag === 'zero') return { number: '0x0', hash: `0x${'0'.repeat(64)}`, timestamp: '0x0' };
    return header(view.blocks[Math.max(0, head - tag)]);
  }

  #blockOf(hash: string, { blocks, length }: View): ModelBlock | null {
    const isSeen = (block: ModelBlock) => block.number < length && blocks[block.number] === block;
    return this.chain.blocksOf.get(hash)?.find(isSeen) ?? null;
  }

  #receipt(hash: string, view: View): unknown {
    const block = this.#blockOf(hash, view);
    if (block === null) return null;
    const isSuccess = block.transactions.find((each) => each.hash === hash)?.isSuccess === true;
    const logs = block.logs.filter(({ transactionHash }) => transactionHash === hash).map(rpcLog);
    const place = { blockNumber: hex(block.number), blockHash: block.hash };
    return { transactionHash: hash, ...place, status: isSuccess ? '0x1' : '0x0', logs };
  }

  #logs({ fromBlock, toBlock, address, topics }: RpcFilter, view: View): unknown {
    const { maxBlocks, maxLogs, maxSize, cutAt, omission } = this.faults;
    const [from, to] = [Number(fromBlock), Math.min(Number(toBlock), view.length - 1)];
    const blocks = Number(toBlock) - from + 1;
    const refuse = (code: number) => {
      this.ranges.push({ blocks, isRefused: true });
      return new Refusal(code);
    };
    if (blocks > maxBlocks) throw refuse(-32602);
    const found: Log[] = [];
    for (let number = from; number <= to; number++) {
      for (const log of view.blocks[number]?.logs ?? []) {
        if (address.includes(log.address) && matches(log, topics)) found.push(log);
      }
    }
    if (found.length > maxSize) throw new RpcFailure('too_large');
    if (found.length > maxLogs) throw refuse(-32005);
    this.ranges.push({ blocks, isRefused: false });
    const isLossy = this.#happens(omission.responses);
    return (isLossy ? found.filter(() => !this.#happens(omission.logs)) : found).slice(0, cutAt).map(rpcLog);
  }
}

/** One URL with several nodes behind it, which take the requests in turn. */
export function balancer(nodes: readonly ModelNode[]): Exchange {
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

function header(block: ModelBlock | undefined): unknown {
  return block === undefined
    ? null
    : { number: hex(block.number), hash: block.hash, timestamp: hex(block.timestampS), transactions: [] };
}

function rpcLog(log: Log): unknown {
  return { ...log, blockNumber: hex(log.blockNumber), logIndex: hex(log.logIndex), removed: false };
}

function hex(number: number): string {
  return `0x${number.toString(16)}`;
}
