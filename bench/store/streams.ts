import { EVENT_KINDS } from '../../src/domain/event-kinds.ts';
import { DEFAULT_NETWORKS } from '../../src/domain/networks.ts';
import type { Server } from '../harness/processes.ts';
import type { Sample } from '../harness/rounds.ts';
import { loadServer } from '../load/load.ts';
import { LIST_PATH } from '../peers/conformance.ts';
import { callerOf } from './seed.ts';

/** Requests of which no two ask for the same: another entity each time, and another query each time round. */

const LIMITS = [25, 24, 26, 23, 27, 22, 28, 21, 29];

/** All of them answer about 25 rows, so that they may be compared with the others. */
export function pageQueries(webhooksEach: number): string[] {
  const pages = Math.floor(webhooksEach / Math.max(...LIMITS));
  const sorts = ['dateCreated', 'postUrl'].flatMap((by) =>
    ['asc', 'desc'].map((dir) => `&sortBy=${by}&sortDir=${dir}`),
  );
  const filters = [
    ...Array.from({ length: pages }, (_, page) => `&page=${page + 1}`),
    ...DEFAULT_NETWORKS.map((network) => `&networkId=${network}`),
    ...EVENT_KINDS.map((event) => `&event=${event}`),
  ];
  return LIMITS.flatMap((limit) => filters.flatMap((filter) => sorts.map((sort) => `?limit=${limit}${filter}${sort}`)));
}

export type ColdStream = {
  /** How many there are, and how many were asked for so far. */
  readonly length: number;
  readonly used: () => number;
  readonly load: (server: Server, seconds: number) => Promise<Sample>;
};

export function coldStream(entities: number, webhooksEach: number): ColdStream {
  const callers = Array.from({ length: entities }, (_, index) => callerOf(index));
  const queries = pageQueries(webhooksEach);
  const length = callers.length * queries.length;
  let from = 0;
  return {
    length,
    used: () => from,
    async load(server, seconds) {
      const result = await loadServer(server, { callers, queries, from, seconds }, LIST_PATH);
      // Those that were cut off at the end of a run were asked for too.
      from += (result.requests ?? 0) + 100;
      if (from > length) throw new Error(`the ${length} cold requests ran out: the store has to be larger`);
      return result;
    },
  };
}
