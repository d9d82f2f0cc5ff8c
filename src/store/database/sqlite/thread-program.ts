import { StoreUnavailableError, type UnavailableReason } from '../database.ts';
import { openReader } from './connect.ts';
import { ConnectionQueries, codeOf } from './connection-queries.ts';

/**
 * The program of the store's thread, which `thread.ts` starts. It has its own connection, on which statements run one
 * by one in the order in which they were sent. Its only state is the open transaction.
 */

export type ThreadRequest = {
  readonly id: number;
  readonly method: 'all' | 'get' | 'run';
  readonly sql: string;
  readonly params: readonly (string | number | null | Uint8Array)[];
};

/** Names the class and the code of an error, because an error loses both on the way to another thread. */
export type ThreadResponse = {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: { readonly message: string; readonly code: string; readonly unavailable: UnavailableReason | null };
};

declare const self: Worker;

let file = '';
let queries: ConnectionQueries | null = null;

self.onmessage = async ({ data }: MessageEvent<ThreadRequest | string>) => {
  if (typeof data === 'string') file = data;
  else self.postMessage(await respond(data));
};

/** If opening fails, the statement that needs the connection fails, and the next statement tries again. */
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
    return {
      id,
      error: {
        message,
        code: codeOf(error),
        unavailable: error instanceof StoreUnavailableError ? error.reason : null,
      },
    };
  }
}
