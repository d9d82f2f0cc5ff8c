/** Hex digits of a 32-bit word, and the words of an address. */
const DIGITS = 8;
const WORDS = 5;
const WORD_PREFIX = `0x${'0'.repeat(24)}`;
const FIRST_CAPACITY = 16;

/** The addresses of a book, in which topics of logs are looked up. */
export type Addresses = {
  readonly size: number;
  /** Whether a topic is the word of one of the addresses. */
  readonly hasWord: (word: string) => boolean;
  /** The addresses as the words of topics, in the order in which they were added. */
  readonly words: () => IterableIterator<string>;
};

/** The address book of a source, as its follower matches logs against it. */
export type Book = {
  /** The topic of the addresses, 1 to 3. */
  readonly place: number;
  /** Equal for sources whose logs differ only by their addresses. */
  readonly group: string;
  /** The addresses of the source. Some may have been removed: the row in the table decides. */
  readonly addresses: Addresses;
  /** The addresses of all sources of the group. */
  readonly groupAddresses: Addresses;
};

/** Whether a word can be an address. */
export function isAddressWord(word: string): boolean {
  return word.length === WORD_PREFIX.length + WORDS * DIGITS && word.startsWith(WORD_PREFIX);
}

/** The address in a word. The word must be one of the words of a set, or one that the set's `hasWord` accepts. */
export function addressIn(word: string): string {
  return `0x${word.slice(WORD_PREFIX.length)}`;
}

/**
 * A set of addresses in 28 to 56 bytes each; a `Set` of texts needs about 200. The hash has a random seed, because tenants
 * choose the addresses and could make them collide.
 */
export class AddressSet implements Addresses {
  #values = new Uint32Array(FIRST_CAPACITY * WORDS);
  /** The place of an address in `#values`, plus 1; 0 for a free slot. At most half of the slots are used. */
  #slots = new Int32Array(FIRST_CAPACITY * 2);
  readonly #seed = crypto.getRandomValues(new Uint32Array(1))[0] ?? 0;
  readonly #wanted = new Uint32Array(WORDS);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Adds an address, given as `0x` and 40 hex digits. */
  add(address: string): void {
    this.#read(address, 2);
    if (this.#placeAt() !== 0) return;
    if (this.#size * WORDS === this.#values.length) this.#grow();
    this.#values.set(this.#wanted, this.#size * WORDS);
    this.#slots[this.#find()] = ++this.#size;
  }

  hasWord(word: string): boolean {
    if (!isAddressWord(word)) return false;
    this.#read(word, WORD_PREFIX.length);
    return this.#placeAt() !== 0;
  }

  *words(): IterableIterator<string> {
    for (let place = 0; place < this.#size; place++) {
      let word = WORD_PREFIX;
      for (let at = 0; at < WORDS; at++) {
        word += (this.#values[place * WORDS + at] ?? 0).toString(16).padStart(DIGITS, '0');
      }
      yield word;
    }
  }

  #read(digits: string, start: number): void {
    for (let at = 0; at < WORDS; at++) {
      this.#wanted[at] = Number.parseInt(digits.slice(start + at * DIGITS, start + (at + 1) * DIGITS), 16);
    }
  }

  #placeAt(): number {
    return this.#slots[this.#find()] ?? 0;
  }

  /** The slot of the address that was read, or the free slot in which it belongs. */
  #find(): number {
    let hash = this.#seed;
    for (const value of this.#wanted) {
      hash = Math.imul(hash ^ value, 0x9e3779b1);
      hash ^= hash >>> 15;
    }
    const last = this.#slots.length - 1;
    let slot = hash & last;
    for (let place = this.#slots[slot] ?? 0; place !== 0; place = this.#slots[slot] ?? 0) {
      if (this.#isAt(place - 1)) return slot;
      slot = (slot + 1) & last;
    }
    return slot;
  }

  #isAt(place: number): boolean {
    for (let at = 0; at < WORDS; at++) if (this.#values[place * WORDS + at] !== this.#wanted[at]) return false;
    return true;
  }

  #grow(): void {
    const wanted = this.#wanted.slice();
    const values = new Uint32Array(this.#values.length * 2);
    values.set(this.#values);
    this.#values = values;
    this.#slots = new Int32Array(this.#slots.length * 2);
    for (let place = 0; place < this.#size; place++) {
      this.#wanted.set(values.subarray(place * WORDS, (place + 1) * WORDS));
      this.#slots[this.#find()] = place + 1;
    }
    this.#wanted.set(wanted);
  }
}
