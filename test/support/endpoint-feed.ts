import type { Endpoint, EndpointList } from '../../src/contract/endpoints/endpoint.ts';
import type { Feed, FeedEntry } from '../../src/contract/endpoints/feed.ts';
import type { Client } from './service.ts';

/** The endpoints of a service over HTTP, for trials that check what became of every number. */

async function call<Body>(client: Client, method: string, path: string, body?: object): Promise<Body> {
  const response = await client.request(method, path, body && JSON.stringify(body));
  if (!response.ok) throw new Error(`${method} ${path} returned ${response.status}: ${await response.text()}`);
  return (await response.json()) as Body;
}

/** The only endpoint with that URL. */
export async function findEndpoint(client: Client, postUrl: string): Promise<Endpoint> {
  const query = new URLSearchParams({ postUrl });
  const { endpoints } = await call<EndpointList>(client, 'GET', `/endpoints?${query}`);
  const endpoint = endpoints.find((one) => one.postUrl === postUrl);
  if (endpoint === undefined) throw new Error(`There is no endpoint for ${postUrl}`);
  return endpoint;
}

export function changeEndpoint(client: Client, endpointId: string, change: object): Promise<Endpoint> {
  return call(client, 'PATCH', `/endpoints/${endpointId}`, change);
}

/** Every number that the endpoint has given so far. */
export async function readWholeFeed(client: Client, endpointId: string): Promise<FeedEntry[]> {
  const entries: FeedEntry[] = [];
  for (;;) {
    const page = await call<Feed>(
      client,
      'GET',
      `/endpoints/${endpointId}/feed?after=${entries.at(-1)?.sequence ?? 0}`,
    );
    entries.push(...page.deliveries);
    if (page.deliveries.length === 0) return entries;
  }
}

/** As sentences: what keeps the numbers from being 1, 2, 3 … for as many different deliveries. */
export function wrongNumbers(entries: readonly FeedEntry[], expected: number): string[] {
  const wrong: string[] = [];
  if (entries.length !== expected) wrong.push(`the feed has ${entries.length} numbers instead of ${expected}`);
  const displaced = entries.find(({ sequence }, index) => sequence !== index + 1);
  if (displaced !== undefined) wrong.push(`the number ${displaced.sequence} of the feed is not in its place`);
  const deliveries = new Set(entries.map(({ deliveryId }) => deliveryId));
  if (deliveries.size !== entries.length)
    wrong.push(`${entries.length} numbers belong to ${deliveries.size} deliveries`);
  return wrong;
}
