/** Numbers from a seed: the same ones for the same seed, everywhere. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = mix(seed);
  }

  /** From 0 up to, but not including, 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    return mix(this.#state) / 2 ** 32;
  }

  /** A whole number from 0 up to, but not including, the limit. */
  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  between(least: number, most: number): number {
    return least + this.next() * (most - least);
  }

  chance(share: number): boolean {
    return this.next() < share;
  }

  /** Undefined for an empty list alone. */
  pick<Item>(list: readonly Item[]): Item | undefined {
    return list[this.below(list.length)];
  }

  /** One of a list that is known not to be empty. */
  oneOf<Item>(...list: readonly [Item, ...Item[]]): Item {
    return list[this.below(list.length)] ?? list[0];
  }

  fill(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; at++) bytes[at] = this.below(256);
  }
}

/** Spreads a seed over 32 bits, so that neighbouring seeds have nothing in common. */
function mix(seed: number): number {
  let mixed = Math.imul(seed ^ (seed >>> 15), seed | 1);
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
  return (mixed ^ (mixed >>> 14)) >>> 0;
}
