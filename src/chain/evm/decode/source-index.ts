import type { FoundFact } from '../../../domain/chain/facts.ts';
import { addressIn, type Book, isAddressWord } from '../../../store/chain/addresses/address-set.ts';
import type { BookEntry } from '../../../store/chain/addresses/books.ts';
import type { FollowedSource } from '../../../store/chain/network-store.ts';
import type { Log } from '../rpc/types.ts';
import type { CompiledSource } from './definition/compile-source.ts';
import type { LogReader, LogValues } from './log-values.ts';

/** A source with its compiled definition; `place` is its place in the order of creation. */
export type IndexedSource = {
  readonly followed: FollowedSource;
  readonly compiled: CompiledSource;
  /** Shared by all sources of the same event. */
  readonly reader: LogReader;
  readonly place: number;
  /** The row of the address book by which the source takes a log; absent for a source without a book. */
  readonly entry?: BookEntry;
};

/** The rows of address books, by address. */
export type Entries = ReadonlyMap<string, readonly BookEntry[]>;

/** A log that a source takes. `kind` is null until Paybell knows what the log proves. */
export type Match = {
  readonly source: IndexedSource;
  readonly log: Log;
  readonly values: LogValues;
  /** Number of earlier equal logs in the same transaction. */
  readonly n: number;
  readonly kind: string | null;
  /** Set if the log pays the address of an invoice, whichever source takes it. */
  expected?: FoundFact['expected'];
};

/**
 * The sources of one contract and event. `byTopic` has the sources that want certain values of a topic, by value. `any`
 * has the sources that take every value.
 */
type Group = {
  readonly any: IndexedSource[];
  readonly books: BookGroup[];
  readonly byTopic: readonly [Map<string, IndexedSource[]>, Map<string, IndexedSource[]>, Map<string, IndexedSource[]>];
};

/**
 * Sources whose address books apply to the same topic. If the book is not in memory, as in a preview, only its table
 * decides.
 */
type BookGroup = {
  readonly name: string;
  readonly place: number;
  readonly book: Book | undefined;
  readonly sources: Map<string, IndexedSource[]>;
};

/** Finds the few sources that a log may belong to: one token can have a thousand sources, each for other payees. */
export class SourceIndex {
  readonly #groups = new Map<string, Group>();
  /** Whether a source has an address book. */
  readonly hasBooks: boolean;

  constructor(sources: readonly IndexedSource[]) {
    for (const source of sources) this.#add(source);
    this.hasBooks = sources.some(({ compiled }) => compiled.bookPlace !== null);
  }

  /** Adds the addresses of the log that may be in an address book. */
  addAddresses({ address, topics }: Pick<Log, 'address' | 'topics'>, addresses: Set<string>): void {
    for (const { place, book } of this.#groups.get(`${address} ${topics[0]}`)?.books ?? []) {
      const word = topics[place] ?? '';
      if (book === undefined ? isAddressWord(word) : book.groupAddresses.hasWord(word)) addresses.add(addressIn(word));
    }
  }

  /** Sources that may take the log, in the order of creation. The caller must check their conditions on other topics and values. */
  candidates(
    { address, topics, blockNumber }: Pick<Log, 'address' | 'topics' | 'blockNumber'>,
    entries: Entries,
  ): readonly IndexedSource[] {
    const group = this.#groups.get(`${address} ${topics[0]}`);
    if (group === undefined) return NONE;
    let found: readonly IndexedSource[] = group.any;
    for (const [place, byValue] of group.byTopic.entries()) {
      const some = byValue.size === 0 ? undefined : byValue.get(topics[place + 1] ?? '');
      if (some !== undefined) found = join(found, some);
    }
    for (const { place, sources } of group.books) {
      const hits = entries.size === 0 ? [] : (entries.get(addressIn(topics[place] ?? '')) ?? []);
      const some = hits.flatMap((entry) =>
        isCounted(entry, blockNumber)
          ? (sources.get(keyOf(entry)) ?? []).map((source): IndexedSource => ({ ...source, entry }))
          : [],
      );
      if (some.length > 0) found = join(found, some);
    }
    return found;
  }

  #add(source: IndexedSource): void {
    const { event, contract, conditions } = source.compiled;
    const key = `${contract} ${event.topic}`;
    const group: Group = this.#groups.get(key) ?? { any: [], books: [], byTopic: [new Map(), new Map(), new Map()] };
    this.#groups.set(key, group);
    const { bookPlace } = source.compiled;
    if (bookPlace !== null) {
      addToBooks(group.books, bookPlace, source);
      return;
    }
    const place = conditions.topics.findIndex((allowed) => allowed !== null);
    const byValue = group.byTopic[place];
    if (byValue === undefined) {
      group.any.push(source);
      return;
    }
    for (const value of conditions.topics[place] ?? []) byValue.set(value, [...(byValue.get(value) ?? []), source]);
  }
}

/** Sorts by creation, because the rows of an address book come in another order. */
function join(found: readonly IndexedSource[], some: readonly IndexedSource[]): readonly IndexedSource[] {
  if (found.length === 0 && some.length === 1) return some;
  return [...found, ...some].sort((a, b) => a.place - b.place);
}

function addToBooks(books: BookGroup[], place: number, source: IndexedSource): void {
  const { book } = source.followed;
  const name = `${place} ${book?.group ?? ''}`;
  let group = books.find((each) => each.name === name);
  if (group === undefined) {
    group = { name, place, book, sources: new Map() };
    books.push(group);
  }
  const key = keyOf(source.followed);
  group.sources.set(key, [...(group.sources.get(key) ?? []), source]);
}

function keyOf({ entityId, sourceId }: Pick<FollowedSource, 'entityId' | 'sourceId'>): string {
  return `${entityId} ${sourceId}`;
}

function isCounted({ fromBlock, untilBlock }: BookEntry, block: number): boolean {
  return block >= fromBlock && block <= (untilBlock ?? block);
}

const NONE: readonly IndexedSource[] = [];

/** Finds the match of the entity among the matches from `start` on. */
export function matchOf(matches: readonly Match[], start: number, entityId: string): Match | undefined {
  for (let at = matches.length - 1; at >= start; at--) {
    if (matches[at]?.source.followed.entityId === entityId) return matches[at];
  }
  return undefined;
}

/**
 * The invoice address that the log pays, with the token and the amount. The match must be of the source for invoices.
 */
export function expectedBy({ compiled, entry }: IndexedSource, values: LogValues): FoundFact['expected'] {
  const amount = compiled.fields.find(({ how, name }) => how === 'amount' && name === 'amount');
  if (entry === undefined || amount?.how !== 'amount') return undefined;
  return { token: compiled.contract, address: entry.address, base: String(values[amount.index]) };
}
