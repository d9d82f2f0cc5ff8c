/** Work on the event loop that takes longer than this delays every other request. */
const SLICE_MS = 10;

export type PaceClock = {
  readonly nowMs: () => number;
  /** Resolves after the requests that wait now. */
  readonly rest: () => Promise<void>;
};

const SYSTEM_CLOCK: PaceClock = {
  nowMs: () => performance.now(),
  rest: () => new Promise((resolve) => setImmediate(resolve)),
};

/** Paces computations without I/O, so that other requests run after every 10 ms. */
export class WorkPace {
  #sinceMs: number;

  constructor(private readonly clock: PaceClock = SYSTEM_CLOCK) {
    this.#sinceMs = clock.nowMs();
  }

  /** Runs the work for each item. It rests after at most 10 ms and one item. */
  async forEach<Item>(items: Iterable<Item>, work: (item: Item) => void): Promise<void> {
    for (const item of items) {
      work(item);
      if (this.clock.nowMs() - this.#sinceMs < SLICE_MS) continue;
      await this.clock.rest();
      this.#sinceMs = this.clock.nowMs();
    }
  }
}
