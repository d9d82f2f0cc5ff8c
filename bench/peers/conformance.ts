import { isDeepStrictEqual } from 'node:util';
import type { WebhookList } from '../../src/contract/webhooks.ts';
import { type Caller, credentials, LIST_PATH } from '../harness/paybell-api.ts';

/** Cases of the list operation that a server has to pass before it is measured, so that all measured servers do the same work. */

type Get = (query: string, headers?: Record<string, string>) => Promise<Response>;
type Case = (get: Get) => Promise<boolean>;

const INVALID_QUERIES = [
  '?limit=0',
  '?limit=101',
  '?page=0',
  '?limit=2.5',
  '?limit=1e2',
  '?page=0x10',
  '?page=%2B5',
  '?networkId=%205',
  '?networkId=Infinity',
  '?sortBy=event',
  '?sortBy=PostUrl',
  '?sortDir=up',
  '?event=latepayment',
  '?webhookId=',
  '?webhookId=a%00',
  '?page=1&page=2',
  '?colour=red',
];

async function read(response: Response): Promise<WebhookList> {
  return (await response.json()) as WebhookList;
}

const hasStatus =
  (status: number, query: string, headers?: Record<string, string>): Case =>
  async (get) =>
    (await get(query, headers)).status === status;

/** The seeded entity has a hundred webhooks on eight networks and seven events. */
const CASES: Readonly<Record<string, Case>> = {
  'a page has 25 webhooks of five fields, and the total counts all': async (get) => {
    const { totalResults, webhooks } = await read(await get(''));
    const fields = ['dateCreated', 'event', 'networkId', 'postUrl', 'webhookId'];
    const whole = webhooks.every((webhook) => isDeepStrictEqual(Object.keys(webhook).sort(), fields));
    return totalResults === 100 && webhooks.length === 25 && whole;
  },
  'the newest come first': async (get) => {
    const ids = (await read(await get('?limit=100'))).webhooks.map(({ webhookId }) => webhookId);
    return isDeepStrictEqual(ids, ids.toSorted().reverse());
  },
  'URLs sort by bytes': async (get) => {
    const urls = (await read(await get('?limit=100&sortBy=postUrl&sortDir=asc'))).webhooks.map((w) => w.postUrl);
    return isDeepStrictEqual(urls, urls.toSorted());
  },
  'the pages together hold each webhook once': async (get) => {
    const ids = new Set<string>();
    for (let page = 1; page <= 4; page++) {
      const { webhooks } = await read(await get(`?page=${page}&sortBy=postUrl`));
      for (const { webhookId } of webhooks) ids.add(webhookId);
    }
    return ids.size === 100;
  },
  'filters apply to the page and to the total': async (get) => {
    const { totalResults, webhooks } = await read(await get('?networkId=8453&event=LatePayment&limit=100'));
    const right = webhooks.every(({ networkId, event }) => networkId === 8453 && event === 'LatePayment');
    return totalResults === webhooks.length && totalResults > 0 && right;
  },
  'an id finds its webhook': async (get) => {
    const wanted = (await read(await get('?limit=1'))).webhooks;
    const found = await read(await get(`?webhookId=${wanted[0]?.webhookId}`));
    return isDeepStrictEqual(found, { totalResults: 1, webhooks: wanted });
  },
  'an unknown id is an empty list': async (get) =>
    isDeepStrictEqual(await read(await get('?webhookId=wh_unknown')), { totalResults: 0, webhooks: [] }),
  'a page past the end is empty and has the total': async (get) =>
    isDeepStrictEqual(await read(await get('?page=9')), { totalResults: 100, webhooks: [] }),
  'a request with the current ETag returns 304': async (get) => {
    const etag = (await get('')).headers.get('etag') ?? '';
    return (await get('', { 'if-none-match': etag })).status === 304;
  },
  'a wrong key is rejected': hasStatus(401, '', { 'api-key': 'pbk_unknown' }),
  'the id of another entity is rejected': hasStatus(403, '', { 'entity-id': 'ent_unknown' }),
  ...Object.fromEntries(INVALID_QUERIES.map((query) => [`${query} is rejected`, hasStatus(400, query)])),
};

/** The names of the cases that failed. */
async function failedCases(url: string, caller: Caller): Promise<string[]> {
  const get: Get = (query, headers) =>
    fetch(`${url}${LIST_PATH}${query}`, { headers: { ...credentials(caller), ...headers } });
  const failed: string[] = [];
  for (const [name, holds] of Object.entries(CASES)) if (!(await holds(get))) failed.push(name);
  return failed;
}

export async function requireConformance(name: string, url: string, caller: Caller): Promise<void> {
  const failed = await failedCases(url, caller);
  if (failed.length > 0) throw new Error(`${name} fails conformance cases of the list: ${failed.join('; ')}`);
}
