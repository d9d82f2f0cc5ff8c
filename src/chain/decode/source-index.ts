import type { FollowedSource } from '../../store/chain/network-store.ts';
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
};

/** A log that a source takes; `kind` is null until it is known what the log proves. */
export type Match = {
  readonly source: IndexedSource;
  readonly log: Log;
  readonly values: LogValues;
  /** Counts the equal logs of its transaction. */
  readonly n: number;
  readonly kind: string | null;
};

/** The sources of one contract and event: those that want certain values of a topic, by the value, and those that do not. */
type Group = {
  readonly any: IndexedSource[];
  readonly byTopic: readonly [Map<string, IndexedSource[]>, Map<string, IndexedSource[]>, Map<string, IndexedSource[]>];
};

/** Finds the few sources that a log may belong to: one token can have a thousand sources, each for other payees. */
export class SourceIndex {
  readonly #groups = new Map<string, Group>();

  constructor(sources: readonly IndexedSource[]) {
    for (const source of sources) this.#add(source);
  }

  /** In the order of creation. Their conditions on other topics and on values are still to be checked. */
  candidates({ address, topics }: Pick<Log, 'address' | 'topics'>): readonly IndexedSource[] {
    const group = this.#groups.get(`${address} ${topics[0]}`);
    if (group === undefined) return NONE;
    let found: readonly IndexedSource[] = group.any;
    for (const [place, byValue] of group.byTopic.entries()) {
      const some = byValue.size === 0 ? undefined : byValue.get(topics[place + 1] ?? '');
      if (some !== undefined) found = found.length === 0 ? some : [...found, ...some].sort((a, b) => a.place - b.place);
    }
    return found;
  }

  #add(source: IndexedSource): void {
    const { event, contract, conditions } = source.compiled;
    const key = `${contract} ${event.topic}`;
    const group: Group = this.#groups.get(key) ?? { any: [], byTopic: [new Map(), new Map(), new Map()] };
    this.#groups.set(key, group);
    const place = conditions.topics.findIndex((allowed) => allowed !== null);
    const byValue = group.byTopic[place];
    if (byValue === undefined) {
      group.any.push(source);
      return;
    }
    for (const value of conditions.topics[place] ?? []) byValue.set(value, [...(byValue.get(value) ?? []), source]);
  }
}

const NONE: readonly IndexedSource[] = [];
