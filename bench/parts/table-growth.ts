import { Database as SqliteConnection } from 'bun:sqlite';
import { join } from 'node:path';
import { credentials, LIST_PATH } from '../harness/paybell-api.ts';
import { removeFolder, type Server, startPaybell } from '../harness/processes.ts';
import { median, medianOf, medianRatio, type Rounds, type Sample } from '../harness/rounds.ts';
import type { Tools } from '../harness/tools.ts';
import { type TimedRequest, timeEach } from '../load/sequential.ts';
import { lower, type PartResult, shortCount } from '../report/report.ts';
import { callerOf, ORDINARY, type Store, seedStore, WEBHOOKS_EACH } from '../store/seed.ts';

/** What the first page of an entity costs in a small table and in a large one. */

/** The entities of the smallest store: no list is requested twice before all of them are made cold again. */
const SMALLEST = 100;
/** Different limits make different queries, which are in no cache, for about the same work. */
const FIRST_LIMIT = 15;
const LIMITS = 25;

export async function benchTableGrowth({ mode, progress, profile }: Tools): Promise<PartResult> {
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
        check: lower(medianRatio(rounds, largest, smallest, 'ms'), 1.27, 1.1),
      },
    ],
    charts: [
      {
        name: 'growth',
        title: 'A first page that is not cached, by webhooks in the table',
        unit: 'milliseconds, median of one caller; shorter is better',
        bars: sizes.map(({ name }) => ({ label: `${name} webhooks`, value: ms(name) })),
      },
    ],
    raw: { growth: rounds },
  };
}

function entityOf(entities: number, number: number): number {
  return (number * 7_919) % entities;
}

/**
 * Raises the revision of each entity whose list is requested next, as a change to its webhooks would. Otherwise the few
 * entities of the small store would be served from memory, and the many of the large one not.
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

/** No two are equal: another entity each time, then another limit and sort in each round. */
function firstPage(server: Server, entities: number, number: number): TimedRequest {
  const variant = Math.floor(number / SMALLEST);
  const entity = entityOf(entities, number);
  const sortBy = variant % 2 === 0 ? 'dateCreated' : 'postUrl';
  const sortDir = variant % 4 < 2 ? 'desc' : 'asc';
  const limit = FIRST_LIMIT + (Math.floor(variant / 4) % LIMITS);
  const url = `${server.url}${LIST_PATH}?limit=${limit}&sortBy=${sortBy}&sortDir=${sortDir}`;
  return { url, headers: credentials(callerOf(entity)) };
}
