import { type FollowedSource, versionsOf } from '../../../store/chain/network-store.ts';
import type { LogFilter } from '../../rpc/types.ts';

/** Nodes refuse longer lists. */
export const MAX_CONTRACTS = 500;
const MAX_TOPIC_VALUES = 500;
const TOPICS = 4;

/**
 * The filters that together give every log that any of the sources takes. A topic is restricted only where each source
 * restricts it, because a filter cannot say that one address needs it and another one does not.
 */
export function logFilters(
  sources: readonly FollowedSource[],
  fromBlock: number,
  toBlock: number,
  contractsPerCall = MAX_CONTRACTS,
): LogFilter[] {
  const wanted = sources
    .flatMap((source) => versionsOf(source))
    .filter((source) => source.fromBlock <= toBlock && (source.untilBlock ?? toBlock) >= fromBlock);
  const addresses = [...new Set(wanted.map(({ contract }) => contract))];
  const filters: LogFilter[] = [];
  for (let at = 0; at < addresses.length; at += contractsPerCall) {
    const chunk = new Set(addresses.slice(at, at + contractsPerCall));
    const topics = topicsOf(wanted.filter(({ contract }) => chunk.has(contract)));
    filters.push({ fromBlock, toBlock, addresses: [...chunk], topics });
  }
  return filters;
}

function topicsOf(sources: readonly FollowedSource[]): (readonly string[] | null)[] {
  const topics = Array.from({ length: TOPICS }, (_, index) =>
    union(sources.map((source) => (index === 0 ? [source.topic] : (source.topics?.[index] ?? null)))),
  );
  while (topics.at(-1) === null) topics.pop();
  return topics;
}

function union(lists: readonly (readonly string[] | null)[]): readonly string[] | null {
  const values = new Set<string>();
  for (const list of lists) {
    if (list === null) return null;
    for (const value of list) values.add(value);
  }
  return values.size <= MAX_TOPIC_VALUES ? [...values] : null;
}
