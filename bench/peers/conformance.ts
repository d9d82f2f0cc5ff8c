import { isDeepStrictEqual } from 'node:util';
import type { WebhookList } from '../../src/contract/webhooks.ts';
import type { Caller } from '../store/seed.ts';

/** The list operation as a client sees it. What is measured has to pass these before it is measured. */

export const LIST_PATH = '/api/v1/crypto/webhooks/classic';

type Ask = (query: string, headers?: Record<string, string>) => Promise<Response>;
type Case = (ask: Ask) => Promise<boolean>;

const REFUSED = [
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

async function read(answer: Response): Promise<WebhookList> {
  return (await answer.json()) as WebhookList;
}

const hasStatus =
  (status: number, query: string, headers?: Record<string, string>): Case =>
  async (ask) =>
    (await ask(query, headers)).status === status;

/** Webhooks of the seeded entity: a hundred, over eight networks and seven events. */
const CASES: Readonly<Record<string, Case>> = {
  'a page has 25 webhooks of five fields, and the total counts all': async (ask) => {
    const { totalResults, webhooks } = await read(await ask(''));
    const fields = ['dateCreated', 'event', 'networkId', 'postUrl', 'webhookId'];
    const whole = webhooks.every((webhook) => isDeepStrictEqual(Object.keys(webhook).sort(), fields));
    return totalResults === 100 && webhooks.length === 25 && whole;
  },
  'the newest come first': async (ask) => {
    const ids = (await read(await ask('?limit=100'))).webhooks.map(({ webhookId }) => webhookId);
    return isDeepStrictEqual(ids, ids.toSorted().reverse());
  },
  'URLs sort by bytes': async (ask) => {
    const urls = (await read(await ask('?limit=100&sortBy=postUrl&sortDir=asc'))).webhooks.map((w) => w.postUrl);
    return isDeepStrictEqual(urls, urls.toSorted());
  },
  'walking the pages shows each once': async (ask) => {
    const ids = new Set<string>();
    for (let page = 1; page <= 4; page++) {
      const { webhooks } = await read(await ask(`?page=${page}&sortBy=postUrl`));
      for (const { webhookId } of webhooks) ids.add(webhookId);
    }
    return ids.size === 100;
  },
  'filters narrow the page and the total': async (ask) => {
    const { totalResults, webhooks } = await read(await ask('?networkId=8453&event=LatePayment&limit=100'));
    const right = webhooks.every(({ networkId, event }) => networkId === 8453 && event === 'LatePayment');
    return totalResults === webhooks.length && totalResults > 0 && right;
  },
  'one id finds one': async (ask) => {
    const wanted = (await read(await ask('?limit=1'))).webhooks;
    const found = await read(await ask(`?webhookId=${wanted[0]?.webhookId}`));
    return isDeepStrictEqual(found, { totalResults: 1, webhooks: wanted });
  },
  'an unknown id is an empty list': async (ask) =>
    isDeepStrictEqual(await read(await ask('?webhookId=nobody')), { totalResults: 0, webhooks: [] }),
  'a page past the end is empty and knows the total': async (ask) =>
    isDeepStrictEqual(await read(await ask('?page=9')), { totalResults: 100, webhooks: [] }),
  'an ETag is answered with 304': async (ask) => {
    const etag = (await ask('')).headers.get('etag') ?? '';
    return (await ask('', { 'if-none-match': etag })).status === 304;
  },
  'a wrong key is refused': hasStatus(401, '', { 'api-key': 'pbk_nobody' }),
  'another entity is refused': hasStatus(403, '', { 'entity-id': 'ent_nobody' }),
  ...Object.fromEntries(REFUSED.map((query) => [`${query} is refused`, hasStatus(400, query)])),
};

/** The names of the cases that failed. */
export async function failedCases(url: string, { apiKey, entityId }: Caller): Promise<string[]> {
  const ask: Ask = (query, headers) =>
    fetch(`${url}${LIST_PATH}${query}`, { headers: { 'api-key': apiKey, 'entity-id': entityId, ...headers } });
  const failed: string[] = [];
  for (const [name, holds] of Object.entries(CASES)) if (!(await holds(ask))) failed.push(name);
  return failed;
}

export async function requireConformance(name: string, url: string, caller: Caller): Promise<void> {
  const failed = await failedCases(url, caller);
  if (failed.length > 0) throw new Error(`${name} fails the list's conformance cases: ${failed.join('; ')}`);
}
