/** Consecutive failures that open the breaker. While it is open, the destination gets one attempt at a time. */
const BREAKER_OPENS_AFTER = 5;

/** After this idle time, the window of a destination is out of date. */
const IDLE_MS = 10_000;

/**
 * A fast destination may hold a queue in this process, so that it is never idle during a claim. The queue holds the
 * number of deliveries that the destination completes in `QUEUE_MS`, and at most `QUEUE_CAPS` times its cap.
 */
const QUEUE_MS = 100;
const QUEUE_CAPS = 31;

/** How much the latest attempt counts in the typical duration. */
const WEIGHT_OF_LATEST = 0.2;

/** The result of an attempt as a sign of its destination's health. `other` counts neither for nor against it. */
export type AttemptResult = 'success' | 'unhealthy' | 'other';

/** By the last attempt that was not `other`: `proven` after a success, `failing` after a failure, `untried` if there was none. */
export type HealthClass = 'proven' | 'untried' | 'failing';

/** One mutable object for all destinations of a process, because the cap changes with the number of instances. */
export type DestinationLimit = { cap: number };

/**
 * Past results of one destination, and how many attempts it may have in flight.
 *
 * The window is slow start, as in TCP: one attempt, then twice as many after each success, up to the cap; one again
 * after a failure or a pause. A destination that hangs uses one slot instead of its cap until it has failed.
 */
export class DestinationHealth {
  #class: HealthClass = 'untried';
  #window = 1;
  #failuresInARow = 0;
  /** Typical duration of a successful attempt. Null before the first. */
  #typicalMs: number | null = null;
  #lastEndMs = 0;

  constructor(private readonly limit: DestinationLimit) {}

  get class(): HealthClass {
    return this.#class;
  }

  /** How many attempts the destination may have in flight. */
  get window(): number {
    return Math.min(this.#window, this.limit.cap);
  }

  get isBreakerOpen(): boolean {
    return this.#failuresInARow >= BREAKER_OPENS_AFTER;
  }

  /**
   * How many deliveries the destination may hold beyond its slots: the number that it completes in `QUEUE_MS`, while
   * its window grows.
   */
  get maxQueued(): number {
    if (this.#class !== 'proven' || this.#typicalMs === null) return 0;
    const { window } = this;
    const { cap } = this.limit;
    const rounds = QUEUE_MS / Math.max(1, this.#typicalMs);
    const roundsToGrow = Math.log2(cap / window);
    const inTime = Math.max(window * rounds, cap * (rounds - roundsToGrow));
    return Math.min(Math.floor(inTime), cap * QUEUE_CAPS);
  }

  note(result: AttemptResult, durationMs: number, nowMs: number): void {
    this.#lastEndMs = nowMs;
    if (result === 'success') {
      this.#class = 'proven';
      this.#failuresInARow = 0;
      this.#window = Math.min(this.#window * 2, this.limit.cap);
      const before = this.#typicalMs ?? durationMs;
      this.#typicalMs = before + (durationMs - before) * WEIGHT_OF_LATEST;
    } else if (result === 'unhealthy') {
      this.#class = 'failing';
      this.#failuresInARow++;
      this.#window = 1;
    }
  }

  /** Call this when an idle destination is used again. */
  resume(nowMs: number): void {
    if (nowMs - this.#lastEndMs > IDLE_MS) this.#window = 1;
  }
}
