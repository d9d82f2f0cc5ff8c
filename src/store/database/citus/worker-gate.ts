import { SilentWorkerError, type WorkerCallback } from '../database.ts';
import type { WorkerName } from './shard-map.ts';

/**
 * A worker of Citus that hangs accepts connections and answers nothing. A statement that needs it would keep its connection
 * until the deadline. It would keep its server process on the coordinator until the worker is back.
 *
 * | state        | new statements | ends when                                                                |
 * |--------------|----------------|--------------------------------------------------------------------------|
 * | `responding` | pass           | one has waited `LATE_MS` and nothing was answered in that time: `slow`    |
 * | `slow`       | pass           | anything is answered: `responding`; a probe gets no connection: `silent`  |
 * | `silent`     | are refused    | a probe gets an answer: `responding`                                     |
 */
export type WorkerState = 'responding' | 'slow' | 'silent';

type Occurrence = 'late' | 'answered' | 'probe answered' | 'probe failed';

const TRANSITIONS: Readonly<Record<WorkerState, Readonly<Partial<Record<Occurrence, WorkerState>>>>> = {
  responding: { late: 'slow' },
  slow: { answered: 'responding', 'probe answered': 'responding', 'probe failed': 'silent' },
  silent: { 'probe answered': 'responding' },
};

/** Longer than nearly every statement takes. A lock that is held for longer costs a probe. */
export const LATE_MS = 500;
/** From the end of one probe of a silent worker to the next. */
export const PROBE_EVERY_MS = 1_000;

/** True for an answer, false if the worker gave none; null if the coordinator did not say. */
export type Probe = (worker: WorkerName) => Promise<boolean | null>;

/** A statement that waits for the worker. `cut` ends the wait without an answer. */
export type Wait = { readonly sinceMs: number; readonly cut: (error: SilentWorkerError) => void };

export class WorkerGate {
  #state: WorkerState = 'responding';
  /** In the order in which they began. */
  readonly #waits = new Set<Wait>();
  #answeredAtMs = Number.NEGATIVE_INFINITY;
  #probedAtMs = Number.NEGATIVE_INFINITY;
  #isProbing = false;

  constructor(
    readonly name: WorkerName,
    private readonly probe: Probe,
    private readonly onChange: WorkerCallback = () => undefined,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  get state(): WorkerState {
    return this.#state;
  }

  /** Throws while the worker is silent. */
  require(): void {
    if (this.#state === 'silent') throw new SilentWorkerError(this.name);
  }

  begin(cut: Wait['cut']): Wait {
    const wait = { sinceMs: this.nowMs(), cut };
    this.#waits.add(wait);
    return wait;
  }

  end(wait: Wait, isAnswered: boolean): void {
    if (!this.#waits.delete(wait) || !isAnswered) return;
    this.#answeredAtMs = this.nowMs();
    this.#note('answered');
  }

  /** Runs several times a second. */
  check(): void {
    if (this.#state === 'responding' && this.#isLate()) this.#note('late');
    if (this.#state === 'responding' || this.#isProbing) return;
    if (this.nowMs() - this.#probedAtMs >= PROBE_EVERY_MS) void this.#runProbe();
  }

  #isLate(): boolean {
    const [oldest] = this.#waits;
    return oldest !== undefined && this.nowMs() - Math.max(oldest.sinceMs, this.#answeredAtMs) >= LATE_MS;
  }

  /** One at a time. */
  async #runProbe(): Promise<void> {
    this.#isProbing = true;
    const isAnswered = await this.probe(this.name).catch(() => null);
    this.#isProbing = false;
    this.#probedAtMs = this.nowMs();
    if (isAnswered === null) return;
    if (isAnswered) this.#answeredAtMs = this.#probedAtMs;
    this.#note(isAnswered ? 'probe answered' : 'probe failed');
  }

  #note(occurrence: Occurrence): void {
    const next = TRANSITIONS[this.#state][occurrence];
    if (next === undefined) return;
    const wasSilent = this.#state === 'silent';
    this.#state = next;
    if (wasSilent) this.onChange(this.name, false);
    if (next !== 'silent') return;
    this.onChange(this.name, true);
    const waits = [...this.#waits];
    this.#waits.clear();
    for (const { cut } of waits) cut(new SilentWorkerError(this.name));
  }
}
