import { Database as SqliteConnection } from 'bun:sqlite';
import { join } from 'node:path';
import type { WebhookList } from '../../src/contract/webhooks.ts';
import { removeFolder, residentBytes, type Server, startPaybell } from '../harness/processes.ts';
import { median, medianOf, medianRatio, type Rounds, type Sample } from '../harness/rounds.ts';
import type { Tools } from '../harness/tools.ts';
import { loadServer } from '../load/load.ts';
import { credentials, type Request, timeEach } from '../load/measure-one-by-one.ts';
import { LIST_PATH } from '../peers/conformance.ts';
import { amount, lower, type PartResult } from '../report/report.ts';
import { bigEntityRule, type PageCase, pageCases } from '../store/big-entity.ts';
import { callerOf, ORDINARY, type Store, seedStore, WEBHOOKS_EACH } from '../store/seed.ts';

/** Whether a page costs the same however much there is, in the table or in the entity. Every request is a cold one. */

const MEGABYTE = 1024 ** 2;
/** Different limits make different queries, which no cache has seen, for about the same work. */
const FIRST_LIMIT = 15;
const LIMITS = 25;
const FIRST = 'first page';

export async function benchGrowth(tools: Tools): Promise<PartResult> {
  const table = await growTable(tools);
  const entity = await growEntity(tools);
  return {
    rows: [...table.rows, ...entity.rows],
    charts: [...table.charts, ...entity.charts],
    raw: { ...table.raw, ...entity.raw },
  };
}

async function growTable({ mode, progress, profile }: Tools): Promise<PartResult> {
  const sizes = mode.growthEntities.map((entities) => ({ entities, name: shortCount(entities * WEBHOOKS_EACH) }));
  const stores: { server: Server; store: Store; entities: number }[] = [];
  for (const { entities } of sizes) {
    const store = await seedStore('sqlite', { entities, webhooksEach: WEBHOOKS_EACH, rule: ORDINARY }, progress);
    const server = await startPaybell({
      settings: { DATABASE_URL: store.databaseUrl },
      profile: profile(`growth-${entities}`),
    });
    stores.push({ server, store, entities });
  }
  let number = 0;
  const measureAll = async (): Promise<Sample[]> => {
    const ms: number[] = [];
    for (const end = number + mode.growthRequests; number < end; number += SMALLEST) {
      const numbers = Array.from({ length: SMALLEST }, (_, index) => number + index);
      for (const { store, entities } of stores) makeCold(store, entities, numbers);
      ms.push(...(await timeEach(numbers.flatMap((n) => stores.map((one) => firstPage(one.server, one.entities, n))))));
    }
    return stores.map((_, store) => ({ ms: median(ms.filter((_, request) => request % stores.length === store)) }));
  };
  progress('warm-up of the first pages');
  await measureAll();
  const samples: Sample[][] = [];
  for (let round = 0; round < mode.growthRounds; round++) {
    progress(`round ${round + 1} of ${mode.growthRounds}: first pages`);
    samples.push(await measureAll());
  }
  for (const { server, store } of stores) {
    await server.stop();
    removeFolder(store.folder);
  }
  const rounds: Rounds = Object.fromEntries(
    sizes.map(({ name }, store) => [name, samples.map((sample) => sample[store] ?? {})]),
  );
  const smallest = sizes[0]?.name ?? '';
  const largest = sizes.at(-1)?.name ?? '';
  const ms = (name: string) => medianOf(rounds, name, 'ms');
  return {
    rows: [
      {
        what: `first page, ${largest} webhooks in the table ÷ ${smallest}`,
        figures: `${ms(largest).toFixed(3)} ÷ ${ms(smallest).toFixed(3)} ms`,
        check: lower(medianRatio(rounds, largest, smallest, 'ms'), 1.3, 1.1),
      },
    ],
    charts: [
      {
        name: 'growth',
        title: 'A first page that was never asked for before, by webhooks in the table',
        unit: 'milliseconds, median of one caller; shorter is better',
        bars: sizes.map(({ name }) => ({ label: `${name} webhooks`, value: ms(name) })),
      },
    ],
    raw: { growth: rounds },
  };
}

/** So many entities are in the smallest store: none is asked twice before all of them are cold again. */
const SMALLEST = 100;

function entityOf(entities: number, number: number): number {
  return (number * 7_919) % entities;
}

/**
 * Another revision of each entity that is asked next, as a change to its webhooks would leave it: otherwise the few of a
 * small store would be answered from memory, and the many of a large one would be compared with that.
 */
