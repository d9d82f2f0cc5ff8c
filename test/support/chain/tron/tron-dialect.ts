import { hex, type JsonRpc, RpcError } from '../json-rpc.ts';

/** The JSON-RPC of java-tron over the JSON-RPC of Ethereum, as its documentation and its source have it. */

const INVALID_PARAMS = -32_602;
const TOO_MANY_RESULTS = -32_005;
const MAX_RANGE = 5_000;
const MAX_RESULTS = 10_000;
const NUMBER_DIGITS = 16;
const BLOCK_FIELDS = ['blockHash', 'hash', 'parentHash'];

type Fields = Readonly<Record<string, unknown>>;

/** A block id begins with the number of the block. Knows no `safe`, and no hash of a block that is not in its chain. */
export function tronDialect(rpc: JsonRpc): JsonRpc {
  const ids = new BlockIds(rpc);
  return async (method, params) => {
    const [first] = params;
    switch (method) {
      case 'eth_getBlockByNumber':
        if (first === 'safe') throw new RpcError(INVALID_PARAMS, 'TAG [earliest | pending | safe] not supported');
        return ids.show(await rpc(method, params));
      case 'eth_getLogs': {
        const logs = (await rpc(method, [await ids.filter(first as Fields)])) as unknown[];
        if (logs.length > MAX_RESULTS) throw new RpcError(TOO_MANY_RESULTS, 'query returned more than 10000 results');
        return ids.show(logs);
      }
      case 'eth_call':
        if (params[1] !== 'latest')
          throw new RpcError(INVALID_PARAMS, 'QUANTITY not supported, just support TAG as latest');
        return rpc(method, params);
      default:
        return ids.show(await rpc(method, params));
    }
  };
}

class BlockIds {
  /** The hash of the EVM, by the id that the node shows. */
  readonly #hashes = new Map<string, string>();

  constructor(private readonly rpc: JsonRpc) {}

  async filter(filter: Fields): Promise<Fields> {
    const { blockHash, fromBlock, toBlock } = filter;
    if (typeof blockHash !== 'string') {
      if (Number(toBlock) - Number(fromBlock) > MAX_RANGE) {
        throw new RpcError(INVALID_PARAMS, `exceed max block range: ${MAX_RANGE}`);
      }
      return filter;
    }
    const hash = this.#hashes.get(blockHash);
    const block = hash === undefined ? null : await this.rpc('eth_getBlockByHash', [hash, false]);
    if (block === null) throw new RpcError(INVALID_PARAMS, 'invalid blockHash');
    return { ...filter, blockHash: hash };
  }

  /** Puts the number of each block in front of its hash. */
  async show(result: unknown): Promise<unknown> {
    if (Array.isArray(result)) return Promise.all(result.map((each) => this.show(each)));
    if (typeof result !== 'object' || result === null) return result;
    const fields = result as Fields;
    const number = Number(fields.number ?? fields.blockNumber);
    const shown = await Promise.all(
      Object.entries(fields).map(async ([name, value]) => {
        if (name === 'logs') return [name, await this.show(value)];
        const isHash = BLOCK_FIELDS.includes(name) && typeof value === 'string' && !Number.isNaN(number);
        // The hash of a transaction has its own field, and no number.
        if (!isHash || (name === 'hash' && fields.number === undefined)) return [name, value];
        return [name, this.#idOf(value, name === 'parentHash' ? number - 1 : number)];
      }),
    );
    return Object.fromEntries(shown);
  }

  #idOf(hash: string, number: number): string {
    const digits = hex(Math.max(0, number)).slice(2).padStart(NUMBER_DIGITS, '0');
    const id = `0x${digits}${hash.slice(2 + NUMBER_DIGITS)}`;
    this.#hashes.set(id, hash);
    return id;
  }
}
