import type { Logger } from '../../log.ts';
import type { WorkerHealth, Workers } from '../worker-health.ts';

/**
 * The wait after a failure while failures make the instance not ready. It is short, so that the instance is ready soon
 * after the cause of the failures ends.
 */
const RETRY_WHILE_NOT_READY_MS = 2_000;

export type JobOptions = {
  /** Names the job in the log. */
  readonly name: string;
  readonly log: Logger;
  /** For work that deliveries depend on: if it keeps failing, the instance is not ready. */
  readonly workers?: Workers | undefined;
  /** The time from the end of one run to the start of the next. */
  readonly everyMs: number;
  /** The time from `start` to the first run; `everyMs` if not given. */
  readonly firstAfterMs?: number;
  /** The time from a failed run to the next one; `everyMs` if not given. */
  readonly retryAfterMs?: number;
  /** How soon the next run is due after a successful one, if that is sooner than `everyMs`. */
  readonly leftWorkMs?: () => number;
  /** Spreads each wait by this share of it, so that instances started together do not run together. */
  readonly jitter?: number;
  /** Runs once more while stopping, so that nothing that was collected is lost. */
  readonly runAtStop?: boolean;
  /** Long work should end soon once the signal is aborted. */
  readonly run: (signal: AbortSignal) => Promise<void>;
};

/** Background work that runs at intervals and when it is woken, never twice at a time. A failed run is logged. */
export class Job {
  readonly #stopping = new AbortController();
  #timer: Timer | undefined;
  #running: Promise<void> | null = null;
  #isWoken = false;

  readonly #health: WorkerHealth | null;

  constructor(private readonly options: JobOptions) {
    this.#health = options.workers?.add(options.name) ?? null;
  }

  start(): void {
    this.#runIn(this.options.firstAfterMs ?? this.options.everyMs);
  }

  /** Runs now, or once more after the run in progress. */
  wake(): void {
    if (this.#stopping.signal.aborted) return;
    if (this.#running === null) this.#running = this.#runWhileWoken();
    else this.#isWoken = true;
  }

  /** Resolves when the run in progress has ended. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#timer);
    await this.#running;
    if (this.options.runAtStop === true) await this.#runOnce();
  }

  async #runWhileWoken(): Promise<void> {
    let waitMs: number;
    do {
      this.#isWoken = false;
      waitMs = await this.#runOnce();
    } while (this.#isWoken && !this.#stopping.signal.aborted);
    this.#running = null;
    this.#runIn(waitMs);
  }

  /** Returns how long to wait for the next run. */
  async #runOnce(): Promise<number> {
    const { name, log, everyMs, retryAfterMs = everyMs, leftWorkMs = () => everyMs, run } = this.options;
    try {
      await run(this.#stopping.signal);
      if (this.#health !== null) this.#health.failuresInARow = 0;
      return Math.min(everyMs, leftWorkMs());
    } catch (error) {
      this.#health?.noteFailure(error);
      log.warn({ err: error, job: name }, 'background job failed; it runs again later');
      return this.#health?.problem == null ? retryAfterMs : Math.min(retryAfterMs, RETRY_WHILE_NOT_READY_MS);
    }
  }

  #runIn(ms: number): void {
    clearTimeout(this.#timer);
    if (this.#stopping.signal.aborted) return;
    const { jitter = 0 } = this.options;
    const spread = 1 - jitter / 2 + jitter * Math.random();
    this.#timer = setTimeout(() => this.wake(), ms * spread);
  }
}
