import type { LogLimit } from '../../store/chain/network-store.ts';

const DAY_MS = 86_400_000;
const GOOD_READINGS = 50;
/** Fewer logs than any provider's limit on one answer. The smallest known limit is 100. */
const FEW_RESULTS = 80;

/**
 * The size to try next: between the largest size that worked and the smallest refused size. If the two are near, the
 * size that worked.
 */
export function sizeBetween(good: number | null, refused: number): number {
  if (good === null) return Math.max(1, Math.floor(refused / 4));
  return refused - good <= Math.max(1, good / 4) ? good : Math.floor((good + refused) / 2);
}

/**
 * How many blocks a node takes in one `eth_getLogs`. Providers limit the blocks or the results, and their codes do not
 * say which. A refusal counts as a limit on blocks, unless that many blocks would have too many logs. The refused size
 * is tried again after 50 good readings, because the error may have had another reason. If it is refused again, it is
 * not tried for a day.
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

  /** Applies the limit from before a restart, unless this process has learned something itself. */
  restore({ good, refused, untilMs }: LogLimit): void {
    const nowMs = this.nowMs();
    if (this.#refused !== null || this.#good !== null || (untilMs !== null && untilMs <= nowMs)) return;
    this.#good = good;
    this.#refused = refused;
    // Does not wait for more than a day, even if the clock was set back.
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
    // A single block cannot be divided: it has too many logs, or the refusal has another reason.
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
