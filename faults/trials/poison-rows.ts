import type { Database, Queries } from '../../src/store/database/database.ts';
import { newId } from '../../src/store/new-id.ts';
import type { Instance } from '../../test/support/instances.ts';
import { ENGINES } from '../../test/support/stores.ts';
import type { Fault } from '../fault.ts';
import { bodyOf } from '../harness/load.ts';
import { withStore } from '../harness/store-audit.ts';
import { Testbed } from '../harness/testbed.ts';
import { eventually, waitUntil } from '../harness/waiting.ts';

/** More log lines than this for a handful of rows mean that the service retries them in a loop. */
const MOST_ERRORS = 60;
/** An idle service uses a few milliseconds a second, an endless loop all of it. */
const MOST_CPU_S = 0.25;

/**
 * Rows that the service never writes, such as a manual change or a damaged page leaves, among regular ones: they must not
 * affect any other delivery.
 */
export const rowsPoisoned: Fault = {
  name: 'poison-row',
  what: 'some rows cannot be processed: only these fail or are set aside, and all others are delivered',
  engines: ENGINES,
  trials: { long: 10, short: 1 },
  run: async (options) => {
    await using testbed = await Testbed.open(options, {
      settings: { RETRY_SCHEDULE: '0s,1s', DESTINATION_CONCURRENCY: '64' },
    });
    const instance = await testbed.start();
    const poison = await Poison.register(testbed, instance);
    for (let round = 1; round <= options.trials; round++) {
      options.progress(`poison ${round} of ${options.trials}`);
      const before = errorsIn(instance);
      const rows = await poison.spread();
      const load = testbed.load([instance.client], { most: 100 });
      await load.ended;
      const sentAtMs = performance.now();
      await waitUntil('a poisoned row is attempted', () =>
        testbed.ledger.requests.some(({ eventId }) => eventId === rows.logged),
      );
      if (!(await eventually(() => poison.isCompleted(rows), { everyMs: 100 })))
        testbed.violations.push('a poisoned delivery was not completed');
      await waitUntil('all other events have arrived', () => testbed.hasAllArrived());
      const busyS = await cpuSecondsInASecond(instance);
      if (busyS > MOST_CPU_S)
        testbed.violations.push(`the service is in a loop: it uses ${busyS} s of CPU time a second`);
      await poison.removeUnknownDestinations();
      await testbed.recover(sentAtMs);
      const errors = errorsIn(instance) - before;
      if (errors > MOST_ERRORS) testbed.violations.push(`${errors} errors were logged for a handful of rows`);
    }
    if (instance.served.child.exitCode !== null) testbed.violations.push('the service exited');
    return await testbed.finding();
  },
};

function errorsIn({ served }: Instance): number {
  return served.stdout().match(/"level":(40|50)/g)?.length ?? 0;
}

/** Measured while only rows are due that cannot be claimed. */
async function cpuSecondsInASecond({ served }: Instance): Promise<number> {
  const usedS = async () => {
    const text = await (await fetch(`${served.url}/metrics`)).text();
    return Number(/^process_cpu_seconds_total ([\d.]+)$/m.exec(text)?.[1]);
  };
  const beforeS = await usedS();
  await Bun.sleep(1_000);
  return Number(((await usedS()) - beforeS).toFixed(3));
}

/** Event ids: without a row in `events`, with an attempt already in the log, and for a webhook without a valid URL. */
type Rows = { withoutEvent: string; logged: string; invalidUrl: string };

class Poison {
  private constructor(
    private readonly testbed: Testbed,
    private readonly webhookId: string,
    private readonly invalidWebhookId: string,
  ) {}

