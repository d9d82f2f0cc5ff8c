import { useEffect, useState } from 'preact/hooks';
import { paybell } from '../../../api.ts';
import { useResponse } from '../../../use-response.ts';
import type { Chosen } from './pairs.tsx';

/** Pairs of a network and an event for which a URL has a webhook. */
export type RegisteredPairs = ReadonlySet<string>;

const PER_PAGE = 100;
/** If a URL has more webhooks, some of them count as new. */
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
  // The filter takes the beginning of a URL, and of all that begin with it, the URL itself is the first.
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

/** The pairs of the URL, once no one has typed for a moment; null while they are not known. */
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
