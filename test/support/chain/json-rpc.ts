/** One call of a node, whatever answers it: an EVM in this process, a model, or another node over HTTP. */
export type JsonRpc = (method: string, params: readonly unknown[]) => Promise<unknown>;

/** What a node says instead of a result. */
export class RpcError extends Error {
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}

export const hex = (value: number | bigint) => `0x${value.toString(16)}`;

export type Block = { readonly number: number; readonly hash: string; readonly parentHash: string };

/** The block at a height or under a tag, or null if the node has none. */
export async function blockAt(rpc: JsonRpc, height: number | string): Promise<Block | null> {
  const at = typeof height === 'number' ? hex(height) : height;
  const block = (await rpc('eth_getBlockByNumber', [at, false])) as Record<
    'number' | 'hash' | 'parentHash',
    string
  > | null;
  return block === null ? null : { number: Number(block.number), hash: block.hash, parentHash: block.parentHash };
}