  /** Each webhook is for a kind of event of its own, so that no other event is delivered to it. */
  static async register(testbed: Testbed, { client }: Instance): Promise<Poison> {
    const { ledger } = testbed;
    const webhookId = await client.register(ledger.url('/poisoned'), ['TransferFinalized']);
    const invalidWebhookId = await client.register(ledger.url('/invalid-url'), ['TransferCreated']);
    const poison = new Poison(testbed, webhookId, invalidWebhookId);
    await poison.#change((queries) =>
      queries.run(`update webhooks set post_url = 'http://[nonsense' where id = $1`, [invalidWebhookId]),
    );
    return poison;
  }

  /** Inserts all rows in one transaction, due at once. Returns the events whose deliveries are completed at the end. */
  async spread(): Promise<Rows> {
    const { entityId } = this.testbed.instances.credentials;
    const here = `${entityId} ${new URL(this.testbed.ledger.url()).origin}`;
    const rows = { withoutEvent: newId('evt'), logged: newId('evt'), invalidUrl: newId('evt') };
    await this.#change(async (queries, db) => {
      const insert = (eventId: string, destination: string, webhookId: string) =>
        insertDelivery(queries, db, { entityId, eventId, destination, webhookId });
      await insert(rows.withoutEvent, here, this.webhookId);
      await insertEvent(queries, entityId, rows.invalidUrl);
      await insert(rows.invalidUrl, `${entityId} invalid:`, this.invalidWebhookId);
      // The log already has an attempt with the number of its first one.
      await insertEvent(queries, entityId, rows.logged);
      const deliveryId = await insert(rows.logged, here, this.webhookId);
      await queries.run(
        `insert into attempts (entity_id, delivery_id, attempt, kind, post_url, started_at_ms, duration_ms)
         values ($1, $2, 1, 'first', '', 0, 0)`,
        [entityId, deliveryId],
      );
      await insert(newId('evt'), 'unknown', this.webhookId);
      await insert(newId('evt'), `ent_unknown ${here.split(' ')[1]}`, this.webhookId);
    });
    return rows;
  }

  /** The row that can be sent is delivered, the others have failed. */
  isCompleted({ withoutEvent, logged, invalidUrl }: Rows): Promise<boolean> {
    return withStore(this.testbed.url, async (db) => {
      const rows = await db.all<{ event_id: string; status: string }>(
        'select event_id, status from deliveries where event_id in ($1, $2, $3)',
        [withoutEvent, logged, invalidUrl],
      );
      const statusOf = (id: string) => rows.find(({ event_id }) => event_id === id)?.status;
      return (
        statusOf(withoutEvent) === 'failed' && statusOf(invalidUrl) === 'failed' && statusOf(logged) === 'delivered'
      );
    });
  }

  /** The service sets deliveries of an unknown destination aside and never removes them. */
  async removeUnknownDestinations(): Promise<void> {
    await this.#change((queries) => queries.run(`delete from deliveries where destination like '%unknown%'`));
  }

  async #change(work: (queries: Queries, db: Database) => Promise<unknown>): Promise<void> {
    await withStore(this.testbed.url, (db) => db.transaction((queries) => work(queries, db)));
  }
}

async function insertEvent(queries: Queries, entityId: string, eventId: string): Promise<void> {
  await queries.run(
    `insert into events (entity_id, id, event, network_id, body, deliveries, created_at_ms)
     values ($1, $2, 'TransferFinalized', 1, $3, 1, 0)`,
    [entityId, eventId, bodyOf(eventId)],
  );
}

type NewDelivery = { entityId: string; eventId: string; destination: string; webhookId: string };

async function insertDelivery(queries: Queries, db: Database, delivery: NewDelivery): Promise<string> {
  const id = newId('dlv');
  const { entityId, eventId, destination, webhookId } = delivery;
  await queries.run(
    `insert into deliveries (entity_id, id, event_id, webhook_id, destination, status, due_ms, next_attempt_ms, created_at_ms)
     values ($1, $2, $3, $4, $5, 'pending', ${db.dialect.nowMs}, ${db.dialect.nowMs}, ${db.dialect.nowMs})`,
    [entityId, id, eventId, webhookId, destination],
  );
  return id;
}
