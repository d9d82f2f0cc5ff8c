import {
  type CallOptions,
  type Database,
  type Dialect,
  type LongReads,
  type Queries,
  type SqlValue,
  STORE_DEADLINE_MS,
} from '../database.ts';
import type { PostgresTarget } from '../postgres/session.ts';
import { entityKey } from '../sql.ts';
import { GatedCall } from './gated-call.ts';
import { probeWorker } from './probe.ts';
import { type CallKind, type Slots, WorkerGates } from './worker-gates.ts';

/** A store whose reads can be given up one by one. */
export type Abandonable = Database & {
  readAlone<Row>(sql: string, params: readonly SqlValue[], signal: AbortSignal): Promise<Row[]>;
};

export async function openGated(db: Abandonable, target: PostgresTarget, slots: Slots): Promise<Database> {
  const gates = await WorkerGates.open({ reads: db, probe: (worker) => probeWorker(target, worker), slots });
  return new GatedDatabase(db, gates, target.deadlineMs ?? STORE_DEADLINE_MS);
}

/**
 * A distributed store in which a worker that hangs stops only its own entities. A call that names its entity takes a slot of that
 * worker before it takes a connection.
 */
export class GatedDatabase implements Database {
  readonly engine: Database['engine'];
  readonly dialect: Dialect;
  readonly longReads: LongReads = this;
  readonly dataVersion = null;

  constructor(
    private readonly db: Abandonable,
    private readonly gates: WorkerGates,
    private readonly deadlineMs: number,
  ) {
    this.engine = db.engine;
    this.dialect = {
      ...db.dialect,
      silentWorkers: () => gates.silent(),
      hasWorker: () => gates.hasWorker(),
      onWorker: (callback) => {
        gates.onWorker = callback;
      },
    };
  }

  async all<Row>(sql: string, params: readonly SqlValue[] = []): Promise<Row[]> {
    const needed = this.gates.neededBy(sql, params);
    if (needed.length === 0) return this.db.all<Row>(sql, params);
    const leaving: (() => void)[] = [];
    const call = new GatedCall(this.gates);
    try {
      for (const { gate, slots } of needed) {
        gate.require();
        leaving.push(await slots.read.enter(this.deadlineMs));
      }
      return await call.waitFor(sql, params, () => this.db.readAlone<Row>(sql, params, call.signal));
    } finally {
      for (const leave of leaving) leave();
    }
  }

  async get<Row>(sql: string, params?: readonly SqlValue[]): Promise<Row | undefined> {
    return (await this.all<Row>(sql, params))[0];
  }

  snapshot<Value>(work: (queries: Queries) => Promise<Value>, entityId?: string): Promise<Value> {
    const call = new GatedCall(this.gates);
    const { signal } = call;
    return this.#admitted('snapshot', entityId, () =>
      call.settle(this.db.snapshot((queries) => work(call.guard(queries)), entityId, signal)),
    );
  }

  transaction<Value>(work: (queries: Queries) => Promise<Value>, options: CallOptions = {}): Promise<Value> {
    const call = new GatedCall(this.gates);
    const { signal } = call;
    const guarded = async (queries: Queries) => {
      const value = await work(call.guard(queries));
      call.beginEnd();
      return value;
    };
    return this.#admitted('transaction', options.entityId, () =>
      call.settle(this.db.transaction(guarded, { ...options, signal })),
    );
  }

  announceWork(...what: Parameters<Database['announceWork']>): Promise<void> {
    return this.db.announceWork(...what);
  }

  onWork(callback: (what: string) => void): Promise<void> {
    return this.db.onWork(callback);
  }

  checkpoint(): Promise<void> {
    return this.db.checkpoint();
  }

  close(): Promise<void> {
    this.gates.stop();
    return this.db.close();
  }

  async #admitted<Value>(kind: CallKind, entityId: string | undefined, run: () => Promise<Value>): Promise<Value> {
    const worker = entityId === undefined ? null : this.gates.ofEntity(entityKey(this.dialect, entityId));
    if (worker === null) return run();
    worker.gate.require();
    const leave = await worker.slots[kind].enter(this.deadlineMs, entityId);
    try {
      worker.gate.require();
      return await run();
    } finally {
      leave();
    }
  }
}
