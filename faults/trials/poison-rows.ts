import { deliveryHex } from '../../src/domain/ids.ts';
import type { Database, Queries, SqlInteger, SqlUuid } from '../../src/store/database/database.ts';
import { STATUS_CODES } from '../../src/store/deliveries/states.ts';
import { eventNumbers } from '../../src/store/new-id.ts';
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
    testbed.countsAreTrue = false;
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
        testbed.ledger.requests.some(({ eventId }) => eventId === `evt_${rows.logged}`),
      );
      if (!(await eventually(() => poison.isCompleted(rows), { everyMs: 100 })))
        testbed.violations.push('a poisoned delivery was not completed');
      await waitUntil('all other events have arrived', () => testbed.hasAllArrived());
      const busyS = await cpuSecondsInASecond(instance);
      if (busyS > MOST_CPU_S)
        testbed.violations.push(`the service is in a loop: it uses ${busyS} s of CPU time a second`);
      await poison.removeUnknown();
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

/** Deliveries without an event, with an attempt already in the log, and of a webhook without a valid URL. */
type Rows = { withoutEvent: string; logged: string; invalidUrl: string };

type Head = { entity_id: SqlUuid; webhook_no: SqlInteger; endpoint_no: SqlInteger };

/** A number that no webhook has. */
const UNKNOWN_WEBHOOK = 2 ** 51;

class Poison {
  private constructor(
    private readonly testbed: Testbed,
    private readonly head: Head,
    private readonly invalidHead: Head,
  ) {}

  /** Each webhook is for a kind of event of its own, so that no other event is delivered to it. */
  static async register(testbed: Testbed, { client }: Instance): Promise<Poison> {
    const { ledger } = testbed;
    const heads: Head[] = [];
    for (const [path, event] of [
      ['/poisoned', 'TransferFinalized'],
      ['/invalid-url', 'TransferCreated'],
    ] as const) {
      const webhookId = await client.register(ledger.url(`${path}-before`), [event]);
      // A change of the URL makes the head of the webhook's queue.
      await client.request('PATCH', `/webhooks/classic/${webhookId}`, JSON.stringify({ postUrl: ledger.url(path) }));
      const find = () =>
        withStore(testbed.url, (db) =>
          db.get<Head>('select entity_id, webhook_no, endpoint_no from queue_heads where webhook_id = $1', [webhookId]),
        );
      await waitUntil('the webhook has a queue', async () => (await find()) !== undefined);
      const head = await find();
      if (head !== undefined) heads.push(head);
    }
    const [head, invalidHead] = heads;
    if (head === undefined || invalidHead === undefined) throw new Error('the webhooks have no queue');
    const poison = new Poison(testbed, head, invalidHead);
    await poison.#change((queries) =>
      queries.run(`update queue_heads set post_url = 'http://[nonsense' where entity_id = $1 and webhook_no = $2`, [
        invalidHead.entity_id,
        invalidHead.webhook_no,
      ]),
    );
    return poison;
  }

  /** Inserts all rows in one transaction, due at once. Returns the deliveries that are completed at the end. */
  async spread(): Promise<Rows> {
    const numbers = () => eventNumbers.next(Date.now());
    const rows = { withoutEvent: numbers(), logged: numbers(), invalidUrl: numbers() };
    await this.#change(async (queries, db) => {
      await insertDelivery(queries, db, this.head, rows.withoutEvent);
      await insertEvent(queries, db, this.invalidHead, rows.invalidUrl);
      await insertDelivery(queries, db, this.invalidHead, rows.invalidUrl);
      // The log already has an attempt with the number of its first one.
      await insertEvent(queries, db, this.head, rows.logged);
      const id = await insertDelivery(queries, db, this.head, rows.logged);
      await queries.run(
        `insert into attempts (entity_id, delivery_id, attempt, kind, post_url, started_at_ms, duration_ms)
         values ($1, $2, 1, 'first', '', 0, 0)`,
        [this.head.entity_id, id],
      );
      await insertDelivery(queries, db, { ...this.head, webhook_no: UNKNOWN_WEBHOOK }, numbers());
      await queries.run('update queue_heads set next_due_ms = 0');
    });
    return rows;
  }

  /** The row that can be sent is delivered, the others have failed. */
  isCompleted({ withoutEvent, logged, invalidUrl }: Rows): Promise<boolean> {
    return withStore(this.testbed.url, async (db) => {
      const statusOf = async (eventNo: string) => {
        const row = await db.get<{ status: SqlInteger }>('select status from deliveries where id = $1', [
          db.dialect.bindUuid(deliveryHex(eventNo, 1)),
        ]);
        return Number(row?.status ?? 0);
      };
      return (
        (await statusOf(withoutEvent)) === STATUS_CODES.failed &&
        (await statusOf(invalidUrl)) === STATUS_CODES.failed &&
        (await statusOf(logged)) === STATUS_CODES.delivered
      );
    });
  }

  /** No claim finds the deliveries of a webhook that never was. */
  async removeUnknown(): Promise<void> {
    await this.#change((queries) => queries.run('delete from queue where webhook_no = $1', [UNKNOWN_WEBHOOK]));
  }

  async #change(work: (queries: Queries, db: Database) => Promise<unknown>): Promise<void> {
    await withStore(this.testbed.url, (db) => db.transaction((queries) => work(queries, db)));
  }
}

async function insertEvent(queries: Queries, { dialect }: Database, head: Head, no: string): Promise<void> {
  await queries.run(
    `insert into events (entity_id, no, network_id, created_at_ms, deliveries, event, body)
     values ($1, $2, 1, 0, 1, 'TransferFinalized', $3)`,
    [head.entity_id, dialect.bindUuid(no), bodyOf(`evt_${no}`)],
  );
}

async function insertDelivery(queries: Queries, { dialect }: Database, head: Head, no: string): Promise<SqlUuid> {
  const id = dialect.bindUuid(deliveryHex(no, 1));
  await queries.run(
    `insert into queue (entity_id, id, webhook_no, endpoint_no, created_at_ms, due_ms, generation)
     values ($1, $2, $3, $4, 0, ${dialect.nowMs}, 0)`,
    [head.entity_id, id, head.webhook_no, head.endpoint_no],
  );
  return id;
}
