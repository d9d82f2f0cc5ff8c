import { destinationKey } from '../../src/domain/post-url.ts';
import { createLogger } from '../../src/log.ts';
import { Counter } from '../../src/metrics/registry.ts';
import type { Database } from '../../src/store/database/database.ts';
import { entityKey } from '../../src/store/database/sql.ts';
import { openSqlite } from '../../src/store/database/sqlite/open.ts';
import type { HeadTarget } from '../../src/store/deliveries/heads.ts';
import { StatsRecorder } from '../../src/store/stats/recorder.ts';
import { EVENTS, fillDeliveries, NETWORKS, webhookId } from '../store/many-deliveries.ts';
import { callerOf, seedStore } from '../store/seed.ts';

/** An entity as a support desk sees it: many endpoints, each with a webhook for every network, and a month of deliveries. */

export const ENDPOINTS = 1_000;
export const WEBHOOKS = ENDPOINTS * NETWORKS.length;

const HOURS = 24;
const MINUTES = 60;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const DELIVERIES_PER_HOUR = 6;
const FAILING_ENDPOINTS = 40;
const WAITING_PER_MILLE = 20;
const FAILING_MS = 3 * 3_600_000;

const url = (index: number) => `https://hooks${index % ENDPOINTS}.example.com/paybell`;
const network = (index: number) => NETWORKS[Math.floor(index / ENDPOINTS)] ?? 1;
const event = (index: number) => EVENTS[index % EVENTS.length] ?? '';

/** The same webhooks as SQL: `w` numbers them from 0. */
const choose = (values: readonly (string | number)[], index: string) =>
  `case ${index} ${values.map((value, at) => `when ${at} then '${value}'`).join(' ')} end`;
const RULE = {
  network: `cast(${choose(NETWORKS, `w / ${ENDPOINTS}`)} as integer)`,
  event: choose(EVENTS, `w % ${EVENTS.length}`),
  url: `'https://hooks' || (w % ${ENDPOINTS}) || '.example.com/paybell'`,
};

/** Returns the URL of a SQLite store. */
export async function seedSupportDesk(deliveries: number, progress: (done: string) => void): Promise<string> {
  const plan = { entities: 1, webhooksEach: WEBHOOKS, rule: RULE };
  const { databaseUrl } = await seedStore('sqlite', plan, progress);
  const db = await openSqlite(databaseUrl.slice('sqlite:'.length));
  const { entityId } = callerOf(0);
  const targets = Array.from({ length: WEBHOOKS }, (_, index) => target(entityId, index));
  const report = (done: number) => progress(`${done.toLocaleString('en')} deliveries`);
  await fillDeliveries(db, entityId, deliveries, report, WAITING_PER_MILLE, targets);
  await letSomeFail(db, entityId);
  await recordADay(db, entityId);
  await db.checkpoint();
  await db.close();
  return databaseUrl;
}

function target(entityId: string, index: number): HeadTarget {
  return {
    ...{ entityId, webhookNo: index + 1, webhookId: webhookId(index) },
    ...{ networkId: network(index), event: event(index), postUrl: url(index) },
  };
}

async function letSomeFail(db: Database, entityId: string): Promise<void> {
  await db.transaction((queries) =>
    queries.run('update queue_heads set failing_since_ms = $2 where entity_id = $1 and webhook_no <= $3', [
      entityKey(db.dialect, entityId),
      Date.now() - FAILING_MS,
      FAILING_ENDPOINTS,
    ]),
  );
}

/** The statistics of a day. In the last hour, every destination had something in every minute. */
async function recordADay(db: Database, entityId: string): Promise<void> {
  const endMs = Date.now();
  let clockMs = endMs;
  const recorder = new StatsRecorder(db, createLogger('error'), () => clockMs, new Counter());
  const record = async (atMs: number, deliveries: number) => {
    clockMs = atMs;
    for (let index = 0; index < ENDPOINTS * deliveries; index++) {
      const endpoint = index % ENDPOINTS;
      const destination = destinationKey(entityId, url(endpoint));
      recorder.accepted(entityId, [destination]);
      if (endpoint < FAILING_ENDPOINTS) recorder.failedAttempt(destination);
      else recorder.delivered(destination, 20 + ((index * 7919) % 199));
    }
    await recorder.flush();
  };
  for (let hour = HOURS; hour > 1; hour--) await record(endMs - hour * HOUR_MS, DELIVERIES_PER_HOUR);
  for (let minute = MINUTES; minute > 0; minute--) await record(endMs - minute * MINUTE_MS, 1);
}
