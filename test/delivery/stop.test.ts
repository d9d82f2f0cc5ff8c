import { afterEach, expect, test } from 'bun:test';
import { createSender, type SenderOptions } from '../../src/delivery/sender.ts';
import {
  acceptMany,
  createEngine,
  forgetDeliveries,
  newReceiver,
  readAttempts,
  readDeliveries,
} from '../support/deliveries.ts';
import { onSuiteEngine } from '../support/stores.ts';
import { until } from '../support/until.ts';
import { startReceiver } from './receivers.ts';

/** Of the sender: the deadline of each attempt. */
const TIMEOUT_MS = 400;
const SETTINGS = { DELIVERY_TIMEOUT: '60s', RETRY_SCHEDULE: '0s,1h' };
/** The engine gives up after DELIVERY_TIMEOUT and some seconds. Less shows that the deadline of the attempts ended the stop. */
const GIVES_UP_AFTER_MS = 60_000;

type Hanging = { readonly url: (port: number) => string; readonly options?: Partial<SenderOptions> };

const HANGING: Readonly<Record<string, Hanging>> = {
  'does not respond': { url: (port) => `http://127.0.0.1:${port}/` },
  'does not end the handshake': { url: (port) => `https://127.0.0.1:${port}/` },
  'has a name that does not resolve': {
    url: (port) => `http://receiver.test:${port}/`,
    options: { resolve: () => new Promise(() => {}) },
  },
};

onSuiteEngine('a stop while a receiver hangs', (store) => {
  afterEach(() => forgetDeliveries(store.db));

  test.each(Object.entries(HANGING))('because it %s ends with the deadline of the attempt', async (_how, hanging) => {
    await using receiver = await startReceiver(() => {});
    const { entityId } = await newReceiver(store.db, hanging.url(receiver.port));
    await acceptMany(store.db, entityId, 3);
    const options = { timeoutMs: TIMEOUT_MS, allowInsecureTargets: true, userAgent: 'Paybell/test' };
    const engine = createEngine(store.db, createSender({ ...options, ...hanging.options }), { settings: SETTINGS });
    await engine.start();
    await until('one is in flight', () => engine.inFlight === 1);
    const stopsAtMs = performance.now();
    await engine.stop();
    expect(performance.now() - stopsAtMs).toBeLessThan(GIVES_UP_AFTER_MS);
    expect(engine.inFlight).toBe(0);
    // The one in flight has its outcome, and no other was begun.
    const attempts = await readAttempts(store.db, entityId);
    expect(attempts).toMatchObject([{ error: 'timeout' }]);
    const states = (await readDeliveries(store.db, entityId)).map(({ status }) => status);
    expect(states.toSorted()).toEqual(['pending', 'pending', 'retrying']);
  });
});
