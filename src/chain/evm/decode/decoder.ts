import { BoundedMap } from '../../../bounded-map.ts';
import { factId } from '../../../domain/chain/fact-id.ts';
import type { FoundFact } from '../../../domain/chain/facts.ts';
import type { BookEntry } from '../../../store/chain/addresses/books.ts';
import { type FollowedSource, type SourceKey, versionsOf } from '../../../store/chain/network-store.ts';
import type { Log } from '../rpc/types.ts';
import { type AbiLibrary, loadAbiLibrary } from './abi-library.ts';
import type { CallContract } from './contract-calls.ts';
import { addressesOf } from './definition/addresses.ts';
import { type Compiled, compileSource } from './definition/compile-source.ts';
import { matchesTopics, matchesValues } from './definition/where.ts';
import { FlowKinds } from './flow-kinds.ts';
import { LogReader, type LogValues } from './log-values.ts';
import { addTokens } from './payload-fields.ts';
import { type Entries, expectedBy, type IndexedSource, type Match, matchOf, SourceIndex } from './source-index.ts';
import { oneOfEach, toFact } from './to-fact.ts';
import { TokenDecimals, type TokenStore } from './token-decimals.ts';

/** Turns logs into facts. A log that no source takes makes no fact. */
export interface Decoder {
  /** Facts of the given sources, in the order of their creation. Throws only if a node or the database does not respond. */
  decode(logs: readonly Log[], sources: readonly FollowedSource[], options?: DecodeOptions): Promise<FoundFact[]>;
  /** The logs by their fact ids, whether or not a source takes them. */
  identify(networkId: number, logs: readonly Log[]): ReadonlyMap<string, Log>;
}

export type DecodeOptions = {
  /** Called for each log that matches the topics of a source, even if the log makes no fact. */
  readonly onTaken?: (source: FollowedSource) => void;
  /** Absent if no source waits for its history. */
  readonly waits?: Waits | undefined;
};

/** Whether the source's payments in this block wait until the backfill has read the source's older blocks. */
export type Waits = (source: SourceKey, block: number) => boolean;

/**
 * Why the decoder skips a log of a source's contract and event. `undecodable`: the log does not match the declaration
 * of the event. `unproved`: the log does not prove the fields that the fact needs. `definition`: the source's
 * definition is invalid.
 */
export type SkipReason = 'undecodable' | 'unproved' | 'definition';

export type OnSkipped = (networkId: number, reason: SkipReason) => void;

export type DecoderOptions = {
  readonly tokens: TokenStore;
  readonly callContract: CallContract;
  /** Reads the rows of address books on a network. */
  readonly findEntries?: (networkId: number, addresses: readonly string[]) => Promise<readonly BookEntry[]>;
  /** Called each time that a skipped log is read. */
  readonly onSkipped?: OnSkipped;
};

/** Limit on the values in the conditions of all compiled sources together. */
const MAX_COMPILED_VALUES = 1_000_000;
const MAX_READERS = 10_000;
/** Enough for the sources of a network and of a few backfills. */
const MAX_INDEXES = 8;
const LOGS_PER_LOOK = 100;
const MAX_TICK_MS = 10;

export class LogDecoder implements Decoder {
  readonly #compiled = new BoundedMap<string, Compiled>(MAX_COMPILED_VALUES, { weigh: countValues });
  readonly #readers = new BoundedMap<string, LogReader>(MAX_READERS);
  readonly #indexes: { readonly sources: readonly FollowedSource[]; readonly index: SourceIndex }[] = [];
  readonly #decimals: TokenDecimals;
  readonly #flows: FlowKinds;
  readonly #onSkipped: OnSkipped;
  readonly #findEntries: NonNullable<DecoderOptions['findEntries']>;

  constructor({ tokens, callContract, findEntries = async () => [], onSkipped = () => undefined }: DecoderOptions) {
    this.#findEntries = findEntries;
    this.#decimals = new TokenDecimals(tokens, callContract);
    this.#flows = new FlowKinds(callContract);
    this.#onSkipped = onSkipped;
  }

