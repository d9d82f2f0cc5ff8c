import { type CallMinute, lastHour, minuteAt } from '../../domain/chain/call-minutes.ts';

/** Counts the calls to a node by minute, for an hour. Providers bill calls, so that people look for their number. */
export class CallMeter {
  readonly #calls = new Map<number, number>();

  constructor(private readonly dateMs: () => number) {}

  note(calls: number): void {
    const minute = minuteAt(this.dateMs());
    this.#calls.set(minute, (this.#calls.get(minute) ?? 0) + calls);
  }

  get minutes(): CallMinute[] {
    const all = [...this.#calls].map(([minute, calls]) => ({ minute, calls }));
    const kept = lastHour(all, this.dateMs());
    if (kept.length < all.length) {
      this.#calls.clear();
      for (const { minute, calls } of kept) this.#calls.set(minute, calls);
    }
    return kept;
  }

  /** Takes over the count of the last process. A minute that both have counts once. */
  restore(minutes: readonly CallMinute[]): void {
    for (const { minute, calls } of minutes) {
      this.#calls.set(minute, Math.max(this.#calls.get(minute) ?? 0, calls));
    }
  }
}
