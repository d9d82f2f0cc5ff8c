import type { LogLimit } from '../../store/chain/network-store.ts';

const DAY_MS = 86_400_000;
const GOOD_READINGS = 50;
/** Fewer logs than any provider allows in one answer; the smallest limit is 100. */
const FEW_RESULTS = 80;

/** The size to try next: between the largest size that worked and the smallest that was refused, or the largest if the two are near. */
export function sizeBetween(good: number | null, refused: number): number {
  if (good === null) return Math.max(1, Math.floor(refused / 4));
  return refused - good <= Math.max(1, good / 4) ? good : Math.floor((good + refused) / 2);
}

/**
 * How many blocks a node takes in one `eth_getLogs`. Providers limit the blocks or the results, with codes that do not tell
 * which. A refusal counts as a limit of blocks unless the logs of that many blocks would be too many results. It is tried
 * again after 50 good readings, because an error may have any other reason, and left alone for a day if it is refused again.
 */
export class LogRange {
  #good: number | null = null;
  #refused: number | null = null;
  #untilMs: number | null = null;
  #readings = 0;
  #wasRetried = false;

  constructor(private readonly nowMs: () => number) {}

  get limit(): LogLimit | null {
    return this.#refused === null ? null : { good: this.#good, refused: this.#refused, untilMs: this.#untilMs };
  }

  /** Applies what was known before a restart, unless this process knows better. */
  restore({ good, refused, untilMs }: LogLimit): void {
    const nowMs = this.nowMs();
    if (this.#refused !== null || this.#good !== null || (untilMs !== null && untilMs <= nowMs)) return;
    this.#good = good;
    this.#refused = refused;
    // A clock that was set back does not make the day longer.
    this.#untilMs = untilMs === null ? null : Math.min(untilMs, nowMs + DAY_MS);
  }

  /** Returns how many of these blocks to ask for. */
  cap(blocks: number): number {
    if (this.#untilMs !== null && this.#untilMs <= this.nowMs()) this.#forget();
    return this.#refused === null ? blocks : Math.min(blocks, sizeBetween(this.#good, this.#refused));
  }

  noteSuccess(blocks: number, logs: number): void {
    this.#good = Math.max(this.#good ?? 0, blocks);
    if (this.#refused === null) return;
    if (blocks >= this.#refused || (logs / blocks) * this.#refused >= FEW_RESULTS) this.#forget();
    else if (++this.#readings >= GOOD_READINGS && this.#untilMs === null) {
      this.#forget();
      this.#wasRetried = true;
    }
  }

  noteRefusal(blocks: number): void {
    // One block has no smaller range: its logs are too many, or the reason is another one.
    if (blocks <= 1) return;
    if (this.#good !== null && this.#good >= blocks) this.#good = null;
    this.#refused = Math.min(this.#refused ?? Number.POSITIVE_INFINITY, blocks);
    this.#readings = 0;
    this.#untilMs = this.#wasRetried ? this.nowMs() + DAY_MS : null;
  }

  #forget(): void {
    this.#refused = null;
    this.#untilMs = null;
    this.#readings = 0;
  }
}
