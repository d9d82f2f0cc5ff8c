import { expect, test } from 'bun:test';
import { DomainError } from '../../../src/domain/errors.ts';
import { RETRACTION } from '../../../src/domain/event-kinds.ts';
import type { Database, Queries } from '../../../src/store/database/database.ts';
import { entityKey } from '../../../src/store/database/sql.ts';
import type { Claimed } from '../../../src/store/deliveries/claim/claimed.ts';
import { listDeliveries } from '../../../src/store/deliveries/read.ts';
import { redeliver } from '../../../src/store/deliveries/redeliver/redeliver.ts';
import type { NewEvent } from '../../../src/store/events/acceptance.ts';
import { stepNext } from '../../../src/store/tasks/run.ts';
import { resumeWebhook, suspendWebhook } from '../../../src/store/webhooks/suspension.ts';
import { accept, claim, newEvent } from '../../support/deliveries.ts';
import { wrongDeliveryCounters } from '../../support/delivery-counters.ts';
import { attemptThat, record } from '../../support/order.ts';
import { rejection } from '../../support/rejection.ts';
import { POSTGRES_ONLY } from '../../support/requirements.ts';
import { alteredTransactions, onSuiteEngine } from '../../support/stores.ts';
import { countTasks, runTasks } from '../../support/tasks.ts';
import { newEntity, register } from '../../support/webhooks.ts';

const CHANGE = { actor: 'test', nowS: 1_763_168_400 };

