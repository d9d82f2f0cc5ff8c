import { type Queries, type SqlValue, STORE_DEADLINE_MS, StoreUnavailableError } from '../database.ts';
import type { ThreadRequest, ThreadResponse } from './thread-program.ts';

type Waiting = { readonly resolve: (value: unknown) => void; readonly reject: (error: Error) => void };

/** The first end of a thread may be an accident. After the second, only a new process can be trusted. */
const MAX_REPLACEMENTS = 1;

export type ThreadOptions = {
  readonly deadlineMs?: number;
  /** Called when the thread has ended and will not be replaced. */
  readonly onLost?: (error: Error) => void;
  readonly start?: () => Worker;
};

/**
 * The thread for long work of SQLite: reads of many rows, and checkpoints. It starts with its first statement. If it ends, all
 * waiting statements fail with `StoreUnavailableError`. A new thread replaces the first one; if that ends too, the process ends.
 */
export class StoreThread {
  #connection: ThreadConnection | null = null;
  #replacements = 0;
  #isClosed = false;

  constructor(
    private readonly file: string,
    private readonly options: ThreadOptions = {},
  ) {}

  /** The connection of the thread that is running. Its statements fail once that thread has ended. */
  get connection(): ThreadConnection {
    if (this.#isClosed) throw new StoreUnavailableError('closed');
    this.#connection ??= this.#start();
    return this.#connection;
  }

  close(): void {
    this.#isClosed = true;
    this.#connection?.close();
  }

  #start(): ThreadConnection {
    const { start = startProgram, deadlineMs = STORE_DEADLINE_MS } = this.options;
    return new ThreadConnection(start(), this.file, deadlineMs, (error) => this.#replace(error));
  }

  #replace(error: Error): void {
    this.#connection = null;
    if (this.#isClosed || this.#replacements++ < MAX_REPLACEMENTS) return;
    this.#isClosed = true;
    (this.options.onLost ?? endProcess)(error);
  }
}

function startProgram(): Worker {
  return new Worker(new URL('./thread-program.ts', import.meta.url).href, { ref: false });
}

/** Throws an error that nothing catches, so that the process ends. Its supervisor starts a new one. */
function endProcess(error: Error): void {
  setImmediate(() => {
    throw error;
  });
}

/** Statements on the connection of one thread. */
class ThreadConnection implements Queries {
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;
  #end: Error | null = null;

  constructor(
    private readonly worker: Worker,
    file: string,
    private readonly deadlineMs: number,
    private readonly onEnd: (error: Error) => void,
  ) {
    worker.onmessage = ({ data }: MessageEvent<ThreadResponse>) => this.#settle(data);
    worker.onerror = ({ message }) => this.#endWith(`the thread of the store failed: ${message}`);
    worker.addEventListener('close', () => this.#endWith('the thread of the store ended'));
    worker.postMessage(file);
  }

  all<Row>(sql: string, params: readonly SqlValue[] = []): Promise<Row[]> {
    return this.#send('all', sql, params) as Promise<Row[]>;
  }

  get<Row>(sql: string, params: readonly SqlValue[] = []): Promise<Row | undefined> {
    return this.#send('get', sql, params) as Promise<Row | undefined>;
  }

  run(sql: string, params: readonly SqlValue[] = []): Promise<number> {
    return this.#send('run', sql, params) as Promise<number>;
  }

  async send(sql: string, params?: readonly SqlValue[]): Promise<void> {
    await this.run(sql, params);
  }

  close(): void {
    this.#endWith('closed');
    this.worker.terminate();
  }

  #send(method: ThreadRequest['method'], sql: string, params: readonly SqlValue[]): Promise<unknown> {
    if (this.#end !== null) return Promise.reject(this.#end);
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      // SQLite cannot be interrupted: the statement continues, and later ones wait for its end.
      const timer = setTimeout(() => {
        this.#waiting.delete(id);
        reject(new StoreUnavailableError(`a read took longer than ${this.deadlineMs} ms`));
      }, this.deadlineMs);
      const settled =
        <Value>(settle: (value: Value) => void) =>
        (value: Value) => {
          clearTimeout(timer);
          settle(value);
        };
      this.#waiting.set(id, { resolve: settled(resolve), reject: settled(reject) });
      this.worker.postMessage({ id, method, sql, params } satisfies ThreadRequest);
    });
  }

  #settle({ id, value, error }: ThreadResponse): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error === undefined) waiting?.resolve(value);
    else if (error.unavailable !== null) {
      waiting?.reject(new StoreUnavailableError(error.message, { reason: error.unavailable }));
    } else waiting?.reject(Object.assign(new Error(error.message), { code: error.code }));
  }

  #endWith(reason: string): void {
    if (this.#end !== null) return;
    this.#end = new StoreUnavailableError(reason);
    for (const { reject } of this.#waiting.values()) reject(this.#end);
    this.#waiting.clear();
    this.onEnd(this.#end);
  }
}
