import type { Metrics, StoreOperation } from '../../metrics/paybell-metrics.ts';
import type { Histogram } from '../../metrics/registry.ts';
import { Turns } from '../turns.ts';
import {
  type Announcement,
  type CallOptions,
  type Database,
  type Dialect,
  type LongReads,
  type Queries,
  type Reads,
  type SqlValue,
  StoreUnavailableError,
} from './database.ts';
import { WriteHealth } from './write-health.ts';

/** Limits how many calls of the store run at a time, and measures each. */

type Waiter = { readonly entityId: string; readonly admit: () => void };

/**
 * Admits `width` callers at a time. Waiting callers are admitted in turns of their entities. The length of the queue and the
 * waiting time are bounded.
 */
export class Semaphore {
  readonly #waiting = new Turns<Waiter>();
  #free: number;

  constructor(
    width: number,
    private readonly maxWaiting: number,
  ) {
    this.#free = width;
  }

  /**
   * Resolves when the caller is admitted. Call the returned function exactly once: it admits the next caller. Callers without an
   * entity share a turn.
   */
  async enter(deadlineMs: number, entityId = ''): Promise<() => void> {
    if (this.#free > 0) {
      this.#free--;
      this.#waiting.noteServed(entityId);
    } else await this.#wait(deadlineMs, entityId);
    return () => this.#leave();
  }

  #wait(deadlineMs: number, entityId: string): Promise<void> {
    if (!this.#waiting.hasRoom(entityId, this.maxWaiting)) {
      return Promise.reject(new StoreUnavailableError('too many callers are waiting for the store'));
    }
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        entityId,
        admit: () => {
          clearTimeout(timer);
          resolve();
        },
      };
      const timer = setTimeout(() => {
        this.#waiting.remove(entityId, waiter);
        reject(new StoreUnavailableError(`the store was not free within ${deadlineMs} ms`));
      }, deadlineMs);
      this.#waiting.push(entityId, waiter);
    });
  }

  #leave(): void {
    const [next] = this.#waiting.next(1);
    if (next === undefined) {
      this.#free++;
      return;
    }
    this.#waiting.served(next.entityId, next);
    next.admit();
  }
}

const BLOCKING_REASONS = ['disk_full', 'read_only'] as const;

type Measured = { readonly seconds: Histogram; running: number };

/** The given database, with metrics: how long each call took, how long it waited to be admitted, and how many are running. */
export class InstrumentedDatabase implements Database {
  readonly engine: Database['engine'];
  readonly dialect: Dialect;
  readonly #measured: Readonly<Record<StoreOperation, Measured>>;
  readonly longReads: LongReads;
  readonly dataVersion: Database['dataVersion'];
  readonly #snapshotWait: Histogram;
  readonly #transactionWait: Histogram;
  readonly writes = new WriteHealth();

  constructor(
    private readonly db: Database,
    private readonly metrics: Metrics,
  ) {
    this.engine = db.engine;
    this.dialect = db.dialect;
    this.dataVersion = db.dataVersion;
    const measure = (operation: StoreOperation) => ({ seconds: metrics.storeSeconds.of(operation), running: 0 });
    this.#measured = { read: measure('read'), snapshot: measure('snapshot'), transaction: measure('transaction') };
    this.#snapshotWait = metrics.storeWaitSeconds.of('snapshot');
    this.#transactionWait = metrics.storeWaitSeconds.of('transaction');
    this.longReads = {
      all: <Row>(sql: string, params?: readonly SqlValue[], entityId?: string) =>
        this.#read(() => db.longReads.all<Row>(sql, params, entityId)),
      get: <Row>(sql: string, params?: readonly SqlValue[], entityId?: string) =>
        this.#read(() => db.longReads.get<Row>(sql, params, entityId)),
      snapshot: (work, entityId) => this.#snapshot(db.longReads, work, entityId),
    };
    metrics.registry.readLabelled(
      'paybell_store_calls',
      'Calls of the store that are running or waiting.',
      ['operation'],
      () => Object.entries(this.#measured).map(([operation, { running }]) => [[operation], running]),
    );
    metrics.registry.readLabelled(
      'paybell_store_writes_blocked',
      '1 while writes fail because the disk is full (disk_full) or the database is read-only (read_only).',
      ['reason'],
      () => BLOCKING_REASONS.map((reason) => [[reason], this.writes.problem?.reason === reason ? 1 : 0]),
    );
  }

  all<Row>(sql: string, params?: readonly SqlValue[]): Promise<Row[]> {
    return this.#read(() => this.db.all<Row>(sql, params));
  }

  get<Row>(sql: string, params?: readonly SqlValue[]): Promise<Row | undefined> {
    return this.#read(() => this.db.get<Row>(sql, params));
  }

  snapshot<Value>(work: (queries: Queries) => Promise<Value>, entityId?: string): Promise<Value> {
    return this.#snapshot(this.db, work, entityId);
  }

  transaction<Value>(work: (queries: Queries) => Promise<Value>, options?: CallOptions): Promise<Value> {
    return this.#measure('transaction', async (calledAtMs) => {
      try {
        const value = await this.db.transaction((queries) => {
          this.#transactionWait.observe((performance.now() - calledAtMs) / 1000);
          return work(queries);
        }, options);
        this.writes.noteSuccess();
        return value;
      } catch (error) {
        this.writes.noteFailure(error);
        throw error;
      }
    });
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

  #snapshot<Value>(reads: Reads, work: (queries: Queries) => Promise<Value>, entityId?: string): Promise<Value> {
    return this.#measure('snapshot', (calledAtMs) =>
      reads.snapshot((queries) => {
        this.#snapshotWait.observe((performance.now() - calledAtMs) / 1000);
        return work(queries);
      }, entityId),
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
