export type SequenceTrackerOptions = {
  /** Every number up to this one is known to have come; 0 by default, so that the first is 1. */
  readonly after?: number;
  /** Gaps that are kept apart, 1,000 by default. With more of them, the two lowest become one. */
  readonly maxGaps?: number;
};

/** Numbers that did not come, both ends included. */
export type SequenceGap = { readonly first: number; readonly last: number };

type Range = { first: number; last: number };

const DEFAULT_MAX_GAPS = 1_000;
const DEFAULT_LIMIT = 1_000;

/**
 * Remembers which numbers of one endpoint have come. It keeps the gaps and not the numbers, so its memory does not grow
 * with them. With more gaps than it may keep, it joins the two lowest: it then names numbers as missing that did come, and
 * never forgets one that did not.
 */
export class SequenceTracker {
  #last: number;
  /** In ascending order, and no two touch. */
  readonly #gaps: Range[] = [];
  readonly #maxGaps: number;

  constructor({ after = 0, maxGaps = DEFAULT_MAX_GAPS }: SequenceTrackerOptions = {}) {
    if (!Number.isSafeInteger(after) || after < 0) throw new RangeError('after must be 0 or a sequence number');
    if (!Number.isSafeInteger(maxGaps) || maxGaps < 1) throw new RangeError('maxGaps must be at least 1');
    this.#last = after;
    this.#maxGaps = maxGaps;
  }

  /** The highest number that has come. */
  get last(): number {
    return this.#last;
  }

  /** Up to this number, none is missing. Store it, and pass it as `after` when the process starts again. */
  get through(): number {
    const [lowest] = this.#gaps;
    return lowest === undefined ? this.#last : lowest.first - 1;
  }

  /** A number has come. Returns false if it had come before. */
  add(sequence: number): boolean {
    if (!Number.isSafeInteger(sequence) || sequence < 1) throw new RangeError('a sequence number is at least 1');
    if (sequence <= this.#last) return this.#fill(sequence);
    if (sequence > this.#last + 1) this.#gaps.push({ first: this.#last + 1, last: sequence - 1 });
    this.#last = sequence;
    this.#joinLowest();
    return true;
  }

  /** No number up to this one is missing: what the feed no longer has is not coming. */
  skipThrough(sequence: number): void {
    while (this.#gaps[0] !== undefined && this.#gaps[0].last <= sequence) this.#gaps.shift();
    const [lowest] = this.#gaps;
    if (lowest !== undefined) lowest.first = Math.max(lowest.first, sequence + 1);
    this.#last = Math.max(this.#last, sequence);
  }

  /** The lowest numbers that have not come, in ascending order, at most `limit` of them (1,000 by default). */
  missing(limit = DEFAULT_LIMIT): number[] {
    const numbers: number[] = [];
    for (const { first, last } of this.#gaps) {
      for (let number = first; number <= last; number++) {
        if (numbers.length >= limit) return numbers;
        numbers.push(number);
      }
    }
    return numbers;
  }

  /** The same numbers as `missing()`, all of them, as ranges. */
  gaps(): SequenceGap[] {
    return this.#gaps.map(({ first, last }) => ({ first, last }));
  }

  #fill(sequence: number): boolean {
    const index = this.#indexOfGap(sequence);
    const gap = this.#gaps[index];
    if (gap === undefined || gap.first > sequence) return false;
    const { first, last } = gap;
    const left = [
      { first, last: sequence - 1 },
      { first: sequence + 1, last },
    ];
    this.#gaps.splice(index, 1, ...left.filter((range) => range.first <= range.last));
    this.#joinLowest();
    return true;
  }

  /** The first gap that does not end before the number. */
  #indexOfGap(sequence: number): number {
    let low = 0;
    let high = this.#gaps.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#gaps[middle]?.last ?? 0) < sequence) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #joinLowest(): void {
    const [lowest, next] = this.#gaps;
    if (this.#gaps.length <= this.#maxGaps || lowest === undefined || next === undefined) return;
    next.first = lowest.first;
    this.#gaps.shift();
  }
}
