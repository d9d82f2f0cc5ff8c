import { afterEach, describe, expect, test } from 'bun:test';
import type { DatabaseTarget } from '../../src/config.ts';
import { openDatabase } from '../../src/store/open-database.ts';
import { TEST_SECRET_KEY } from '../support/command-line.ts';
import { LEASE_MS, letPass } from '../support/deliveries.ts';
import { Ledger } from '../support/ledger.ts';
import { type Served, type Settings, servePaybell, tempFolder } from '../support/paybell.ts';
import { createPostgresDatabase } from '../support/postgres.ts';
import { eventIds, sendAll } from '../support/sending.ts';
import { Client, type Credentials } from '../support/service.ts';
import { ENGINES, type Engine } from '../support/stores.ts';
import { until } from '../support/until.ts';

/** Real processes that are killed, stopped and doubled while they deliver. `bench/` has the same at length. */

const cleanUp: (() => unknown)[] = [];

afterEach(async () => {
  for (const undo of cleanUp.splice(0).reverse()) await undo();
});

async function serve(folder: string, settings: Settings): Promise<Served> {
  const served = await servePaybell(folder, settings);
  cleanUp.push(() => served.child.kill('SIGKILL'));
  return served;
}

/** Slower than events come in, so that some wait at any moment. */
function newLedger(): Ledger {
  const ledger = new Ledger(async () => {
    await Bun.sleep(10);
    return new Response('ok');
  });
  cleanUp.push(() => ledger[Symbol.asyncDispose]());
  return ledger;
}

async function place(engine: Engine): Promise<{ folder: string; settings: Settings; target: DatabaseTarget | null }> {
  const { path: folder, remove } = tempFolder();
  cleanUp.push(remove);
  const common = { ALLOW_INSECURE_TARGETS: 'true', RATE_LIMIT: 'off', DESTINATION_CONCURRENCY: '4' };
  if (engine === 'sqlite') return { folder, settings: common, target: null };
  const url = await createPostgresDatabase();
  const settings = { ...common, DATABASE_URL: url, SECRET_KEY: TEST_SECRET_KEY };
  return { folder, settings, target: { engine: 'postgres', url } };
}

function credentialsIn(stdout: string): Credentials {
  const entityId = /entity-id {2}(ent_\w+)/.exec(stdout)?.[1] ?? '';
  const apiKey = /api-key {4}(pbk_\w+)/.exec(stdout)?.[1] ?? '';
  return { entityId, apiKey };
}

/** Where other instances may be alive, the leases of a dead one have to run out: here that time passes at once. */
async function letLeasesRunOut(target: DatabaseTarget | null, entityId: string): Promise<void> {
  if (target === null) return;
  const db = await openDatabase(target);
  await letPass(db, entityId, LEASE_MS);
  await db.close();
}

for (const engine of ENGINES) {
  describe(`serve on ${engine}`, () => {
    test('that is killed in the middle and started again delivers every event that it had acknowledged', async () => {
      const { folder, settings, target } = await place(engine);
      const ledger = newLedger();
      const first = await serve(folder, settings);
      const credentials = credentialsIn(first.stdout());
      const client = new Client(first.url, credentials);
      await client.register(ledger.url());
      const ids = eventIds(400);
      const sending = sendAll([client], ids);
      await until('some have arrived', () => ledger.posts.length >= 60);
      first.child.kill('SIGKILL');
      await first.child.exited;
      await sending.done;
      const promised = sending.acknowledged;
      const missing = [...promised].filter((id) => !ledger.eventIds().has(id));
      expect(missing.length).toBeGreaterThan(0);

      await letLeasesRunOut(target, credentials.entityId);
      const second = await serve(folder, settings);
      await until('every acknowledged event has arrived', () => promised.isSubsetOf(ledger.eventIds()));

      const repeated = sendAll([new Client(second.url, credentials)], ids);
      await repeated.done;
      expect(repeated.acknowledged.size).toBe(ids.length);
      await until('every event has arrived', () => new Set(ids).isSubsetOf(ledger.eventIds()));
      expect((await second.stop()).exitCode).toBe(0);
    });

    test('that is told to stop under load ends with 0, and the next one delivers the rest, nothing twice', async () => {
      const { folder, settings } = await place(engine);
      const ledger = newLedger();
      const first = await serve(folder, settings);
      const credentials = credentialsIn(first.stdout());
      const client = new Client(first.url, credentials);
      await client.register(ledger.url());
      const sending = sendAll([client], eventIds(400));
      await until('some have arrived', () => ledger.posts.length >= 60);
      expect((await first.stop()).exitCode).toBe(0);
      await sending.done;
      const promised = sending.acknowledged;
      const second = await serve(folder, settings);
      await until('every acknowledged event has arrived', () => promised.isSubsetOf(ledger.eventIds()));
      expect((await second.stop()).exitCode).toBe(0);
      expect(ledger.posts).toHaveLength(ledger.eventIds().size);
    });
  });
}

describe('two instances on one PostgreSQL', () => {
  test('lose nothing, both take part, and no delivery is with both at the same time', async () => {
    const { folder, settings } = await place('postgres');
    const flying = new Set<string>();
    const ledger = newLedger();
    let together = 0;
    ledger.reply = async ({ deliveryId }) => {
      if (flying.has(deliveryId)) together++;
      flying.add(deliveryId);
      await Bun.sleep(2);
      flying.delete(deliveryId);
      return new Response('ok');
    };
    // The name of a header tells who has posted.
    const one = await serve(folder, { ...settings, BODY_SIGNATURE_HEADER: 'x-from-one' });
    const two = await serve(folder, { ...settings, BODY_SIGNATURE_HEADER: 'x-from-two' });
    const credentials = credentialsIn(one.stdout());
    const clients = [one, two].map(({ url }) => new Client(url, credentials));
    for (const path of ['/a', '/b']) await clients[0]?.register(ledger.url(path));
    const ids = eventIds(300);
    const sending = sendAll(clients, ids);
    await sending.done;
    expect(sending.acknowledged.size).toBe(ids.length);
    await until('all have arrived', () => ledger.posts.length >= 600);
    for (const served of [one, two]) expect((await served.stop()).exitCode).toBe(0);
    const byInstance = ['x-from-one', 'x-from-two'].map(
      (name) => ledger.posts.filter(({ headers }) => name in headers).length,
    );
    expect(together).toBe(0);
    expect(ledger.posts).toHaveLength(600);
    expect(new Set(ledger.posts.map(({ deliveryId }) => deliveryId)).size).toBe(600);
    for (const count of byInstance) expect(count).toBeGreaterThan(0);
  });
});
