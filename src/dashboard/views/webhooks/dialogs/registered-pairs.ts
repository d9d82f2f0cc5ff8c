import { useEffect, useState } from 'preact/hooks';
import { paybell } from '../../../api.ts';
import { useResponse } from '../../../use-response.ts';
import type { Chosen } from './pairs.tsx';

/** Pairs of a network and an event for which a URL has a webhook. */
export type RegisteredPairs = ReadonlySet<string>;

const PER_PAGE = 100;
/** If a URL has more pages of webhooks, some of its webhooks count as new. */
const MAX_PAGES = 20;
const TYPING_MS = 300;

function pairOf(networkId: number, event: string): string {
  return `${networkId} ${event}`;
}

export function countRegistered({ networkIds, events }: Chosen, registered: RegisteredPairs): number {
  return networkIds.flatMap((id) => events.filter((event) => registered.has(pairOf(id, event)))).length;
}

export async function readRegisteredPairs(postUrl: string, signal?: AbortSignal): Promise<RegisteredPairs> {
  const { endpoints } = paybell();
  const options = signal === undefined ? {} : { signal };
  // The filter matches the beginning of URLs. The URL itself sorts before all longer URLs.
  const found = await endpoints.list({ postUrl, sortBy: 'postUrl', sortDir: 'asc', limit: 1 }, options);
  const endpoint = found.endpoints.find((each) => each.postUrl === postUrl);
  const pairs = new Set<string>();
  if (endpoint === undefined) return pairs;
  for (let page = 1; page <= MAX_PAGES; page++) {
    const { webhooks } = await endpoints.webhooks(endpoint.endpointId, { page, limit: PER_PAGE }, options);
    for (const { networkId, event } of webhooks) pairs.add(pairOf(networkId, event));
    if (webhooks.length < PER_PAGE) break;
  }
  return pairs;
}

/** The pairs of the URL, after a short pause in typing; null while they are unknown. */
export function useRegisteredPairs(postUrl: string): RegisteredPairs | null {
  const [settled, setSettled] = useState(postUrl);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(postUrl), TYPING_MS);
    return () => clearTimeout(timer);
  }, [postUrl]);
  const { data, loading } = useResponse(settled, async (signal) =>
    settled === '' ? null : readRegisteredPairs(settled, signal),
  );
  return settled === postUrl && !loading ? data : null;
}
