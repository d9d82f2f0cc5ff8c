import type { Database, Queries } from '../src/store/database/database.ts';
import { newId } from '../src/store/new-id.ts';
import type { Instance } from '../test/support/instances.ts';
import { ENGINES } from '../test/support/stores.ts';
import type { Fault } from './fault.ts';
import { bodyOf } from './load.ts';
import { Scene } from './scene.ts';
import { withStore } from './store-audit.ts';
import { comesTrue, mustComeTrue } from './waiting.ts';

/** More lines than this about a handful of rows means that it is going round in circles. */
const MOST_ERRORS = 60;
/** At rest it is a few thousandths; a loop without end takes as much as the machine gives it. */
const MOST_PROCESSOR_TIME_S = 0.25;

/**
 * Rows that the service never writes, as a slip of an operator or a damaged page leaves them, among those that it does:
 * each costs itself, and nobody else.
 */
export const poisonRow: Fault = {
  name: 'poison-row',
  what: 'some rows cannot be processed: only these fail or are set aside, and all others are delivered',
  engines: ENGINES,
  tries: { long: 10, short: 1 },
  run: async (trial) => {
    await using scene = await Scene.open(trial, {
      settings: { RETRY_SCHEDULE: '0s,1s', DESTINATION_CONCURRENCY: '64' },
    });
    const instance = await scene.start();
    const poison = await Poison.register(scene, instance);
    for (let round = 1; round <= trial.tries; round++) {
      trial.note(`poison ${round} of ${trial.tries}`);
      const before = errorsIn(instance);
      const rows = await poison.spread();
      const load = scene.load([instance.client], { most: 100 });
      await load.ended;
      const sentAtMs = performance.now();
      await mustComeTrue('the poison was tried', () =>
        scene.ledger.posts.some(({ eventId }) => eventId === rows.logged),
      );
      if (!(await comesTrue(() => poison.hasEnded(rows), { everyMs: 100 })))
        scene.broken.push('a poisoned delivery did not end');
      await mustComeTrue('the others have arrived', () => scene.hasAllArrived());
      const busyS = await processorTimeInASecond(instance);
      if (busyS > MOST_PROCESSOR_TIME_S)
        scene.broken.push(`it goes round in circles: ${busyS} s of processor time a second`);
      await poison.removeWhatStandsAside();
      await scene.recover(sentAtMs);
      const errors = errorsIn(instance) - before;
      if (errors > MOST_ERRORS) scene.broken.push(`${errors} errors were logged about a handful of rows`);
    }
    if (instance.served.child.exitCode !== null) scene.broken.push('the service ended');
    return await scene.finding();
  },
};

function errorsIn({ served }: Instance): number {
  return served.stdout().match(/"level":(40|50)/g)?.length ?? 0;
}

/** While nothing is left to do but rows that nobody can take. */
async function processorTimeInASecond({ served }: Instance): Promise<number> {
  const usedS = async () => {
    const text = await (await fetch(`${served.url}/metrics`)).text();
    return Number(/^process_cpu_seconds_total ([\d.]+)$/m.exec(text)?.[1]);
  };
  const beforeS = await usedS();
  await Bun.sleep(1_000);
  return Number(((await usedS()) - beforeS).toFixed(3));
}

type Rows = { gone: string; logged: string; unreadable: string };

class Poison {
  private constructor(
    private readonly scene: Scene,
    private readonly webhookId: string,
    private readonly brokenWebhookId: string,
  ) {}

  /** Webhooks for another event than the others' and than each other's, since nothing else is to reach them. */
  static async register(scene: Scene, { client }: Instance): Promise<Poison> {
    const { ledger } = scene;
    const webhookId = await client.register(ledger.url('/poisoned'), ['TransferFinalized']);
    const brokenWebhookId = await client.register(ledger.url('/unreadable'), ['TransferCreated']);
    const poison = new Poison(scene, webhookId, brokenWebhookId);
    await poison.#change((queries) =>
      queries.run(`update webhooks set post_url = 'http://[nonsense' where id = $1`, [brokenWebhookId]),
    );
    return poison;
  }

  /** All in one moment, due at once; answers what can be waited for. */
  async spread(): Promise<Rows> {
    const { entityId } = this.scene.instances.credentials;
    const here = `${entityId} ${new URL(this.scene.ledger.url()).origin}`;
    const rows = { gone: newId('evt'), logged: newId('evt'), unreadable: newId('evt') };
    await this.#change(async (queries, db) => {
      const insert = (eventId: string, destination: string, webhookId: string) =>
        insertDelivery(queries, db, { entityId, eventId, destination, webhookId });
      await insert(rows.gone, here, this.webhookId);
      await insertEvent(queries, entityId, rows.unreadable);
      await insert(rows.unreadable, `${entityId} invalid:`, this.brokenWebhookId);
      // Its first attempt is in the log already, under the number that the next one will want.
      await insertEvent(queries, entityId, rows.logged);
      const deliveryId = await insert(rows.logged, here, this.webhookId);
      await queries.run(
        `insert into attempts (entity_id, delivery_id, attempt, kind, post_url, started_at_ms, duration_ms)
         values ($1, $2, 1, 'first', '', 0, 0)`,
        [entityId, deliveryId],
      );
      await insert(newId('evt'), 'nobody', this.webhookId);
      await insert(newId('evt'), `ent_nobody ${here.split(' ')[1]}`, this.webhookId);
    });
    return rows;
  }

  /** Those that belong to somebody: delivered where the receiver has it, and failed where there is nothing to send. */
  hasEnded({ gone, logged, unreadable }: Rows): Promise<boolean> {
    return withStore(this.scene.url, async (db) => {
      const rows = await db.all<{ event_id: string; status: string }>(
        'select event_id, status from deliveries where event_id in ($1, $2, $3)',
        [gone, logged, unreadable],
      );
      const statusOf = (id: string) => rows.find(({ event_id }) => event_id === id)?.status;
      return statusOf(gone) === 'failed' && statusOf(unreadable) === 'failed' && statusOf(logged) === 'delivered';
    });
  }

  /** Nobody's deliveries stay until somebody removes them. */
  async removeWhatStandsAside(): Promise<void> {
    await this.#change((queries) => queries.run(`delete from deliveries where destination like '%nobody%'`));
  }

  async #change(work: (queries: Queries, db: Database) => Promise<unknown>): Promise<void> {
    await withStore(this.scene.url, (db) => db.transaction((queries) => work(queries, db)));
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
