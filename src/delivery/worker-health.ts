import type { Registry } from '../metrics/registry.ts';
import { SilentWorkerError } from '../store/database/database.ts';

/** Fewer failures are ordinary: a deadlock, a failover, a statement that was cancelled once. */
const MIN_FAILURES = 3;
const MIN_FAILING_MS = 30_000;
const MAX_ERROR_LENGTH = 200;

/** A worker that keeps failing, as /readyz and `doctor` show it. */
export type FailingWorker = {
  readonly worker: string;
  readonly failuresInARow: number;
  readonly failingForSeconds: number;
  readonly lastError: string;
};

/**
 * The health of a loop or job that deliveries depend on. A worker with nothing to do is healthy: only failures are
 * timed, from the first one after a success.
 */
export class WorkerHealth {
  /** Failures since the last success. A plain field, because successes are frequent and only set it to zero. */
  failuresInARow = 0;
  #failingSinceMs = 0;
  #lastError = '';

  constructor(
    readonly worker: string,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  /** A silent worker of Citus does not count: this process works, and every other one would have the same failure. */
  noteFailure(error: unknown): void {
    if (error instanceof SilentWorkerError) return;
    if (this.failuresInARow++ === 0) this.#failingSinceMs = this.nowMs();
    this.#lastError = describe(error);
  }

  get failingForMs(): number {
    return this.failuresInARow === 0 ? 0 : this.nowMs() - this.#failingSinceMs;
  }

  /** Null while the worker works, and for failures that may pass by themselves. */
  get problem(): FailingWorker | null {
    const { worker, failuresInARow, failingForMs } = this;
    if (failuresInARow < MIN_FAILURES || failingForMs < MIN_FAILING_MS) return null;
    return { worker, failuresInARow, failingForSeconds: Math.floor(failingForMs / 1000), lastError: this.#lastError };
  }
}

/** The workers of this process. Each is known by its name in metrics, in /readyz and to `doctor`. */
export class Workers {
  readonly #all: WorkerHealth[] = [];

  constructor(private readonly nowMs?: () => number) {}

  add(worker: string): WorkerHealth {
    const health = new WorkerHealth(worker, this.nowMs);
    this.#all.push(health);
    return health;
  }

  failing(): FailingWorker[] {
    return this.#all.flatMap(({ problem }) => problem ?? []);
  }

  observe(registry: Registry): void {
    registry.readLabelled(
      'paybell_worker_failures_in_a_row',
      'Failures of a background worker since its last success.',
      ['worker'],
      () => this.#all.map(({ worker, failuresInARow }) => [[worker], failuresInARow]),
    );
    registry.readLabelled(
      'paybell_worker_failing_seconds',
      'Time since the first failure after the last success; 0 for a worker that works or is idle.',
      ['worker'],
      () => this.#all.map(({ worker, failingForMs }) => [[worker], failingForMs / 1000]),
    );
  }
}

const CREDENTIALS = /\/\/[^/@\s]*@/g;
const QUOTED = /"[^"]*"|'[^']*'/g;
/** Databases quote names of tables and columns too. These are not secret and stay. */
const IDENTIFIER = /^.[a-z_]{1,63}.$/;

/** Describes an error without quoted values and without credentials of a URL, because /readyz needs no key. */
function describe(error: unknown): string {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : 'unknown error';
  return text
    .replace(CREDENTIALS, '//')
    .replace(QUOTED, (quoted) => (IDENTIFIER.test(quoted) ? quoted : '"…"'))
    .replace(/\s+/g, ' ')
    .slice(0, MAX_ERROR_LENGTH);
}
