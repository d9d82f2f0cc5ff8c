import { StoreUnavailableError } from '../database.ts';
import { openReader } from './connect.ts';
import { ConnectionQueries, codeOf } from './sqlite.ts';

/**
 * The program of the store's thread (`thread.ts` starts it): a connection of its own, on which statements run one by one
 * in the order in which they were sent. It keeps no state but the transaction that is open on it.
 */

export type ThreadRequest = {
  readonly id: number;
  readonly method: 'all' | 'get' | 'run';
  readonly sql: string;
  readonly params: readonly (string | number | null | Uint8Array)[];
};

/** An error loses its class and its code on the way to another thread. */
export type ThreadResponse = {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: { readonly message: string; readonly code: string; readonly isUnavailable: boolean };
};

declare const self: Worker;

let file = '';
let queries: ConnectionQueries | null = null;

self.onmessage = async ({ data }: MessageEvent<ThreadRequest | string>) => {
  if (typeof data === 'string') file = data;
  else self.postMessage(await respond(data));
};

/** Where it fails, the statement that needed it fails, and the next one tries again. */
function open(): ConnectionQueries {
  try {
    return new ConnectionQueries(openReader(file));
  } catch (error) {
    throw new StoreUnavailableError(`the file cannot be opened (${codeOf(error)})`, { cause: error });
  }
}

async function respond({ id, method, sql, params }: ThreadRequest): Promise<ThreadResponse> {
  try {
    queries ??= open();
    return { id, value: await queries[method](sql, params) };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { id, error: { message, code: codeOf(error), isUnavailable: error instanceof StoreUnavailableError } };
  }
}
