import { type CallMinute, lastHour, minuteAt } from '../../domain/chain/call-minutes.ts';

/** Counts the calls to a node by minute, for an hour. People need the number, because providers bill calls. */
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

  /** Adds the counts of the last process. For a minute that both processes have, keeps the higher count. */
  restore(minutes: readonly CallMinute[]): void {
    for (const { minute, calls } of minutes) {
      this.#calls.set(minute, Math.max(this.#calls.get(minute) ?? 0, calls));
    }
  }
}
