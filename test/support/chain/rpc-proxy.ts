import { hex, type JsonRpc, RpcError } from './json-rpc.ts';

/**
 * An HTTP node on loopback in front of any chain. It gives a chain without finality its tags, counts what it is asked,
 * and misbehaves as nodes in the field do.
 */

/** Blocks behind the head, one fixed block (which may go down), or what a node without the tag answers. */
export type Tag = number | { readonly block: number } | 'error' | 'null';

export type RpcLog = { readonly blockNumber: string; readonly transactionHash: string; readonly logIndex: string };

/** What happens to a whole HTTP request. */
export type RequestFault =
  | { readonly kind: 'status'; readonly status: number; readonly headers?: Record<string, string> }
  | { readonly kind: 'garbage' }
  /** A JSON body that is not JSON-RPC. */
  | { readonly kind: 'body'; readonly body: unknown }
  /** No response before the proxy stops. */
  | { readonly kind: 'hang' };

export type Behaviour = {
  safe: Tag;
  finalized: Tag;
  /** How many of the newest blocks the node has not got yet. */
  lagBlocks: number;
  /** The logs that the node returns of those that match. */
  logs: (logs: readonly RpcLog[]) => readonly RpcLog[];
  /** The network that the node says it is on. */
  chainId: number | null;
  /** Asked once for each HTTP request, with the methods of its batch. */
  fault: (methods: readonly string[]) => RequestFault | null;
};

type RpcRequest = { readonly id: unknown; readonly method: string; readonly params?: readonly unknown[] };
type Range = { readonly fromBlock?: string; readonly toBlock?: string; readonly blockHash?: string };

const TAGS = ['earliest', 'safe', 'finalized', 'latest', 'pending'];

export class RpcProxy implements AsyncDisposable {
  readonly behaviour: Behaviour;
  /** Calls by method, each member of a batch for itself. */
  readonly calls = new Map<string, number>();
  /** HTTP requests, each batch once. */
  requests = 0;
  /** The headers of the newest request. */
  headers = new Headers();
  readonly #server;
  readonly #stopped = Promise.withResolvers<Response>();

  constructor(
    private readonly rpc: JsonRpc,
    behaviour: Partial<Behaviour> = {},
  ) {
    this.behaviour = {
      safe: 8,
      finalized: 16,
      lagBlocks: 0,
      logs: (logs) => logs,
      chainId: null,
      fault: () => null,
      ...behaviour,
    };
    this.#server = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      idleTimeout: 0,
      fetch: (request) => this.#respond(request),
    });
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}/`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped.resolve(new Response(null, { status: 503 }));
    await this.#server.stop(true);
  }

  async #respond(request: Request): Promise<Response> {
    const body = (await request.json()) as RpcRequest | RpcRequest[];
    const batch = Array.isArray(body) ? body : [body];
    this.requests++;
    this.headers = request.headers;
    for (const { method } of batch) this.calls.set(method, (this.calls.get(method) ?? 0) + 1);
    const fault = this.behaviour.fault(batch.map(({ method }) => method));
    if (fault !== null) return this.#misbehave(fault);
    const answers: unknown[] = [];
    for (const each of batch) answers.push(await this.#answer(each));
    return Response.json(Array.isArray(body) ? answers : answers[0]);
  }

  #misbehave(fault: RequestFault): Response | Promise<Response> {
    switch (fault.kind) {
      case 'status':
        return new Response('not now', { status: fault.status, headers: fault.headers ?? {} });
      case 'body':
        return Response.json(fault.body);
      case 'garbage':
        return new Response('<html>Bad gateway</html>', { headers: { 'content-type': 'text/html' } });
      case 'hang':
        return this.#stopped.promise;
    }
  }

  async #answer({ id, method, params = [] }: RpcRequest): Promise<object> {
    try {
      return { jsonrpc: '2.0', id, result: await this.#result(method, params) };
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      return { jsonrpc: '2.0', id, error: { code: error.code, message: error.message } };
    }
  }

  async #result(method: string, params: readonly unknown[]): Promise<unknown> {
    const head = Number(await this.rpc('eth_blockNumber', [])) - this.behaviour.lagBlocks;
    switch (method) {
      case 'eth_chainId':
        return this.behaviour.chainId === null ? this.rpc(method, params) : hex(this.behaviour.chainId);
      case 'eth_blockNumber':
        return hex(head);
      case 'eth_getBlockByNumber':
        return this.#block(head, params);
      case 'eth_getLogs':
        return this.#logs(head, params[0] as Range);
      default:
        return hideAbove(head, await this.rpc(method, params));
    }
  }

  async #block(head: number, [at, ...rest]: readonly unknown[]): Promise<unknown> {
    const height = this.#heightOf(head, String(at));
    return height === null || height > head ? null : this.rpc('eth_getBlockByNumber', [hex(height), ...rest]);
  }

  async #logs(head: number, { fromBlock = 'latest', toBlock = 'latest', ...rest }: Range): Promise<unknown> {
    if (rest.blockHash !== undefined) return this.#keptLogs(head, rest);
    const from = this.#heightOf(head, fromBlock);
    const to = this.#heightOf(head, toBlock);
    // A node that has not got the blocks of a range answers with an empty list, not with an error.
    if (from === null || to === null || from > head) return [];
    return this.#keptLogs(head, { ...rest, fromBlock: hex(from), toBlock: hex(Math.min(to, head)) });
  }

  async #keptLogs(head: number, range: Range): Promise<readonly RpcLog[]> {
    const logs = (await this.rpc('eth_getLogs', [range])) as RpcLog[];
    return this.behaviour.logs(logs.filter(({ blockNumber }) => Number(blockNumber) <= head));
  }

  /** Null where the node has no block under the tag. */
  #heightOf(head: number, at: string): number | null {
    if (!TAGS.includes(at)) return Number(at);
    if (at === 'earliest') return 0;
    if (at !== 'safe' && at !== 'finalized') return head;
    const tag = this.behaviour[at];
    if (tag === 'null') return null;
    if (tag === 'error') throw new RpcError(-32000, `${at} block not found`);
    return typeof tag === 'number' ? Math.max(head - tag, 0) : tag.block;
  }
}

/** A transaction, a receipt or a block by hash that a node has not got yet is null. */
function hideAbove(head: number, result: unknown): unknown {
  if (typeof result !== 'object' || result === null) return result;
  const { blockNumber, number } = result as { blockNumber?: string | null; number?: string | null };
  const at = blockNumber ?? number;
  return at !== undefined && at !== null && Number(at) > head ? null : result;
}
