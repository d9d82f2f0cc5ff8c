/** The time of a request: it takes effect somewhere in it. Without an answer it has no end, and may take effect at any time. */
export type Span = { readonly startMs: number; endMs: number };

export function openSpan(startMs: number): Span {
  return { startMs, endMs: Number.POSITIVE_INFINITY };
}

export function isAnswered({ endMs }: Span): boolean {
  return Number.isFinite(endMs);
}

export type Change<Value> = Span & { readonly value: Value };

/** The values that a setting has had, as far as those who changed it can know. */
export class History<Value> {
  readonly changes: Change<Value>[] = [];

  constructor(private readonly initial: Value) {}

  begin(value: Value, nowMs: number): Change<Value> {
    const change = { ...openSpan(nowMs), value };
    this.changes.push(change);
    return change;
  }

  /** The change was rejected. */
  withdraw(change: Change<Value>): void {
    this.changes.splice(this.changes.indexOf(change), 1);
  }

  /** The only value between two times; undefined where a change may have happened between them, or their order is unknown. */
  during(fromMs: number, toMs: number): Value | undefined {
    const before = this.changes.filter(({ endMs }) => endMs < fromMs);
    const isSettled = this.changes.every(({ startMs, endMs }) => endMs < fromMs || startMs > toMs);
    const last = before.reduce<Change<Value> | null>(
      (best, one) => (one.endMs > (best?.endMs ?? -1) ? one : best),
      null,
    );
    if (!isSettled) return undefined;
    if (last === null) return this.initial;
    return before.every((one) => one === last || one.endMs < last.startMs) ? last.value : undefined;
  }

  /** Whether it may have changed between two times. */
  mayChange(fromMs: number, toMs: number): boolean {
    return this.changes.some(({ startMs, endMs }) => startMs <= toMs && endMs >= fromMs);
  }

  /** Every value that it may have had between two times. */
  possible(fromMs: number, toMs: number): Value[] {
    const within = this.changes.filter(({ startMs }) => startMs <= toMs);
    const later = within.filter(({ endMs }) => endMs >= fromMs);
    const ended = within.filter(({ endMs }) => endMs < fromMs);
    const last = ended.reduce<Change<Value> | null>(
      (best, one) => (one.endMs > (best?.endMs ?? -1) ? one : best),
      null,
    );
    const concurrent = ended.filter((one) => last !== null && one !== last && one.endMs >= last.startMs);
    return [last === null ? this.initial : last.value, ...[...concurrent, ...later].map(({ value }) => value)];
  }
}