  async decode(
    logs: readonly Log[],
    sources: readonly FollowedSource[],
    options: DecodeOptions = {},
  ): Promise<FoundFact[]> {
    const [first] = sources;
    if (first === undefined || logs.length === 0) return [];
    const library = await loadAbiLibrary();
    const sorted = inOrder(logs);
    const index = this.#indexOf(sources, library);
    const addresses = new Set<string>();
    if (index.hasBooks) for (const log of sorted) index.addAddresses(log, addresses);
    const found = addresses.size === 0 ? [] : await this.#findEntries(first.networkId, [...addresses]);
    const entries = Map.groupBy(found, ({ address }) => address);
    const matches = await this.#match(sorted, index, entries, options);
    const { proved, unproved } = await this.#flows.prove(matches);
    for (let count = 0; count < unproved; count++) this.#onSkipped(first.networkId, 'unproved');
    const tokens = new Set<string>();
    for (const { source, values } of proved) addTokens(source.compiled, values, tokens);
    const decimals = await this.#decimals.read(first.networkId, tokens);
    const shown = addressesOf(first.networkId, library);
    const facts: FoundFact[] = [];
    const tick = new Tick();
    for (const match of proved) {
      facts.push(toFact(match, decimals, shown));
      if (facts.length % LOGS_PER_LOOK === 0) await tick.pause();
    }
    return options.waits === undefined ? facts : oneOfEach(facts);
  }

  identify(networkId: number, logs: readonly Log[]): Map<string, Log> {
    const equalLogs: EqualLogs = new Map();
    const idOf = (log: Log) => factId({ ...log, networkId, contract: log.address, n: countEqual(equalLogs, log) });
    return new Map(inOrder(logs).map((log) => [idOf(log), log]));
  }

  async #match(logs: readonly Log[], index: SourceIndex, entries: Entries, options: DecodeOptions): Promise<Match[]> {
    const matches: Match[] = [];
    const equalLogs: EqualLogs = new Map();
    const tick = new Tick();
    for (const [at, log] of logs.entries()) {
      if (at % LOGS_PER_LOOK === 0) await tick.pause();
      const candidates = index.candidates(log, entries);
      if (candidates.length > 0) this.#matchLog(log, candidates, countEqual(equalLogs, log), matches, options);
    }
    return matches;
  }

  /**
   * If several sources of an entity take a log, it belongs to the oldest source. If the oldest source waits for its
   * history, the log gets a second match, with the oldest source that does not wait. If the source of the entity's
   * invoices takes the log too, the log also pays an invoice's address.
   */
  #matchLog(
    log: Log,
    candidates: readonly IndexedSource[],
    n: number,
    matches: Match[],
    { onTaken, waits }: DecodeOptions,
  ): void {
    const start = matches.length;
    let reader: LogReader | null = null;
    let values: LogValues | null = null;
    for (const source of candidates) {
      const { followed, compiled } = source;
      if (!coversBlock(followed, log.blockNumber) || !matchesTopics(compiled.conditions, log.topics)) continue;
      onTaken?.(followed);
      const older = matchOf(matches, start, followed.entityId);
      const isForInvoices = followed.isForInvoices === true;
      const waitsHere = (one: FollowedSource) => waits?.(one, log.blockNumber) === true;
      const isNext = older !== undefined && !isForInvoices && waitsHere(older.source.followed) && !waitsHere(followed);
      const owner = isNext ? undefined : older;
      if (owner !== undefined && !isForInvoices) continue;
      if (source.reader !== reader) {
        reader = source.reader;
        values = reader.read(log);
        if (values === null) this.#onSkipped(followed.networkId, 'undecodable');
      }
      if (values === null || !matchesValues(compiled.conditions, values)) continue;
      const match: Match = owner ?? { source, log, values, n, kind: compiled.kind };
      if (owner === undefined) matches.push(match);
      if (isForInvoices) match.expected = expectedBy(source, values);
    }
  }

  /** Caches the index, because most polls have the same sources as the poll before. */
  #indexOf(sources: readonly FollowedSource[], library: AbiLibrary): SourceIndex {
    const known = this.#indexes.find((each) => areSame(each.sources, sources));
    if (known !== undefined) return known.index;
    const index = new SourceIndex(
      sources.flatMap((source, place) => versionsOf(source).flatMap((each) => this.#compile(each, place, library))),
    );
    this.#indexes.unshift({ sources, index });
    this.#indexes.splice(MAX_INDEXES);
    return index;
  }

  /**
   * Caches by revision, because a revision of a definition never changes. A definition that this release cannot use makes no
   * facts.
   */
  #compile(followed: FollowedSource, place: number, library: AbiLibrary): IndexedSource[] {
    const key = `${followed.sourceId} ${followed.revision ?? 1}`;
    const known = this.#compiled.get(key);
    const compiled = known ?? compileSource(followed.definition, library);
    if (known === undefined) this.#compiled.set(key, compiled);
    if (!compiled.isValid) {
      this.#onSkipped(followed.networkId, 'definition');
      return [];
    }
    const { event } = compiled.source;
    const reader = this.#readers.get(event.text) ?? new LogReader(event, library);
    this.#readers.set(event.text, reader);
    return [{ followed, compiled: compiled.source, reader, place }];
  }
}

