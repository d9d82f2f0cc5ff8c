import type { WebhookList } from '../../src/contract/webhooks.ts';
import { credentials, LIST_PATH } from '../harness/paybell-api.ts';
import { removeFolder, residentBytes, type Server, startPaybell } from '../harness/processes.ts';
import { median, medianOf, type Rounds, type Sample } from '../harness/rounds.ts';
import type { Tools } from '../harness/tools.ts';
import { loadServer } from '../load/load.ts';
import { type TimedRequest, timeEach } from '../load/sequential.ts';
import { amount, lower, type PartResult, shortCount } from '../report/report.ts';
import { bigEntityRule, type PageCase, pageCases } from '../store/big-entity.ts';
import { callerOf, seedStore } from '../store/seed.ts';

/** What every kind of page costs in an entity with very many webhooks, and the memory that remains in use after them. */

const MEGABYTE = 1024 ** 2;
/** Different limits make different queries, which are in no cache, for about the same work. */
const FIRST_LIMIT = 15;
const LIMITS = 25;
const FIRST = 'first page';

export async function benchEntityGrowth({ mode, progress, profile }: Tools): Promise<PartResult> {
  const webhooks = mode.bigEntityWebhooks;
  const name = shortCount(webhooks);
  const rule = bigEntityRule(webhooks);
  const store = await seedStore('sqlite', { entities: 1, webhooksEach: webhooks, rule }, progress);
  const server = await startPaybell({
    settings: { DATABASE_URL: store.databaseUrl },
    profile: profile('growth-entity'),
  });
  const headers = credentials(callerOf(0));
  const request: RequestOf = (query) => ({ url: `${server.url}${LIST_PATH}?${query}`, headers });
  const cases = await pageCases(async (filter) => {
    const { url } = request(`limit=1${filter}`);
    return ((await (await fetch(url, { headers })).json()) as WebhookList).totalResults;
  });
  const rounds = await measurePages(cases, request, mode.quick ? 2 : mode.growthRounds, async (round) => {
    progress(`round ${round + 1}: ${cases.length} different pages`);
    await raiseRevision(server);
  });
  const worst = cases.map(({ name }) => ({ name, ms: medianOf(rounds, name, 'ms') })).sort((a, b) => b.ms - a.ms);
  const slowest = worst[0] ?? { name: '', ms: Number.NaN };
  progress('memory');
  const memory = await memoryAfterLists(server, mode.quick ? 2 : 10);
  await server.stop();
  removeFolder(store.folder);
  return {
    rows: [
      {
        what: `worst page of an entity with ${name} ÷ its first page, cold`,
        figures: `${amount(slowest.ms)} ÷ ${medianOf(rounds, FIRST, 'ms').toFixed(2)} ms (${slowest.name})`,
        check: lower(slowest.ms / medianOf(rounds, FIRST, 'ms'), 125, 100),
      },
      {
        what: `resident memory after lists on ${name} webhooks`,
        figures: `${amount(memory / MEGABYTE)} MB`,
        check: lower(memory / MEGABYTE, 160, 150, ' MB'),
      },
    ],
    charts: [
      {
        name: 'pages',
        title: `The ten slowest pages of an entity with ${name} webhooks`,
        unit: 'milliseconds, not cached; shorter is better',
        bars: [...worst.slice(0, 10), { name: FIRST, ms: medianOf(rounds, FIRST, 'ms') }].map(({ name, ms }) => ({
          label: name,
          value: ms,
        })),
      },
    ],
    raw: { pages: rounds, memory: { memory: [{ bytes: memory }] } },
  };
}

type RequestOf = (query: string) => TimedRequest;

/** In each round the first page under several limits, then every other page once. */
async function measurePages(
  cases: readonly PageCase[],
  request: RequestOf,
  count: number,
  beforeRound: (round: number) => Promise<void>,
): Promise<Rounds> {
  const samples: Record<string, Sample[]> = Object.fromEntries(
    [FIRST, ...cases.map(({ name }) => name)].map((n) => [n, []]),
  );
  await timeEach(Array.from({ length: 99 }, (_, index) => request(`limit=${index + 1}&sortBy=postUrl`)));
  for (let round = 0; round < count; round++) {
    await beforeRound(round);
    const firsts = Array.from({ length: LIMITS }, (_, index) => request(`limit=${FIRST_LIMIT + index}`));
    const ms = await timeEach([...firsts, ...cases.map(({ query }) => request(`limit=25${query}`))]);
    samples[FIRST]?.push({ ms: median(ms.slice(0, LIMITS)) });
    for (const [index, { name }] of cases.entries()) samples[name]?.push({ ms: ms[LIMITS + index] ?? Number.NaN });
  }
  return samples;
}

/** A change to the entity makes every cached list of it stale. */
async function raiseRevision(server: Server): Promise<void> {
  const headers = credentials(callerOf(0));
  const { webhooks } = (await (await fetch(`${server.url}${LIST_PATH}?limit=1`, { headers })).json()) as WebhookList;
  const response = await fetch(`${server.url}${LIST_PATH}/${webhooks[0]?.webhookId}`, { method: 'DELETE', headers });
  if (response.status !== 204) throw new Error(`The removal of a webhook returned ${response.status}`);
}

/** Many different lists, so that every cache of responses is full. */
async function memoryAfterLists(server: Server, seconds: number): Promise<number> {
  const queries: string[] = [];
  for (let limit = 16; limit <= 25; limit++) {
    for (let page = 1; page <= 40; page++) {
      for (const sortBy of ['dateCreated', 'postUrl']) queries.push(`?limit=${limit}&page=${page}&sortBy=${sortBy}`);
    }
  }
  await loadServer(server, { callers: [callerOf(0)], queries, seconds }, LIST_PATH);
  return residentBytes(server.pid);
}
