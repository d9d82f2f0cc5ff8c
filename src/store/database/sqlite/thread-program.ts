import { StoreUnavailableError } from '../database.ts';
import { openConnection } from './connect.ts';
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

let queries: ConnectionQueries | null = null;

self.onmessage = async ({ data }: MessageEvent<ThreadRequest | string>) => {
  if (typeof data === 'string') {
    const connection = openConnection(data);
    connection.exec('pragma query_only = on');
    queries = new ConnectionQueries(connection);
    return;
  }
  self.postMessage(await respond(data));
};

async function respond({ id, method, sql, params }: ThreadRequest): Promise<ThreadResponse> {
  try {
    if (queries === null) throw new TypeError('no file was named');
    return { id, value: await queries[method](sql, params) };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { id, error: { message, code: codeOf(error), isUnavailable: error instanceof StoreUnavailableError } };
  }
}
