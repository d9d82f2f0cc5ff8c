import type { Delivery, DeliveryListQuery, DeliveryMatch } from './deliveries.ts';
import { ProblemError } from './errors.ts';
import type { Paybell } from './paybell.ts';

/** One request to each failing endpoint of a bulk redelivery, before all others are sent. Used by dashboard and command line. */

export type FailedTrial = {
  readonly postUrl: string;
  readonly statusCode: number | null;
  /** Null for a response, and while there is none yet. */
  readonly error: string | null;
};

export type Trials = { readonly tried: number; readonly failed: readonly FailedTrial[] };

/** More failing endpoints are not tried: the first ones, with the most waiting deliveries, tell enough. */
const MAX_ENDPOINTS = 5;
const LOOKED_AT = 5;
const POLL_MS = 500;
/** A receiver that has not responded by then does not respond. */
const PATIENCE_MS = 20_000;

/** Sends one matching delivery to each failing endpoint, and waits for the results. */
export async function tryFirst(client: Paybell, match: DeliveryMatch, signal?: AbortSignal): Promise<Trials> {
  const candidates = await findCandidates(client, match, signal);
  const trials = await Promise.all(candidates.map((delivery) => tryOne(client, delivery, signal)));
  return { tried: trials.length, failed: trials.flatMap((failed) => failed ?? []) };
}

async function findCandidates(client: Paybell, match: DeliveryMatch, signal?: AbortSignal): Promise<Delivery[]> {
  const options = signal === undefined ? {} : { signal };
  const query = { state: 'failing', sortBy: 'waiting', sortDir: 'desc', limit: MAX_ENDPOINTS } as const;
  const failing = await client.endpoints.list(query, options).catch(ignoreMissingPermission);
  const wanted = (failing?.endpoints ?? []).filter(
    ({ endpointId }) => match.endpointId === undefined || match.endpointId === endpointId,
  );
  const lists = await Promise.all(
    wanted.map(({ endpointId }) =>
      client.deliveries.list({ ...(match as DeliveryListQuery), endpointId, limit: LOOKED_AT }, options),
    ),
  );
  // A bulk redelivery leaves out test requests, alerts and retracted events.
  return lists.flatMap(({ deliveries }) => {
    return deliveries.find(({ kind, retractedBy }) => kind === 'event' && retractedBy === null) ?? [];
  });
}

/** Null if it succeeded, or if someone has changed the delivery since it was listed. */
async function tryOne(client: Paybell, delivery: Delivery, signal?: AbortSignal): Promise<FailedTrial | null> {
  const options = signal === undefined ? {} : { signal };
  const { deliveryId, postUrl, attempts } = delivery;
  await client.deliveries.redeliver(deliveryId, options);
  for (let waitedMs = 0; waitedMs < PATIENCE_MS; waitedMs += POLL_MS) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    const { attemptLog, attempts: made } = await client.deliveries.get(deliveryId, options);
    const last = attemptLog.at(-1);
    if (made <= attempts || last === undefined) continue;
    const isSuccess = last.statusCode !== null && last.statusCode >= 200 && last.statusCode < 300;
    return isSuccess ? null : { postUrl, statusCode: last.statusCode, error: last.error };
  }
  return { postUrl, statusCode: null, error: null };
}

function ignoreMissingPermission(error: unknown): null {
  if (error instanceof ProblemError && error.permission !== null) return null;
  throw error;
}
