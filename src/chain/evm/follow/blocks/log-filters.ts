import { type FollowedSource, versionsOf } from '../../../../store/chain/network-store.ts';
import { chunks } from '../../../../store/database/sql.ts';
import type { LogFilter } from '../../rpc/types.ts';

/** Nodes refuse longer lists of contracts, and of the values of a topic. */
export const MAX_CONTRACTS = 1_000;
export const MAX_TOPIC_VALUES = 1_000;
const TOPICS = 4;

/**
 * The filters that together give every log that any of the sources takes. Only sources that restrict the same topics share a
 * filter. A source that takes any value of a topic would otherwise widen the filter for all its contracts.
 */
export function logFilters(
  sources: readonly FollowedSource[],
  fromBlock: number,
  toBlock: number,
  contractsPerCall = MAX_CONTRACTS,
  wide: ReadonlySet<string> = new Set(),
): LogFilter[] {
  const wanted = sources
    .flatMap((source) => versionsOf(source))
    .filter((source) => source.fromBlock <= toBlock && (source.untilBlock ?? toBlock) >= fromBlock)
    .flatMap((source) => withAddresses(source, wide));
  return [...Map.groupBy(wanted, shapeOf).values()].flatMap((group) => {
    const drafts: Draft[] = [];
    for (const [contract, ofContract] of Map.groupBy(group, ({ contract }) => contract)) {
      for (const source of ofContract) {
        const last = drafts.at(-1);
        if (last === undefined || !last.add(contract, source, contractsPerCall))
          drafts.push(new Draft(contract, source));
      }
    }
    return drafts.map((draft) => ({ fromBlock, toBlock, ...draft.filter }));
  });
}

/** Splits a source with an address book into sources with up to 1,000 addresses each, unless its group is read widely. */
function withAddresses(source: FollowedSource, wide: ReadonlySet<string>): FollowedSource[] {
  const { book, topics = [] } = source;
  if (book === undefined || wide.has(book.group)) return [source];
  const words = [...book.addresses.words()];
  return [...chunks(words, MAX_TOPIC_VALUES)].map((some) => ({
    ...source,
    topics: Array.from({ length: TOPICS }, (_, place) => (place === book.place ? some : (topics[place] ?? null))),
  }));
}

/** Which topics a source restricts. */
function shapeOf(source: FollowedSource): string {
  return valuesOf(source)
    .map((values) => (values === null ? '-' : '+'))
    .join('');
}

function valuesOf({ topic, topics }: FollowedSource): readonly (readonly string[] | null)[] {
  return Array.from({ length: TOPICS }, (_, place) => (place === 0 ? [topic] : (topics?.[place] ?? null)));
}

/** A filter that takes sources of the same shape until it is full. Sources of one shape restrict the same topics. */
class Draft {
  readonly #contracts: Set<string>;
  readonly #topics: readonly (Set<string> | null)[];

  constructor(contract: string, source: FollowedSource) {
    this.#contracts = new Set([contract]);
    this.#topics = valuesOf(source).map((values) => (values === null ? null : new Set(values)));
  }

  /** Returns false, and adds nothing, if the lists would be too long. */
  add(contract: string, source: FollowedSource, mostContracts: number): boolean {
    const values = valuesOf(source);
    const isNew = !this.#contracts.has(contract);
    if (isNew && this.#contracts.size >= mostContracts) return false;
    const isFull = this.#topics.some((known, place) => {
      if (known === null) return false;
      const added = (values[place] ?? []).filter((value) => !known.has(value));
      return known.size + added.length > MAX_TOPIC_VALUES;
    });
    if (isFull) return false;
    this.#contracts.add(contract);
    for (const [place, known] of this.#topics.entries()) for (const value of values[place] ?? []) known?.add(value);
    return true;
  }

  get filter(): Pick<LogFilter, 'addresses' | 'topics'> {
    const topics = this.#topics.map((values) => (values === null ? null : [...values]));
    while (topics.at(-1) === null) topics.pop();
    return { addresses: [...this.#contracts], topics };
  }
}
