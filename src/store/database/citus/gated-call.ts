import type { Queries, SqlValue } from '../database.ts';
import type { Wait, WorkerGate } from './worker-gate.ts';
import type { GatedWorker, WorkerGates } from './worker-gates.ts';

type Waits = readonly (readonly [WorkerGate, Wait])[];

/**
 * One transaction, snapshot or read. Each statement that needs a worker is known to its gate while it waits. When the worker falls
 * silent, the call fails at once, and its connection is abandoned: the server would not cancel the statement before the worker is
 * back.
 */
export class GatedCall {
  readonly #cut = Promise.withResolvers<never>();
  readonly #abandon = new AbortController();
  readonly #touched = new Set<WorkerGate>();
  #ending: Waits = [];

  constructor(private readonly gates: WorkerGates) {
    this.#cut.promise.catch(() => undefined);
  }

  /** Aborted when the connection of the call has to be abandoned. */
  get signal(): AbortSignal {
    return this.#abandon.signal;
  }

  guard(queries: Queries): Queries {
    return {
      all: (sql, params) => this.waitFor(sql, params, () => queries.all(sql, params)),
      get: (sql, params) => this.waitFor(sql, params, () => queries.get(sql, params)),
      run: (sql, params) => this.waitFor(sql, params, () => queries.run(sql, params)),
      send: async (sql, params) => {
        this.#require(sql, params);
        await queries.send(sql, params);
      },
    };
  }

  async waitFor<Value>(sql: string, params: readonly SqlValue[] = [], statement: () => Promise<Value>): Promise<Value> {
    const waits = this.#beginAll(this.#require(sql, params));
    return waits.length === 0 ? statement() : this.#raced(statement(), waits);
  }

  /** From here on the call waits for its commit, which every worker that it used takes part in. */
  beginEnd(): void {
    this.#ending = this.#beginAll([...this.#touched]);
  }

  /** Fails as soon as a worker that the call waits for falls silent. */
  settle<Value>(call: Promise<Value>): Promise<Value> {
    return this.#raced(call, null);
  }

  /** Throws if one of the workers is silent already. */
  #require(sql: string, params: readonly SqlValue[] = []): readonly WorkerGate[] {
    const needed = this.gates.neededBy(sql, params).map(({ gate }: GatedWorker) => gate);
    for (const gate of needed) {
      gate.require();
      this.#touched.add(gate);
    }
    return needed;
  }

  #beginAll(gates: readonly WorkerGate[]): Waits {
    const cut: Wait['cut'] = (error) => {
      this.#cut.reject(error);
      this.#abandon.abort();
    };
    return gates.map((gate) => [gate, gate.begin(cut)] as const);
  }

  async #raced<Value>(work: Promise<Value>, waits: Waits | null): Promise<Value> {
    let isAnswered = false;
    try {
      const value = await Promise.race([work, this.#cut.promise]);
      isAnswered = true;
      return value;
    } finally {
      for (const [gate, wait] of waits ?? this.#ending) gate.end(wait, isAnswered);
    }
  }
}
