import { afterEach, expect, test } from 'bun:test';
import { type LocalResource, LocalShortageError } from '../../src/delivery/local-shortage.ts';
import { createLogger } from '../../src/log.ts';
import {
  acceptMany,
  addReceiver,
  createEngine,
  forgetDeliveries,
  HOOK,
  newReceiver,
  readAttempts,
  readDeliveries,
  respondedWith,
  ScriptedSender,
} from '../support/deliveries.ts';
import { onSuiteEngine } from '../support/stores.ts';
import { until } from '../support/until.ts';

const OTHER = 'https://other.example.com/';

onSuiteEngine('a delivery that this machine has no room to send', (store) => {
  afterEach(() => forgetDeliveries(store.db));

  /** Two events with a delivery to each of two receivers, and a sender that has no room for the first. */
  async function deliverWithout(resource: LocalResource, code: string) {
    const { db } = store;
    const { entityId } = await newReceiver(db);
    await addReceiver(db, entityId, OTHER);
    const shortages: LocalResource[] = [];
    const sender = new ScriptedSender(({ postUrl }) => {
      if (postUrl === HOOK) throw new LocalShortageError(resource, code);
      return respondedWith(200);
    });
    const onShortage = (missing: LocalResource) => shortages.push(missing);
    const engine = createEngine(db, sender, { onShortage, log: createLogger('silent') });
    await engine.start();
    await acceptMany(db, entityId, 2);
    engine.wake();
    await until('the first receiver was tried', () => shortages.length > 0);
    return { entityId, sender, engine, shortages };
  }

  test('is returned as it was: no attempt counts, and the next claim sends it', async () => {
    const { entityId, engine, shortages } = await deliverWithout('files', 'EMFILE');
    await engine.stop();
    expect(shortages).toContain('files');
    const waiting = (await readDeliveries(store.db, entityId)).filter(({ status }) => status !== 'delivered');
    const unsent = { status: 'pending', attempts: 0, steps: 0, leaseMs: 0, lastError: null };
    expect(waiting.length).toBeGreaterThanOrEqual(2);
    for (const delivery of waiting) expect(delivery).toMatchObject(unsent);
    const errors = (await readAttempts(store.db, entityId)).map(({ error }) => error);
    expect(errors.filter((error) => error !== null)).toEqual([]);
    const next = createEngine(store.db, new ScriptedSender());
    await next.start();
    await until('all are delivered', async () => {
      const all = await readDeliveries(store.db, entityId);
      return all.every(({ status, attempts }) => status === 'delivered' && attempts === 1);
    });
    await next.stop();
  });

  test('keeps no other receiver waiting if only ports to its own are missing', async () => {
    const { entityId, sender, engine } = await deliverWithout('ports', 'EADDRNOTAVAIL');
    await until('the other receiver has both', async () => {
      const all = await readDeliveries(store.db, entityId);
      return all.filter(({ status }) => status === 'delivered').length === 2;
    });
    await engine.stop();
    expect(sender.requests.filter(({ postUrl }) => postUrl === OTHER)).toHaveLength(2);
  });
});
