import type { DeliveryCounts } from '../../../client/deliveries.ts';
import { isPermanent, paybell } from '../../api.ts';
import { type ResponseState, useResponse } from '../../use-response.ts';

/** The search for the deliveries to a destination: the beginning of their URLs, which have no default port. */
export function searchFor(destination: string): string {
  return `${destination.replace(/^(http:.*):80$|^(https:.*):443$/, '$1$2')}/`;
}

/** How many deliveries are in each state now, of all destinations or of one. */
export function useCounts(destination: string | null): ResponseState<DeliveryCounts> {
  const response = useResponse(`counts ${destination}`, (signal) =>
    paybell().deliveries.counts(destination === null ? {} : { q: searchFor(destination) }, { signal }),
  );
  return pollable(response);
}

export type PeriodCounts = { readonly counts: DeliveryCounts; readonly since: number };

/**
 * The current states of the deliveries that were accepted since `since`. The statistics count results instead: a
 * delivery that failed first and arrived after a resend counts as both.
 */
export function usePeriodCounts(destination: string | null, since: number | null): ResponseState<PeriodCounts | null> {
  const response = useResponse(`counts ${destination} ${since}`, async (signal) => {
    if (since === null) return null;
    const query = { since, ...(destination !== null && { q: searchFor(destination) }) };
    return { counts: await paybell().deliveries.counts(query, { signal }), since };
  });
  return pollable(response);
}

function pollable<Data>(response: ResponseState<Data>): ResponseState<Data> {
  const { problem, reload } = response;
  return { ...response, reload: isPermanent(problem) ? () => Promise.resolve() : reload };
}