function makeCold({ folder }: Store, entities: number, numbers: readonly number[]): void {
  const connection = new SqliteConnection(join(folder, 'paybell.db'));
  connection.exec('pragma busy_timeout = 5000');
  const raise = connection.prepare('update entities set revision = revision + 1 where id = ?1');
  connection.transaction(() => {
    for (const number of numbers) raise.run(callerOf(entityOf(entities, number)).entityId);
  })();
  connection.close();
}

/** No two are alike: another entity each time, then another limit and sort each time round. */
function firstPage(server: Server, entities: number, number: number): Request {
  const variant = Math.floor(number / SMALLEST);
  const entity = entityOf(entities, number);
  const sortBy = variant % 2 === 0 ? 'dateCreated' : 'postUrl';
  const sortDir = variant % 4 < 2 ? 'desc' : 'asc';
  const limit = FIRST_LIMIT + (Math.floor(variant / 4) % LIMITS);
  const url = `${server.url}${LIST_PATH}?limit=${limit}&sortBy=${sortBy}&sortDir=${sortDir}`;
  return { url, headers: credentials(callerOf(entity)) };
}

async function growEntity({ mode, progress, profile }: Tools): Promise<PartResult> {
  const webhooks = mode.bigEntityWebhooks;
  const name = shortCount(webhooks);
  const rule = bigEntityRule(webhooks);
  const store = await seedStore('sqlite', { entities: 1, webhooksEach: webhooks, rule }, progress);
  const server = await startPaybell({
    settings: { DATABASE_URL: store.databaseUrl },
    profile: profile('growth-entity'),
  });
  const headers = credentials(callerOf(0));
  const ask: Ask = (query) => ({ url: `${server.url}${LIST_PATH}?${query}`, headers });
  const cases = await pageCases(async (filter) => {
    const { url } = ask(`limit=1${filter}`);
    return ((await (await fetch(url, { headers })).json()) as WebhookList).totalResults;
  });
  const rounds = await measurePages(cases, ask, mode.quick ? 2 : mode.growthRounds, async (round) => {
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
        check: lower(slowest.ms / medianOf(rounds, FIRST, 'ms'), 500, 100),
      },
      {
        what: `resident memory after lists on ${name} webhooks`,
        figures: `${amount(memory / MEGABYTE)} MB`,
        check: lower(memory / MEGABYTE, 300, 150, ' MB'),
      },
    ],
    charts: [
      {
        name: 'pages',
        title: `The ten slowest pages of an entity with ${name} webhooks`,
        unit: 'milliseconds, never asked for before; shorter is better',
        bars: [...worst.slice(0, 10), { name: FIRST, ms: medianOf(rounds, FIRST, 'ms') }].map(({ name, ms }) => ({
          label: name,
          value: ms,
        })),
      },
    ],
    raw: { pages: rounds, memory: { memory: [{ bytes: memory }] } },
  };
}

type Ask = (query: string) => Request;

/** First pages, then all the others, and then again. */
async function measurePages(
  cases: readonly PageCase[],
  ask: Ask,
  count: number,
  beforeRound: (round: number) => Promise<void>,
): Promise<Rounds> {
  const samples: Record<string, Sample[]> = Object.fromEntries(
    [FIRST, ...cases.map(({ name }) => name)].map((n) => [n, []]),
  );
  await timeEach(Array.from({ length: 99 }, (_, index) => ask(`limit=${index + 1}&sortBy=postUrl`)));
  for (let round = 0; round < count; round++) {
    await beforeRound(round);
    const firsts = Array.from({ length: LIMITS }, (_, index) => ask(`limit=${FIRST_LIMIT + index}`));
    const ms = await timeEach([...firsts, ...cases.map(({ query }) => ask(`limit=25${query}`))]);
    samples[FIRST]?.push({ ms: median(ms.slice(0, LIMITS)) });
    for (const [index, { name }] of cases.entries()) samples[name]?.push({ ms: ms[LIMITS + index] ?? Number.NaN });
  }
  return samples;
}

/** A change to the entity makes everything cold that was asked for before. */
async function raiseRevision(server: Server): Promise<void> {
  const headers = credentials(callerOf(0));
  const { webhooks } = (await (await fetch(`${server.url}${LIST_PATH}?limit=1`, { headers })).json()) as WebhookList;
  const answer = await fetch(`${server.url}${LIST_PATH}/${webhooks[0]?.webhookId}`, { method: 'DELETE', headers });
  if (answer.status !== 204) throw new Error(`removing a webhook was answered with ${answer.status}`);
}

/** Many different lists, so that whatever keeps answers has as many as it will ever have. */
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

function shortCount(count: number): string {
  return count >= 1_000_000 ? `${count / 1_000_000} M` : `${count / 1_000} k`;
}