onSuiteEngine('retraction', (store) => {
  const urlOf = (name: string) => `https://hooks.example.com/${name}`;

  async function newReceivers(...names: string[]): Promise<string> {
    const entityId = await newEntity(store.db);
    for (const name of names)
      await register(store.db, entityId, urlOf(name), [{ networkId: 1, event: 'TransferProcessed' }]);
    return entityId;
  }

  const payment = (entityId: string, eventId: string, more: Partial<NewEvent> = {}) => {
    const body = JSON.stringify({ eventId, event: 'TransferProcessed', networkId: 1, transferId: 't1' });
    return newEvent(entityId, { event: 'TransferProcessed', eventId, transferId: 't1', body, ...more });
  };
  const retractionOf = (entityId: string, original: string, eventId = `${original}-retracted`) => {
    const body = JSON.stringify({ eventId, event: RETRACTION, networkId: 1, retracts: { eventId: original } });
    return newEvent(entityId, { event: RETRACTION, eventId, body, retracts: original });
  };

  /** `name status event`, in the order of creation. */
  async function shown(entityId: string): Promise<string[]> {
    const query = { page: 1, limit: 100, sortBy: 'dateCreated', sortDir: 'asc' } as const;
    const { deliveries } = await listDeliveries(store.db, entityId, query);
    return deliveries.map(({ postUrl, status, event }) => `${new URL(postUrl).pathname.slice(1)} ${status} ${event}`);
  }

  async function claimOf(entityId: string, name: string) {
    const found = (await claim(store.db, entityId)).find(({ postUrl }) => postUrl === urlOf(name));
    if (found === undefined) throw new Error(`nothing is due for ${name}`);
    return found;
  }

  test('goes to those who were told, and ends what no one was told', async () => {
    const entityId = await newReceivers('delivered', 'failing', 'suspended');
    await suspendNamed(store.db, entityId, urlOf('suspended'));
    await accept(store.db, payment(entityId, 'p1'));
    for (const claimed of await claim(store.db, entityId)) {
      await record(store.db, attemptThat(claimed.postUrl === urlOf('delivered') ? 'delivered' : 'retried', claimed));
    }
    expect(await accept(store.db, retractionOf(entityId, 'p1'))).toMatchObject([{ deliveries: 2, repeated: false }]);
    await runTasks(store.db);
    expect((await shown(entityId)).toSorted()).toEqual([
      'delivered delivered TransferProcessed',
      'delivered pending EventRetracted',
      'failing pending EventRetracted',
      'failing superseded TransferProcessed',
      'suspended superseded TransferProcessed',
    ]);
    expect(await countTasks(store.db)).toBe(0);
    expect(await wrongDeliveryCounters(store.db)).toEqual([]);
  });

  test('waits for an attempt in flight and never overtakes it, with a key of a fact or without', async () => {
    for (const factKey of [null, 'fct_1']) {
      const entityId = await newReceivers('slow');
      await accept(store.db, payment(entityId, 'p1', { factKey }));
      const inFlight = await claimOf(entityId, 'slow');
      await accept(store.db, { ...retractionOf(entityId, 'p1'), factKey });
      await runTasks(store.db);
      expect(await claim(store.db, entityId)).toEqual([]);
      await record(store.db, attemptThat('delivered', inFlight));
      await runTasks(store.db);
      const [retraction] = await claim(store.db, entityId);
      expect(JSON.parse(retraction?.body ?? '{}')).toMatchObject({ event: RETRACTION, retracts: { eventId: 'p1' } });
      expect(await countTasks(store.db)).toBe(0);
      expect(await wrongDeliveryCounters(store.db)).toEqual([]);
    }
  });

  test('ends a redelivery that was asked for while its delivery was in flight', async () => {
    const entityId = await newReceivers('slow');
    await accept(store.db, payment(entityId, 'p1'));
    const inFlight = await claimOf(entityId, 'slow');
    expect(await redeliver(store.db, entityId, inFlight.deliveryId)).toBe(true);
    await accept(store.db, retractionOf(entityId, 'p1'));
    await runTasks(store.db);
    await record(store.db, attemptThat('delivered', inFlight));
    const due = await claim(store.db, entityId);
    await runTasks(store.db);
    due.push(...(await claim(store.db, entityId)));
    expect(due.map(({ body }) => JSON.parse(body ?? '{}'))).toMatchObject([{ event: RETRACTION }]);
    expect(await countTasks(store.db)).toBe(0);
    expect(await wrongDeliveryCounters(store.db)).toEqual([]);
  });

  test('that waits for an attempt in flight keeps back no other', async () => {
    const entityId = await newReceivers('one');
    await accept(store.db, payment(entityId, 'p1'));
    const inFlight = await claimOf(entityId, 'one');
    await accept(store.db, retractionOf(entityId, 'p1'));
    await runTasks(store.db);
    await store.db.transaction((queries) => queries.run('update tasks set wait_ms = 1'));
    await accept(store.db, payment(entityId, 'p2', { transferId: 't2' }));
    await record(store.db, attemptThat('delivered', await claimOf(entityId, 'one')));
    await accept(store.db, retractionOf(entityId, 'p2'));
    await stepNext(store.db, entityKey(store.db.dialect, entityId));
    expect((await shown(entityId)).filter((one) => one.endsWith(RETRACTION))).toHaveLength(2);
    await record(store.db, attemptThat('delivered', inFlight));
    await runTasks(store.db);
    expect(await countTasks(store.db)).toBe(0);
  });

  // SQLite has one writer: no claim comes between the statements of a step.
  test.skipIf(store.engine !== 'postgres').each([
    ['in flight', 'the first read', 'fct_4', 'c-claimed'],
    ['in flight', 'the last read', 'fct_4', 'a-claimed'],
    ['in flight', 'the last read', null, 'c-claimed'],
    ['delivered', 'the first read', 'fct_4', 'c-claimed'],
    ['delivered', 'the first read', null, 'a-claimed'],
    // What has a key is not recorded from here on: the step has locked its key.
    ['delivered', 'the last read', null, 'c-claimed'],
    ['retried', 'the last read', null, 'a-claimed'],
  ] as const)(
    `goes to one that is claimed, and then %s, after %s of a step (key %p, %s) ${POSTGRES_ONLY}`,
    async (end, moment, factKey, name) => {
      const entityId = await newReceivers(name, 'b-delivered', 'd-failing', 'e-suspended');
      for (const held of [name, 'e-suspended']) await suspendNamed(store.db, entityId, urlOf(held));
      await accept(store.db, payment(entityId, 'p1', { factKey }));
      for (const claimed of await claim(store.db, entityId)) {
        const isDelivered = claimed.postUrl === urlOf('b-delivered');
        await record(store.db, attemptThat(isDelivered ? 'delivered' : 'retried', claimed));
      }
      await resumeNamed(store.db, entityId, urlOf(name));
      await accept(store.db, { ...retractionOf(entityId, 'p1'), factKey });
      let inFlight: Claimed | undefined;
      const raced = racedStore(store.db, moment, async () => {
        inFlight = await claimOf(entityId, name);
        if (end !== 'in flight') await record(store.db, attemptThat(end, inFlight));
      });
      await runTasks(raced);
      if (inFlight === undefined) throw new Error('nothing was claimed during the step');
      if (end === 'in flight') await record(store.db, attemptThat('delivered', inFlight));
      await runTasks(store.db);
      const expected = [
        `${name} ${end === 'retried' ? 'superseded' : 'delivered'} TransferProcessed`,
        `${name} pending EventRetracted`,
        'b-delivered delivered TransferProcessed',
        'b-delivered pending EventRetracted',
        'd-failing superseded TransferProcessed',
        'd-failing pending EventRetracted',
        'e-suspended superseded TransferProcessed',
      ];
      expect((await shown(entityId)).toSorted()).toEqual(expected.toSorted());
      expect(await claim(store.db, entityId)).toHaveLength(3);
      expect(await countTasks(store.db)).toBe(0);
      expect(await wrongDeliveryCounters(store.db)).toEqual([]);
    },
  );

  test('supersedes an attempt in flight that fails, and then goes out', async () => {
    const entityId = await newReceivers('slow');
    await accept(store.db, payment(entityId, 'p1', { factKey: 'fct_2' }));
    const inFlight = await claimOf(entityId, 'slow');
    await accept(store.db, { ...retractionOf(entityId, 'p1'), factKey: 'fct_2' });
    await runTasks(store.db);
    await record(store.db, attemptThat('retried', inFlight));
    await runTasks(store.db);
    expect(await shown(entityId)).toEqual(['slow superseded TransferProcessed', 'slow pending EventRetracted']);
    expect((await claim(store.db, entityId)).map(({ body }) => JSON.parse(body ?? '{}').event)).toEqual([RETRACTION]);
    expect(await wrongDeliveryCounters(store.db)).toEqual([]);
  });

  test('keeps what follows of the same fact behind it', async () => {
    // `sendRevisions` expects the order of the events.
    for (const agreementId of [null, 'agr_1']) await sendRevisions({ factKey: 'fct_3', agreementId });
  });

  async function sendRevisions(fact: Partial<NewEvent>): Promise<void> {
    const entityId = await newReceivers('one');
    await accept(store.db, payment(entityId, 'p1', fact));
    await record(store.db, attemptThat('delivered', await claimOf(entityId, 'one')));
    await accept(store.db, { ...retractionOf(entityId, 'p1'), ...fact });
    // The task has not run yet: the second revision must still wait for it.
    await accept(store.db, payment(entityId, 'p2', fact));
    await runTasks(store.db);
    const told: string[] = [];
    for (let round = 0; round < 4; round++) {
      for (const claimed of await claim(store.db, entityId)) {
        told.push(claimed.eventId);
        await record(store.db, attemptThat('delivered', claimed));
      }
      await runTasks(store.db);
    }
    expect(told).toEqual(['p1-retracted', 'p2']);
    expect(await wrongDeliveryCounters(store.db)).toEqual([]);
  }

  test('is answered alike when it is repeated, and refused where there is nothing to take back', async () => {
    const entityId = await newReceivers('one');
    await accept(store.db, payment(entityId, 'p1'));
    await record(store.db, attemptThat('delivered', await claimOf(entityId, 'one')));
    const first = retractionOf(entityId, 'p1');
    expect(await accept(store.db, first)).toMatchObject([{ deliveries: 1, repeated: false }]);
    expect(await accept(store.db, first)).toMatchObject([{ deliveries: 1, repeated: true }]);
    const kindOf = async (event: NewEvent) => {
      const [result] = await accept(store.db, event);
      return result instanceof DomainError ? result.kind : 'accepted';
    };
    expect(await kindOf(retractionOf(entityId, 'p1', 'other'))).toBe('already_retracted');
    expect(await kindOf(retractionOf(entityId, 'nothing'))).toBe('retracted_not_found');
    expect(await kindOf(retractionOf(entityId, 'p1-retracted'))).toBe('retraction_of_retraction');
    await runTasks(store.db);
  });

  test('is listed under its own name and under its webhook, follows its suspension, and cannot be undone by sending again', async () => {
    const entityId = await newReceivers('one');
    await accept(store.db, payment(entityId, 'p1'));
    await record(store.db, attemptThat('delivered', await claimOf(entityId, 'one')));
    await accept(store.db, retractionOf(entityId, 'p1'));
    await runTasks(store.db);
    const query = { page: 1, limit: 100, sortBy: 'dateCreated', sortDir: 'asc' } as const;
    const counts = async (filter: object) =>
      (await listDeliveries(store.db, entityId, { ...query, ...filter })).totalResults;
    expect(await counts({ event: RETRACTION })).toBe(1);
    expect(await counts({ event: 'TransferProcessed' })).toBe(1);
    const { deliveries } = await listDeliveries(store.db, entityId, query);
    const webhookId = deliveries[0]?.webhookId ?? '';
    expect(await counts({ webhookId })).toBe(2);
    expect(deliveries.map(({ webhookId: id }) => id)).toEqual([webhookId, webhookId]);
    await suspendWebhook(store.db, entityId, webhookId, 'failing', CHANGE);
    expect(await shown(entityId)).toContain('one held EventRetracted');
    await resumeWebhook(store.db, entityId, webhookId, CHANGE);
    expect(await shown(entityId)).toContain('one pending EventRetracted');
    const error = await rejection(redeliver(store.db, entityId, deliveries[0]?.deliveryId ?? ''));
    expect(error).toMatchObject({ kind: 'event_retracted' });
  });

  test('lets a reminder come again that the retracted payment had superseded', async () => {
    const entityId = await newReceivers('one');
    await register(store.db, entityId, urlOf('one'), [{ networkId: 1, event: 'LatePayment' }]);
    const reminder = (eventId: string) => {
      const body = JSON.stringify({ eventId, event: 'LatePayment', networkId: 1, transferId: 't1' });
      return newEvent(entityId, { event: 'LatePayment', eventId, transferId: 't1', body });
    };
    await accept(store.db, payment(entityId, 'p1'));
    expect(await accept(store.db, reminder('r1'))).toMatchObject([{ deliveries: 0, supersededBy: 'p1' }]);
    await accept(store.db, retractionOf(entityId, 'p1'));
    expect(await accept(store.db, reminder('r2'))).toMatchObject([{ deliveries: 1, supersededBy: null }]);
  });
});

