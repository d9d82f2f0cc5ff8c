import { BoundedMap } from '../../../../bounded-map.ts';
import type { FollowedSource } from '../../../../store/chain/network-store.ts';
import { MAX_TOPIC_VALUES } from './log-filters.ts';

/**
 * Decides whether to ask nodes for the addresses of an address book (narrow), or for all logs of the contract (wide).
 * Paybell matches the logs of a wide reading itself.
 *
 * | mode   | calls                         | sent             | received                     |
 * |--------|-------------------------------|------------------|------------------------------|
 * | narrow | one for each 1,000 addresses  | 69 B an address  | the logs of these addresses  |
 * | wide   | one                           | a few hundred B  | all logs, 637 B each         |
 *
 * Wide is used if it needs fewer bytes, or if narrow needs more than four calls and the logs stay below 4 MB. Wide
 * readings measure the number of logs. After 256 narrow readings, a wide reading repeats the measurement, even after a
 * refusal.
 */

const LOG_BYTES = 637;
const ADDRESS_BYTES = 69;
const MANY_CALLS = 4;
const MAX_WIDE_BYTES = 4_000_000;
/** Narrow readings after which a measurement, or a refusal, is out of date. */
const OUTDATED = 256;
/**
 * A measurement reads few blocks, because the number of their logs is not known yet. This many are enough for the first
 * polls of a follower, which also read the tail. After a refusal, the next measurement reads half as many.
 */
const MAX_MEASURED_BLOCKS = 16;
const MAX_GROUPS = 10_000;
const SHARE_OF_NEW = 0.2;

type Mode = { logsABlock: number | null; measuredBlocks: number; isRefused: boolean; narrowReadings: number };

export class BookModes {
  readonly #modes = new BoundedMap<string, Mode>(MAX_GROUPS);

  /** A practice network pays the addresses that a request asks for, so the request must list them. */
  constructor(private readonly isPractice = false) {}

  /** The groups of these sources that are read widely. */
  choose(sources: readonly FollowedSource[], blocks: number): Set<string> {
    const sizes = new Map<string, number>();
    for (const { book } of sources) {
      if (book === undefined || this.isPractice) continue;
      sizes.set(book.group, (sizes.get(book.group) ?? 0) + book.addresses.size);
    }
    return new Set(
      [...sizes].filter(([group, addresses]) => this.#isWide(group, addresses, blocks)).map(([one]) => one),
    );
  }

  #isWide(group: string, addresses: number, blocks: number): boolean {
    const mode = this.#modeOf(group);
    const isOutdated = mode.narrowReadings >= OUTDATED;
    const isWide =
      mode.logsABlock === null || isOutdated
        ? addresses > LOG_BYTES / ADDRESS_BYTES && blocks <= (isOutdated ? MAX_MEASURED_BLOCKS : mode.measuredBlocks)
        : isCheaper(addresses, mode.logsABlock * blocks);
    if (isWide && (!mode.isRefused || isOutdated)) return true;
    mode.narrowReadings++;
    return false;
  }

  noteReceived(group: string, blocks: number, logs: number): void {
    const mode = this.#modeOf(group);
    const measured = logs / Math.max(1, blocks);
    const isKnown = mode.logsABlock !== null && mode.narrowReadings < OUTDATED;
    mode.logsABlock = isKnown ? (mode.logsABlock ?? 0) * (1 - SHARE_OF_NEW) + measured * SHARE_OF_NEW : measured;
    mode.narrowReadings = 0;
    mode.isRefused = false;
    mode.measuredBlocks = MAX_MEASURED_BLOCKS;
  }

  /** A refused measurement of several blocks is repeated with half of them, because their number may be the reason. */
  noteRefused(group: string, blocks: number): void {
    const mode = this.#modeOf(group);
    if (mode.logsABlock === null && blocks > 1) mode.measuredBlocks = Math.floor(blocks / 2);
    else mode.isRefused = true;
    mode.narrowReadings = 0;
  }

  #modeOf(group: string): Mode {
    const known = this.#modes.get(group);
    const unknown = { logsABlock: null, measuredBlocks: MAX_MEASURED_BLOCKS, isRefused: false, narrowReadings: 0 };
    const mode = known ?? unknown;
    this.#modes.set(group, mode);
    return mode;
  }
}

function isCheaper(addresses: number, logs: number): boolean {
  const bytes = logs * LOG_BYTES;
  return bytes < addresses * ADDRESS_BYTES || (addresses > MANY_CALLS * MAX_TOPIC_VALUES && bytes <= MAX_WIDE_BYTES);
}

/**
 * A contract of a wide reading, which asks for all logs of one event. The address books of `sources` decide which logs
 * are taken.
 */
type WideContract = {
  readonly groups: Set<string>;
  readonly sources: FollowedSource[];
  takesAll: boolean;
  received: number;
};

/**
 * Drops the logs of wide readings that no source takes, by their raw topics. The strict reader would take several times
 * as long for them.
 */
export class WideLogs {
  readonly #contracts = new Map<string, WideContract>();

  constructor(sources: readonly FollowedSource[], wide: ReadonlySet<string>) {
    if (wide.size === 0) return;
    for (const source of sources) {
      if (source.book === undefined || !wide.has(source.book.group)) continue;
      const key = keyOf(source.contract, source.topic);
      const contract = this.#contracts.get(key) ?? { groups: new Set(), sources: [], takesAll: false, received: 0 };
      this.#contracts.set(key, contract);
      if (contract.groups.has(source.book.group)) continue;
      contract.groups.add(source.book.group);
      contract.sources.push(source);
    }
    for (const { book, contract, topic } of sources) {
      const found = book === undefined ? this.#contracts.get(keyOf(contract, topic)) : undefined;
      // A source without a book may share the filter. This class does not know its conditions, so it takes all logs.
      if (found !== undefined) found.takesAll = true;
    }
  }

  /**
   * Whether to read a log, by its fields as the node sent them. True for malformed fields, which the strict reader
   * rejects.
   */
  readonly isTaken = (raw: unknown): boolean => {
    if (this.#contracts.size === 0 || typeof raw !== 'object' || raw === null) return true;
    const { address, topics } = raw as { readonly address?: unknown; readonly topics?: unknown };
    if (typeof address !== 'string' || !Array.isArray(topics) || typeof topics[0] !== 'string') return true;
    const contract = this.#contracts.get(keyOf(address.toLowerCase(), topics[0].toLowerCase()));
    if (contract === undefined) return true;
    contract.received++;
    return contract.takesAll || contract.sources.some(({ book }) => isInBook(book, topics));
  };

  /** The number of logs that nodes sent for each group. */
  *received(): IterableIterator<{ readonly group: string; readonly logs: number }> {
    for (const { groups, received } of this.#contracts.values()) {
      for (const group of groups) yield { group, logs: received };
    }
  }
}

function isInBook(book: FollowedSource['book'], topics: readonly unknown[]): boolean {
  const word = book === undefined ? undefined : topics[book.place];
  return typeof word === 'string' && book?.groupAddresses.hasWord(word.toLowerCase()) === true;
}

function keyOf(contract: string, topic: string): string {
  return `${contract} ${topic}`;
}
