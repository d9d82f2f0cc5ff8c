import { expect, test } from 'bun:test';
import { destinationKey } from '../../../../src/domain/post-url.ts';
import type { Claimed } from '../../../../src/store/deliveries/claim/claimed.ts';
import { redeliver } from '../../../../src/store/deliveries/redeliver/redeliver.ts';
import { deleteWebhook, moveWebhook } from '../../../../src/store/webhooks/change.ts';
import { resumeWebhook, suspendWebhook } from '../../../../src/store/webhooks/suspension.ts';
import { accept, claim, HOOK, LEASE_MS, letPass, newEvent, statuses } from '../../../support/deliveries.ts';
import { attemptThat, countRows, keepOrder, readNumbers, record } from '../../../support/order.ts';
import { onSuiteEngine } from '../../../support/stores.ts';
import { runTasks } from '../../../support/tasks.ts';
import { newEntity, register, seedWebhooks } from '../../../support/webhooks.ts';

const KINDS = ['AgreementSignedUp', 'TransferCreated', 'TransferProcessed'] as const;
const CHANGE = { actor: 'test', nowS: 1_763_168_400 };

onSuiteEngine('an endpoint that keeps order', (store) => {
  async function newEndpoint(): Promise<{ entityId: string; webhookIds: string[] }> {
    const entityId = await newEntity(store.db);
    const pairs = KINDS.map((event) => ({ networkId: 1, event }));
    const { webhooks } = await register(store.db, entityId, HOOK, pairs);
    await keepOrder(store.db, entityId, HOOK);
    return { entityId, webhookIds: webhooks.map(({ webhookId }) => webhookId) };
  }

  const send = (entityId: string, event: string, agreementId: string | null) =>
    accept(store.db, newEvent(entityId, { event, agreementId }));

  const numbersOf = (claimed: readonly Claimed[]) => claimed.map(({ sequence }) => sequence ?? 0).sort((a, b) => a - b);

  test('sends the next of an agreement when the one before has ended, over all webhooks of the URL', async () => {
    const { entityId } = await newEndpoint();
    for (const event of KINDS) await send(entityId, event, 'a');
    for (const end of ['delivered', 'failed', 'delivered'] as const) {
      const claimed = await claim(store.db, entityId);
      expect(claimed).toHaveLength(1);
      const due = await record(store.db, ...claimed.map((delivery) => attemptThat(end, delivery)));
      const isLast = (await countRows(store.db, 'queue', entityId)) === 0;
      expect(due).toEqual(isLast ? [] : [destinationKey(entityId, HOOK)]);
    }
    expect(await statuses(store.db, entityId)).toEqual(['delivered', 'failed', 'delivered']);
    expect(await countRows(store.db, 'order_keys', entityId)).toBe(0);
  });

  test('lets other agreements, and events without one, go on', async () => {
    const { entityId } = await newEndpoint();
    for (const agreementId of ['a', 'a', 'b', null, 'b', null]) await send(entityId, 'TransferCreated', agreementId);
    expect(numbersOf(await claim(store.db, entityId))).toEqual([1, 3, 4, 6]);
  });

  test('keeps the turn through a retry, however long that takes', async () => {
    const { entityId } = await newEndpoint();
    await send(entityId, 'TransferCreated', 'a');
    await send(entityId, 'TransferProcessed', 'a');
    const [first] = await claim(store.db, entityId);
    if (first !== undefined) await record(store.db, attemptThat('retried', first, 3_600_000));
    expect(await claim(store.db, entityId)).toEqual([]);
    await letPass(store.db, entityId, 3_600_000);
    expect(numbersOf(await claim(store.db, entityId))).toEqual([1]);
  });

  test('gives the turn once more to what was claimed by an instance that died', async () => {
    const { entityId } = await newEndpoint();
    await send(entityId, 'TransferCreated', 'a');
    await send(entityId, 'TransferProcessed', 'a');
    const [lost] = await claim(store.db, entityId);
    await letPass(store.db, entityId, LEASE_MS);
    const [again] = await claim(store.db, entityId);
    expect(again?.deliveryId).toBe(lost?.deliveryId ?? '');
    // The success of the first instance counts too, and only the next one has its turn.
    if (lost !== undefined) await record(store.db, attemptThat('delivered', lost));
    if (again !== undefined) await record(store.db, attemptThat('delivered', again));
    expect(numbersOf(await claim(store.db, entityId))).toEqual([2]);
  });

  test('waits behind what is held, also while another webhook is resumed', async () => {
    const { entityId, webhookIds } = await newEndpoint();
    const [signedUp = '', created = ''] = webhookIds;
    await suspendWebhook(store.db, entityId, signedUp, 'failing', CHANGE);
    await send(entityId, 'AgreementSignedUp', 'a');
    await send(entityId, 'TransferCreated', 'a');
    await suspendWebhook(store.db, entityId, created, 'failing', CHANGE);
    await resumeWebhook(store.db, entityId, created, CHANGE);
    expect(await claim(store.db, entityId)).toEqual([]);
    await resumeWebhook(store.db, entityId, signedUp, CHANGE);
    const claimed = await claim(store.db, entityId);
    expect(numbersOf(claimed)).toEqual([1]);
    await record(store.db, ...claimed.map((delivery) => attemptThat('delivered', delivery)));
    expect(numbersOf(await claim(store.db, entityId))).toEqual([2]);
  });

  test('goes on when the webhook of the first was deleted', async () => {
    const { entityId, webhookIds } = await newEndpoint();
    for (const event of ['AgreementSignedUp', 'AgreementSignedUp', 'TransferCreated']) await send(entityId, event, 'a');
    await deleteWebhook(store.db, entityId, webhookIds[0] ?? '', () => true, CHANGE);
    expect(await claim(store.db, entityId)).toEqual([]);
    const due: string[] = [];
    for (const stepped of await runTasks(store.db)) if (stepped.due !== 'anywhere') due.push(...stepped.due);
    expect(due).toContain(destinationKey(entityId, HOOK));
    expect(numbersOf(await claim(store.db, entityId))).toEqual([3]);
    expect(await statuses(store.db, entityId)).toEqual(['cancelled', 'cancelled', 'pending']);
  });

  test('makes a redelivery of a waiting one wait for its turn, and none of a completed one', async () => {
    const { entityId } = await newEndpoint();
    await send(entityId, 'TransferCreated', 'a');
    await send(entityId, 'TransferProcessed', 'a');
    const [first, second] = await readNumbers(store.db, entityId);
    await redeliver(store.db, entityId, second?.deliveryId ?? '');
    const claimed = await claim(store.db, entityId);
    expect(numbersOf(claimed)).toEqual([1]);
    await record(store.db, ...claimed.map((delivery) => attemptThat('delivered', delivery)));
    await redeliver(store.db, entityId, first?.deliveryId ?? '');
    const both = await claim(store.db, entityId);
    expect(numbersOf(both)).toEqual([1, 2]);
    await record(store.db, ...both.map((delivery) => attemptThat('delivered', delivery)));
    expect(await statuses(store.db, entityId)).toEqual(['delivered', 'delivered']);
    expect(await countRows(store.db, 'order_keys', entityId)).toBe(0);
  });

  test('ends the turn of one that arrived and is to be sent once more', async () => {
    const { entityId } = await newEndpoint();
    await send(entityId, 'TransferCreated', 'a');
    await send(entityId, 'TransferProcessed', 'a');
    const [first] = await claim(store.db, entityId);
    await redeliver(store.db, entityId, first?.deliveryId ?? '');
    if (first !== undefined) await record(store.db, attemptThat('delivered', first));
    expect(numbersOf(await claim(store.db, entityId))).toEqual([1, 2]);
  });

  test('keeps the order and the number of what waits when its webhook is moved', async () => {
    const { entityId, webhookIds } = await newEndpoint();
    const moved = 'https://other.example.com/paybell';
    await send(entityId, 'AgreementSignedUp', 'a');
    await send(entityId, 'TransferCreated', 'a');
    await moveWebhook(store.db, entityId, webhookIds[1] ?? '', moved, () => true, CHANGE);
    expect(await claim(store.db, entityId, 100, moved)).toEqual([]);
    const [first] = await claim(store.db, entityId);
    expect(first?.sequence).toBe(1);
    const due = first === undefined ? [] : await record(store.db, attemptThat('delivered', first));
    expect(due).toEqual([destinationKey(entityId, moved)]);
    const [second] = await claim(store.db, entityId, 100, moved);
    expect(second).toMatchObject({ sequence: 2, postUrl: moved, sequenceEndpointNo: first?.endpointNo ?? 0 });
    if (second !== undefined) await record(store.db, attemptThat('delivered', second));
    expect(await countRows(store.db, 'order_keys', entityId)).toBe(0);
  });

  test('lets a later event of an agreement follow the task that makes the deliveries of the one before', async () => {
    const entityId = await newEntity(store.db);
    const urlOf = (index: number) => `https://hooks.example.com/${String(index).padStart(4, '0')}`;
    const last = urlOf(1_001);
    const seeds = Array.from({ length: 1_002 }, (_, index) => ({
      networkId: 1,
      event: 'TransferCreated',
      postUrl: urlOf(index),
    }));
    await seedWebhooks(store.db, entityId, [...seeds, { networkId: 1, event: 'TransferProcessed', postUrl: last }]);
    await keepOrder(store.db, entityId, last);
    const before = newEvent(entityId, { event: 'TransferCreated', agreementId: 'a' });
    const after = newEvent(entityId, { event: 'TransferProcessed', agreementId: 'a' });
    const results = [...(await accept(store.db, before)), ...(await accept(store.db, after))];
    expect(results).toMatchObject([{ deliveries: 1_002 }, { deliveries: 1 }]);
    await runTasks(store.db);
    const claimed = (await claim(store.db, entityId, 2_000)).filter(({ postUrl }) => postUrl === last);
    const found = claimed.map(({ sequence, eventId }) => ({ sequence, eventId }));
    expect(found).toEqual([{ sequence: 1, eventId: before.eventId ?? '' }]);
  });
});