function countValues(compiled: Compiled): number {
  if (!compiled.isValid) return 1;
  return Object.values(compiled.definition.where).reduce((sum, values) => sum + values.length, 1);
}

function coversBlock({ fromBlock, untilBlock }: FollowedSource, block: number): boolean {
  return block >= fromBlock && (untilBlock === undefined || block <= untilBlock);
}

function areSame(a: readonly FollowedSource[], b: readonly FollowedSource[]): boolean {
  const isSame = (one: FollowedSource, other: FollowedSource | undefined) =>
    one.sourceId === other?.sourceId && one.revision === other.revision && one.book === other.book;
  return a === b || (a.length === b.length && a.every((source, index) => isSame(source, b[index])));
}

/** Sorts logs by block and log index. Nodes usually send this order, so that no copy is needed. */
function inOrder(logs: readonly Log[]): readonly Log[] {
  const compare = (a: Log, b: Log) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex;
  const isSorted = logs.every((log, index) => index === 0 || compare(logs[index - 1] ?? log, log) <= 0);
  return isSorted ? logs : logs.toSorted(compare);
}

/**
 * For each transaction: its only log so far or, if it has several logs, how often it has each of them. Most
 * transactions have one log.
 */
type EqualLogs = Map<string, Log | Map<string, number>>;

/**
 * Counts the earlier equal logs of the transaction in the same block. Copies of the transaction in blocks of other
 * branches must not change the log's id.
 */
function countEqual(logs: EqualLogs, log: Log): number {
  const known = logs.get(log.transactionHash);
  if (known === undefined) {
    logs.set(log.transactionHash, log);
    return 0;
  }
  const counts = known instanceof Map ? known : new Map([[contentOf(known), 1]]);
  logs.set(log.transactionHash, counts);
  const content = contentOf(log);
  const n = counts.get(content) ?? 0;
  counts.set(content, n + 1);
  return n;
}

function contentOf({ blockHash, address, topics, data }: Log): string {
  return `${blockHash} ${address} ${topics.join(' ')} ${data}`;
}

/** Lets the event loop do other work, because ten thousand logs take most of a second. */
class Tick {
  #startMs = performance.now();

  async pause(): Promise<void> {
    if (performance.now() - this.#startMs < MAX_TICK_MS) return;
    await new Promise((resolve) => setImmediate(resolve));
    this.#startMs = performance.now();
  }
}
