import { Aim } from './aim.ts';
import type { PollResult } from './poll-result.ts';

export type LoopHooks = {
  readonly onPoll?: (result: PollResult) => void;
  /** Called for failures that are not the fault of a node, such as a failure of the database. */
  readonly onError?: (error: unknown) => void;
  readonly nowMs?: () => number;
  /** The time of day, with which polls aim at the next block. */
  readonly dateMs?: () => number;
  /** Resolves early when the signal is aborted. */
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
};

type LoopOptions = LoopHooks & {
  readonly poll: () => Promise<PollResult>;
  readonly backfill: () => Promise<PollResult>;
  readonly nodesWaitMs: () => number;
  /** The least time from one poll to the next; null for none. */
  readonly pollMs?: number | null | undefined;
  /** Whether the next poll starts at once while blocks are unread; true by default. */
  readonly catchesUp?: boolean;
};

const MIN_WAIT_MS = 500;
const MAX_WAIT_MS = 12_000;
/** The time between polls until the block time is known. */
const FIRST_WAIT_MS = 2_000;
const LEASE_WAIT_MS = 2_000;
const HALTED_WAIT_MS = 5_000;
const SOON_MS = 1_000;

/** Polls at the pace of the network, and reads older blocks in between. */
export class PollLoop {
  readonly #aim: Aim;
  readonly #stopping = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(private readonly options: LoopOptions) {
    this.#aim = new Aim(options.pollMs);
  }

  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { nowMs = () => performance.now(), sleep = sleepUntilAborted } = this.options;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const startedMs = nowMs();
      let result = await this.#attempt(this.options.poll);
      const waitMs = result === null ? FIRST_WAIT_MS : this.#waitMs(result, nowMs() - startedMs);
      while (result?.hasBackfill === true && !signal.aborted && nowMs() - startedMs < waitMs) {
        result = await this.#attempt(this.options.backfill);
        // A backfill that reads nothing must not keep the process busy.
        if (result !== null && result.calls === 0) break;
      }
      const leftMs = waitMs - (nowMs() - startedMs);
      if (leftMs > 0 && !signal.aborted) await sleep(leftMs, signal);
    }
  }

  /** The time from the start of this poll, which took `tookMs`, to the start of the next one. */
  #waitMs(result: PollResult, tookMs: number): number {
    const { catchesUp = true, nodesWaitMs } = this.options;
    const { outcome, blockTimeMs, network } = result;
    const lagBlocks = catchesUp ? result.lagBlocks : 0;
    const isAimed = outcome === 'followed' && lagBlocks === 0 && blockTimeMs !== null && network !== null;
    if (!isAimed) return waitAfterMs({ ...result, lagBlocks }, nodesWaitMs());
    const { tipHash, headS } = network;
    const dateMs = (this.options.dateMs ?? Date.now)();
    return tookMs + this.#aim.waitMs({ tipHash, headS, blockTimeMs, dateMs });
  }

  async #attempt(work: () => Promise<PollResult>): Promise<PollResult | null> {
    try {
      const result = await work();
      this.options.onPoll?.(result);
      return result;
    } catch (error) {
      this.options.onError?.(error);
      return null;
    }
  }
}

/** The time from the start of one poll to the start of the next. */
export function waitAfterMs({ outcome, lagBlocks, blockTimeMs }: PollResult, nodesWaitMs: number): number {
  const paceMs = Math.min(Math.max(blockTimeMs ?? FIRST_WAIT_MS, MIN_WAIT_MS), MAX_WAIT_MS);
  switch (outcome) {
    case 'followed':
      return lagBlocks > 0 ? 0 : paceMs;
    case 'behind':
    case 'in_doubt':
      return Math.min(paceMs, SOON_MS);
    case 'failed':
      return Math.min(Math.max(nodesWaitMs, MIN_WAIT_MS), MAX_WAIT_MS);
    case 'halted':
      return HALTED_WAIT_MS;
    case 'idle':
      return LEASE_WAIT_MS;
  }
}

function sleepUntilAborted(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  const wake = () => {
    clearTimeout(timer);
    resolve();
  };
  signal.addEventListener('abort', wake, { once: true });
  return promise.finally(() => signal.removeEventListener('abort', wake));
}
