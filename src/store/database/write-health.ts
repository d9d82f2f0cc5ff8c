import { StoreUnavailableError, type UnavailableReason } from './database.ts';

/**
 * A problem lasts at least this long after a failed write. That is longer than the time between two heartbeats, because only a
 * real write shows the problem: a transaction without changes succeeds on a full disk.
 */
const HOLD_MS = 20_000;

export type WriteProblem = { readonly reason: Exclude<UnavailableReason, 'no_answer'>; readonly message: string };

/**
 * Whether the store accepts writes. A problem begins with a write that fails because the disk is full or the database is
 * read-only. It ends with the first success after `HOLD_MS` without such a failure.
 */
export class WriteHealth {
  #problem: WriteProblem | null = null;
  #failedAtMs = 0;
  onChange: (problem: WriteProblem | null) => void = () => undefined;

  constructor(private readonly nowMs: () => number = () => performance.now()) {}

  get problem(): WriteProblem | null {
    return this.#problem;
  }

  noteFailure(error: unknown): void {
    if (!(error instanceof StoreUnavailableError) || error.reason === 'no_answer') return;
    this.#failedAtMs = this.nowMs();
    const isNew = this.#problem?.reason !== error.reason;
    this.#problem = { reason: error.reason, message: error.message };
    if (isNew) this.onChange(this.#problem);
  }

  noteSuccess(): void {
    if (this.#problem === null || this.nowMs() - this.#failedAtMs < HOLD_MS) return;
    this.#problem = null;
    this.onChange(null);
  }
}
