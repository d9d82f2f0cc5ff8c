import type { Logger } from '../log.ts';
import { WakeSignal } from './queue/wake-signal.ts';

/** After a step that failed, which mostly means that the store is unavailable. */
const PAUSE_MS = 500;

export type LoopOptions = {
  /** Names the loop in the log. */
  readonly name: string;
  readonly log: Logger;
  /** Returns how long to wait for the next step, unless the loop is woken before. */
  readonly step: () => Promise<number>;
  /** Whether a loop that is being stopped may end; at once if not given. */
  readonly mayEnd?: () => boolean;
};

/** Repeats a step, never twice at a time, until it is stopped. */
export class Loop {
  readonly #signal = new WakeSignal();
  #isStopping = false;
  #running: Promise<void> = Promise.resolve();

  constructor(private readonly options: LoopOptions) {}

  start(): void {
    this.#running = this.#run();
  }

  wake(): void {
    this.#signal.wake();
  }

  /** Resolves after the last step. */
  stop(): Promise<void> {
    this.#isStopping = true;
    this.wake();
    return this.#running;
  }

  get #isDone(): boolean {
    return this.#isStopping && (this.options.mayEnd?.() ?? true);
  }

  async #run(): Promise<void> {
    const { name, log, step } = this.options;
    while (!this.#isDone) {
      try {
        const waitMs = await step();
        if (!this.#isDone) await this.#signal.wait(waitMs);
      } catch (error) {
        log.error({ err: error, loop: name }, 'delivery is paused: the store is unavailable');
        if (this.#isStopping) return;
        await Bun.sleep(PAUSE_MS);
      }
    }
  }
}
