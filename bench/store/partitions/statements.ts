import { parseArgs } from 'node:util';
import { SQL } from 'bun';
import { printTable } from '../../../src/cli/terminal/table.ts';
import { migrate } from '../../../src/store/database/migrate.ts';
import { openDatabase } from '../../../src/store/database/open.ts';
import { makeAhead } from '../../../src/store/database/partitions/ahead.ts';
import { partitionTables } from '../../../src/store/database/partitions/convert.ts';
import { DAY_MS, startOfDay } from '../../../src/store/database/partitions/layout.ts';
import { call, testApp } from '../../../test/support/api.ts';
import { accept, claim, newEvent } from '../../../test/support/deliveries.ts';
import { attemptThat, record } from '../../../test/support/order.ts';
import { nextSubjects } from '../../harness/event-bodies.ts';
import { createPostgresDatabase, stopPostgres } from '../../harness/postgres.ts';
import { quantile } from '../../harness/rounds.ts';
import { addTenants, fill } from './fill.ts';

/**
 * What partitions cost the statements of the service: the same calls on a store that has none, 30 and 90 days of them, with as many
 * deliveries. `npx bun bench/store/partitions/statements.ts --deliveries 90000`
 */

const { values } = parseArgs({
  options: {
    deliveries: { type: 'string', default: '90000' },
    rounds: { type: 'string', default: '300' },
    days: { type: 'string', default: '0,30,90' },
  },
});
const DELIVERIES = Number(values.deliveries);
const ROUNDS = Number(values.rounds);
const DAYS = values.days.split(',').map(Number);
const WARM_UP = 30;
const API = '/api/v1/crypto';

async function measure(days: number): Promise<Record<string, string>> {
  const url = await createPostgresDatabase();
  const db = await openDatabase({ engine: 'postgres', url, pool: 4 });
  await migrate(db);
  const client = new SQL(url, { max: 1 });
  const todayMs = startOfDay(Date.now());
  if (days > 0) {
    await partitionTables(db);
    for (let day = 0; day < days; day += 7) await makeAhead(db, { nowMs: todayMs + day * DAY_MS });
  }
  const tenants = await addTenants(db, 10);
  const [tenant] = tenants;
  if (tenant === undefined) throw new Error('there is no tenant');
  const spread = days === 0 ? 30 : days;
  await fill(db, client, {
    ...{ deliveries: DELIVERIES, tenants, isNamed: false },
    fromMs: todayMs,
    toMs: todayMs + spread * DAY_MS,
  });
  const app = testApp(db);
  const get = async (path: string) => {
    const response = await call(app, tenant, `${API}${path}`);
    if (response.status !== 200) throw new Error(`${path} returned ${response.status}: ${await response.text()}`);
    return (await response.json()) as { deliveries?: { deliveryId: string; webhookId: string; eventId: string }[] };
  };
  const found = (await get('/deliveries')).deliveries?.[0];
  if (found === undefined) throw new Error('the list is empty');
  const { entityId } = tenant;
  let claimed = await claim(db, entityId, 1);
  const work: Record<string, () => Promise<unknown>> = {
    accept: () => accept(db, newEvent(entityId, nextSubjects())),
    claim: async () => {
      claimed = await claim(db, entityId, 1);
    },
    complete: () => record(db, ...claimed.map((delivery) => attemptThat('delivered', delivery))),
    'list by time': () => get('/deliveries'),
    'list by webhook': () => get(`/deliveries?webhookId=${found.webhookId}`),
    'list by status': () => get('/deliveries?status=failed'),
    'list of events': () => get('/events'),
    'one delivery': () => get(`/deliveries/${found.deliveryId}`),
    'one event': () => get(`/events/${found.eventId}`),
  };
  const samples: Record<string, number[]> = Object.fromEntries(Object.keys(work).map((name) => [name, []]));
  for (let round = 0; round < WARM_UP + ROUNDS; round++) {
    for (const [name, run] of Object.entries(work)) {
      const startedAtMs = performance.now();
      await run();
      if (round >= WARM_UP) samples[name]?.push(performance.now() - startedAtMs);
    }
  }
  const memory = await client.unsafe(`select count(*) as n from pg_class`);
  await client.close();
  await db.close();
  const shown = Object.entries(samples).map(([name, ms]) => [
    name,
    `${quantile(ms, 0.5).toFixed(2)} / ${quantile(ms, 0.99).toFixed(2)}`,
  ]);
  return Object.fromEntries([...shown, ['relations in the catalogue', String(memory[0].n)]]);
}

const results: Record<string, string>[] = [];
for (const days of DAYS) results.push(await measure(days));
printTable(
  ['p50 / p99 in ms', ...DAYS.map((days) => (days === 0 ? 'none' : `${days} days`))],
  Object.keys(results[0] ?? {}).map((name) => [name, ...results.map((result) => result[name] ?? '')]),
  '',
);
await stopPostgres();
