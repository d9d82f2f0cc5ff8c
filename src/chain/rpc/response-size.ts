import type { Call } from './call.ts';

/** Limit on the bytes of any response. */
export const MAX_BYTES = 16 * 1024 * 1024;
/** Limit on the answer to one call that returns neither logs nor whole transactions. */
const MAX_BYTES_OF_SMALL_CALL = 1024 * 1024;

const LARGE_METHODS: ReadonlySet<string> = new Set([
  'eth_getLogs',
  'eth_getTransactionReceipt',
  'eth_getBlockReceipts',
]);

/** Methods that return whole transactions if the second parameter is true. */
const WHOLE_BLOCKS: ReadonlySet<string> = new Set(['eth_getBlockByNumber', 'eth_getBlockByHash']);

/** Whether an honest answer can have more than a megabyte. */
export function mayBeLarge({ method, params }: Call<unknown>): boolean {
  return LARGE_METHODS.has(method) || (WHOLE_BLOCKS.has(method) && params[1] === true);
}

/** Limit on the bytes of the response to these calls. */
export function maxBytesOf(calls: readonly Call<unknown>[]): number {
  return calls.some(mayBeLarge) ? MAX_BYTES : Math.min(MAX_BYTES, calls.length * MAX_BYTES_OF_SMALL_CALL);
}
