import { EVENT_KINDS } from '../../src/domain/event-kinds.ts';
import { DEFAULT_NETWORKS } from '../../src/domain/networks.ts';
import { LIST_PATH } from '../harness/paybell-api.ts';
import type { Server } from '../harness/processes.ts';
import type { Sample } from '../harness/rounds.ts';
import { callerOf } from '../store/seed.ts';
import { loadServer } from './load.ts';

/** List requests of which no two are equal, so that no cache has the response: another entity each time, and another query in each round. */

const LIMITS = [25, 24, 26, 23, 27, 22, 28, 21, 29];

/** Each returns about 25 rows, so that its cost compares with that of the default page. */
function pageQueries(webhooksEach: number): string[] {
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

export type ColdRequests = {
  /** How many were sent so far. */
  readonly sent: () => number;
  readonly load: (server: Server, seconds: number) => Promise<Sample>;
};

export function coldRequests(entities: number, webhooksEach: number): ColdRequests {
  const callers = Array.from({ length: entities }, (_, index) => callerOf(index));
  const queries = pageQueries(webhooksEach);
  const length = callers.length * queries.length;
  let from = 0;
  return {
    sent: () => from,
    async load(server, seconds) {
      const result = await loadServer(server, { callers, queries, from, seconds }, LIST_PATH);
      // Requests in flight at the end of a run were sent too, but are not in its result.
      from += (result.requests ?? 0) + 100;
      if (from > length) throw new Error(`All ${length} cold requests were sent: seed a larger store`);
      return result;
    },
  };
}
