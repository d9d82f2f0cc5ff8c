import type { Metrics, StoreOperation } from '../../metrics/paybell-metrics.ts';
import type { Histogram } from '../../metrics/registry.ts';
import {
  type Announcement,
  type CallOptions,
  type Database,
  type Dialect,
  type Queries,
  type Reads,
  type SqlValue,
  StoreUnavailableError,
} from './database.ts';

/** What every call of the store passes: only a bounded number runs at a time, and each is timed. */

type Waiter = { admit: () => void };

/** Admits `width` callers at a time, the others in order of arrival; both the queue and the wait are bounded. */
export class Semaphore {
  readonly #waiting: Waiter[] = [];
  #free: number;

  constructor(
    width: number,
    private readonly maxWaiting: number,
  ) {
    this.#free = width;
  }

  /** The returned function admits the next caller; call it exactly once. */
  async enter(deadlineMs: number): Promise<() => void> {
    if (this.#free > 0) this.#free--;
    else await this.#wait(deadlineMs);
    return () => this.#leave();
  }

  #wait(deadlineMs: number): Promise<void> {
    if (this.#waiting.length >= this.maxWaiting) {
      return Promise.reject(new StoreUnavailableError('too many callers are waiting for the store'));
    }
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        admit: () => {
          clearTimeout(timer);
          resolve();
        },
      };
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
        reject(new StoreUnavailableError(`the store was not free within ${deadlineMs} ms`));
      }, deadlineMs);
      this.#waiting.push(waiter);
    });
  }

  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free++;
    else next.admit();
  }
}

type Measured = { readonly seconds: Histogram; running: number };

/** The same store with metrics: how long each call took, how long it waited to be admitted, and how many are running. */
export class InstrumentedDatabase implements Database {
  readonly engine: Database['engine'];
  readonly dialect: Dialect;
  readonly #measured: Readonly<Record<StoreOperation, Measured>>;
  readonly longReads: Reads;
  readonly #snapshotWait: Histogram;
  readonly #transactionWait: Histogram;

  constructor(
    private readonly db: Database,
    private readonly metrics: Metrics,
  ) {
    this.engine = db.engine;
    this.dialect = db.dialect;
    const measure = (operation: StoreOperation) => ({ seconds: metrics.storeSeconds.of(operation), running: 0 });
    this.#measured = { read: measure('read'), snapshot: measure('snapshot'), transaction: measure('transaction') };
    this.#snapshotWait = metrics.storeWaitSeconds.of('snapshot');
    this.#transactionWait = metrics.storeWaitSeconds.of('transaction');
    this.longReads = {
      all: <Row>(sql: string, params?: readonly SqlValue[]) => this.#read(() => db.longReads.all<Row>(sql, params)),
      get: <Row>(sql: string, params?: readonly SqlValue[]) => this.#read(() => db.longReads.get<Row>(sql, params)),
      snapshot: (work) => this.#snapshot(db.longReads, work),
    };
    metrics.registry.readLabelled(
      'paybell_store_calls',
      'Calls of the store that are running or waiting.',
      ['operation'],
      () => Object.entries(this.#measured).map(([operation, { running }]) => [[operation], running]),
    );
  }

  all<Row>(sql: string, params?: readonly SqlValue[]): Promise<Row[]> {
    return this.#read(() => this.db.all<Row>(sql, params));
  }

  get<Row>(sql: string, params?: readonly SqlValue[]): Promise<Row | undefined> {
    return this.#read(() => this.db.get<Row>(sql, params));
  }

  snapshot<Value>(work: (queries: Queries) => Promise<Value>): Promise<Value> {
    return this.#snapshot(this.db, work);
  }

  transaction<Value>(work: (queries: Queries) => Promise<Value>, options?: CallOptions): Promise<Value> {
    return this.#measure('transaction', (calledAtMs) =>
      this.db.transaction((queries) => {
        this.#transactionWait.observe((performance.now() - calledAtMs) / 1000);
        return work(queries);
      }, options),
    );
  }

  announceWork(what?: Announcement): Promise<void> {
    return this.db.announceWork(what);
  }

  onWork(callback: (what: string) => void): Promise<void> {
    return this.db.onWork(callback);
  }

  checkpoint(): Promise<void> {
    return this.db.checkpoint();
  }

  close(): Promise<void> {
    return this.db.close();
  }

  #read<Value>(read: () => Promise<Value>): Promise<Value> {
    return this.#measure('read', read);
  }

  #snapshot<Value>(reads: Reads, work: (queries: Queries) => Promise<Value>): Promise<Value> {
    return this.#measure('snapshot', (calledAtMs) =>
      reads.snapshot((queries) => {
        this.#snapshotWait.observe((performance.now() - calledAtMs) / 1000);
        return work(queries);
      }),
    );
  }

  async #measure<Value>(operation: StoreOperation, call: (calledAtMs: number) => Promise<Value>): Promise<Value> {
    const measured = this.#measured[operation];
    const calledAtMs = performance.now();
    measured.running++;
    try {
      return await call(calledAtMs);
    } catch (error) {
      if (error instanceof StoreUnavailableError) this.metrics.storeFailures.inc();
      throw error;
    } finally {
      measured.running--;
      measured.seconds.observe((performance.now() - calledAtMs) / 1000);
    }
  }
}
