import { type FollowedSource, versionsOf } from '../../../../store/chain/network-store.ts';
import type { Log } from '../../rpc/types.ts';

/** Sources that ask nodes for the same logs. */
export type Demand = { readonly sources: readonly FollowedSource[]; readonly versions: readonly FollowedSource[] };

/** Sorts similar demands next to each other, the ones without conditions first, so that any part of the list needs few filters. */
export function demandsOf(sources: readonly FollowedSource[]): Demand[] {
  const groups = [...Map.groupBy(sources, keyOf)].sort(([a], [b]) => (a < b ? -1 : 1));
  return groups.map(([, same]) => ({ sources: same, versions: same.slice(0, 1).flatMap(versionsOf) }));
}

/** A source that has changed, or has an address book, asks for other logs than any other source, so its demand is separate. */
function keyOf(source: FollowedSource): string {
  const { sourceId, contract, topic, topics = [], earlier = [], book } = source;
  const isAlone = earlier.length > 0 || book !== undefined;
  const shape = restrictions(source).map((values) => (values === null ? 0 : 1));
  return `${shape.join('')} ${contract} ${topic} ${JSON.stringify(topics)} ${isAlone ? sourceId : ''}`;
}

/** The values of the topics after the first; null for a topic that may have any value. */
function restrictions({ topics = [] }: FollowedSource): readonly (readonly string[] | null)[] {
  return [1, 2, 3].map((place) => topics[place] ?? null);
}

type Version = {
  readonly demand: Demand;
  readonly source: FollowedSource;
  readonly values: readonly (ReadonlySet<string> | null)[];
};

/** Finds the demands that a log answers. One token can have thousands of sources, each for other payees. */
export class DemandIndex {
  readonly #byValue = new Map<string, Version[]>();

  constructor(demands: readonly Demand[]) {
    for (const demand of demands) for (const source of demand.versions) this.#add(demand, source);
  }

  of(log: Log): Demand[] {
    const group = `${log.address} ${log.topics[0]}`;
    const keys = [group, ...[1, 2, 3].map((place) => `${group} ${place} ${log.topics[place]}`)];
    return keys.flatMap((key) =>
      (this.#byValue.get(key) ?? []).filter((version) => isAnswered(version, log)).map(({ demand }) => demand),
    );
  }

  #add(demand: Demand, source: FollowedSource): void {
    const lists = restrictions(source);
    const version = { demand, source, values: lists.map((list) => (list === null ? null : new Set(list))) };
    const group = `${source.contract} ${source.topic}`;
    const place = lists.findIndex((list) => list !== null);
    const keys = place === -1 ? [group] : (lists[place] ?? []).map((value) => `${group} ${place + 1} ${value}`);
    for (const key of keys) {
      const same = this.#byValue.get(key);
      if (same === undefined) this.#byValue.set(key, [version]);
      else same.push(version);
    }
  }
}

function isAnswered({ source, values }: Version, { blockNumber, topics }: Log): boolean {
  if (blockNumber < source.fromBlock || blockNumber > (source.untilBlock ?? blockNumber)) return false;
  const { book } = source;
  if (book !== undefined && !book.addresses.hasWord(topics[book.place] ?? '')) return false;
  return values.every((allowed, index) => allowed === null || allowed.has(topics[index + 1] ?? ''));
}