/** Another instance works once, after the first or the last statement of a step that reads the originals without a lock. */
function racedStore(db: Database, moment: 'the first read' | 'the last read', work: () => Promise<void>): Database {
  let hasRaced = false;
  const all: (queries: Queries) => Queries['all'] = (queries) => async (sql, params) => {
    const isDue = moment === 'the first read' ? sql.includes('from queue') : sql.includes('for update');
    const isNow = isDue && !hasRaced;
    hasRaced ||= isNow;
    if (isNow && moment === 'the last read') await work();
    const rows = await queries.all(sql, params);
    if (isNow && moment === 'the first read') await work();
    return rows as never;
  };
  return alteredTransactions(db, (queries) => ({ all: all(queries) }));
}

async function idNamed(db: Database, entityId: string, postUrl: string): Promise<string> {
  const row = await db.get<{ id: string }>('select id from webhooks where entity_id = $1 and post_url = $2', [
    entityId,
    postUrl,
  ]);
  return row?.id ?? '';
}

async function suspendNamed(db: Database, entityId: string, postUrl: string): Promise<void> {
  await suspendWebhook(db, entityId, await idNamed(db, entityId, postUrl), 'failing', CHANGE);
}

async function resumeNamed(db: Database, entityId: string, postUrl: string): Promise<void> {
  await resumeWebhook(db, entityId, await idNamed(db, entityId, postUrl), CHANGE);
}
