import type { Delivery } from '../../../../client/deliveries.ts';
import type { EndpointList } from '../../../../client/endpoints.ts';
import { paybell } from '../../../api.ts';
import { type ResponseState, useResponse } from '../../../use-response.ts';

/** The list names this many of each kind, and counts the rest. */
const MAX_NAMED = 5;

export type UnhealthyEndpoints = { readonly suspended: EndpointList; readonly failing: EndpointList };

const MOST_WAITING = { sortBy: 'waiting', sortDir: 'desc', limit: MAX_NAMED } as const;

/** The endpoints that are suspended or failing. The ones with the most waiting deliveries are first. */
export function useUnhealthyEndpoints(): ResponseState<UnhealthyEndpoints> {
  return useResponse('unhealthy endpoints', async (signal) => {
    const { endpoints } = paybell();
    const [suspended, failing] = await Promise.all([
      endpoints.list({ ...MOST_WAITING, state: 'suspended' }, { signal }),
      endpoints.list({ ...MOST_WAITING, state: 'failing' }, { signal }),
    ]);
    return { suspended, failing };
  });
}

/**
 * The paused endpoints. This request and the next ones wait for the statistics, so that they do not delay the
 * statistics.
 */
export function usePausedEndpoints(isWanted: boolean): ResponseState<EndpointList | null> {
  return useResponse(`paused endpoints ${isWanted}`, async (signal) =>
    isWanted ? paybell().endpoints.list({ ...MOST_WAITING, state: 'paused' }, { signal }) : null,
  );
}

const DAY_S = 86_400;

/** How many events of the last day reached no webhook. */
export function useMissedEvents(isWanted: boolean): ResponseState<number | null> {
  return useResponse(`missed events ${isWanted}`, async (signal) => {
    if (!isWanted) return null;
    const since = Math.floor(Date.now() / 1000) - DAY_S;
    return (await paybell().events.list({ matched: 'false', since, limit: 1 }, { signal })).totalResults;
  });
}

/** The sources that are paused. Without networks there are no sources. */
export function usePausedSources(followsNetworks: boolean) {
  return useResponse(`paused sources ${followsNetworks}`, async (signal) =>
    followsNetworks ? paybell().sources.list({ state: 'paused', limit: MAX_NAMED }, { signal }) : null,
  );
}

/** The delivery that is overdue for longest. Asks only if a delivery is overdue. */
export function useMostOverdue(isOverdue: boolean): Delivery | null {
  const { data } = useResponse(`most overdue ${isOverdue}`, async (signal) => {
    if (!isOverdue) return null;
    const query = { sortBy: 'dateNextAttempt', sortDir: 'asc', limit: 1 } as const;
    return (await paybell().deliveries.list(query, { signal })).deliveries[0] ?? null;
  });
  return isOverdue ? data : null;
}
