import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '../../src/config.ts';
import { createAttemptTools } from '../../src/delivery/attempt.ts';
import type { Sender } from '../../src/delivery/sender.ts';
import { OK, type Receiver, startReceiver, startTlsReceiver } from '../delivery/receivers.ts';
import { TEST_BOX } from '../support/api.ts';
import {
  acceptMany,
  type DeliveryState,
  LATE_ON_1,
  type LoggedAttempt,
  readAttempts,
  readDeliveries,
  withEngine,
} from '../support/deliveries.ts';
import { DnsServer } from '../support/dns-server.ts';
import { onSuiteEngine } from '../support/stores.ts';
import { tempBase } from '../support/temp-base.ts';
import { until } from '../support/until.ts';
import { newEntity, seedWebhooks } from '../support/webhooks.ts';
import { AUTHORITY, HELL_NAME, type Hell, RECEIVERS_FROM_HELL, redirectsTo } from './receiver-list.ts';
import { responds } from './receivers.ts';

/** All of them at once, on one engine with senders of the settings: none may affect another's record. */

/** For the receivers that only the deadline ends. */
const DEADLINE_MS = 2_000;
/** For all others, which share one event loop: on a busy machine, a short deadline would end them too. */
const LONG_DEADLINE_MS = 60_000;
/** Generous: it only has to distinguish an attempt that ends from one that never does. */
const SOON_MS = 90_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const folder = mkdtempSync(join(tempBase(), 'paybell-hell-'));
const caFile = join(folder, 'ca.pem');
writeFileSync(caFile, AUTHORITY.cert);
const canary = await startReceiver((socket) => socket.end(OK));
const ALL: Readonly<Record<string, Hell>> = {
  ...RECEIVERS_FROM_HELL,
  ...redirectsTo(`http://127.0.0.1:${canary.port}/`),
};
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await canary[Symbol.asyncDispose]();
});

const SETTINGS = {
  ALLOW_INSECURE_TARGETS: 'true',
  DELIVERY_TIMEOUT: `${LONG_DEADLINE_MS}ms`,
  RETRY_SCHEDULE: '0s,1h',
  EXTRA_CA_FILE: caFile,
};

type Seen = { attempt: LoggedAttempt | undefined; delivery: DeliveryState | undefined; receiver: Receiver };

onSuiteEngine('a receiver from hell', (store) => {
  const seen = new Map<string, Seen>();
  const receivers: Receiver[] = [];
  let names: DnsServer;

  const sender = (settings = SETTINGS) => createAttemptTools(loadConfig(settings), store.db, TEST_BOX).sender;

  /** Gives these URLs the short deadline, and all others the long one. */
  function senderWith(timingOut: ReadonlySet<string>): Sender {
    const [hurried, patient] = [sender({ ...SETTINGS, DELIVERY_TIMEOUT: `${DEADLINE_MS}ms` }), sender()];
    return { send: (request) => (timingOut.has(request.postUrl) ? hurried : patient).send(request) };
  }

  async function start({ does, certificate, recorded }: Hell): Promise<{ receiver: Receiver; postUrl: string }> {
    const speaksTls = certificate !== undefined && recorded.error !== 'timeout';
    const receiver = await (speaksTls ? startTlsReceiver(certificate, does) : startReceiver(does));
    receivers.push(receiver);
    const origin = certificate === undefined ? 'http://127.0.0.1' : `https://${HELL_NAME}`;
    return { receiver, postUrl: `${origin}:${receiver.port}/hook` };
  }

  beforeAll(async () => {
    names = await DnsServer.start({ [HELL_NAME]: ['127.0.0.1'] });
    const started = await Promise.all(
      Object.entries(ALL).map(async ([name, hell]) => ({ name, ...(await start(hell)) })),
    );
    const timingOut = started.filter(({ name }) => ALL[name]?.recorded.error === 'timeout');
    const entityId = await newEntity(store.db);
    await seedWebhooks(
      store.db,
      entityId,
      started.map(({ postUrl }) => ({ ...LATE_ON_1, postUrl })),
    );
    await acceptMany(store.db, entityId, 1);
    await withEngine(
      store.db,
      senderWith(new Set(timingOut.map(({ postUrl }) => postUrl))),
      () =>
        until('each has been attempted', async () => (await readAttempts(store.db, entityId)).length >= started.length),
      { settings: SETTINGS },
    );
    const attempts = await readAttempts(store.db, entityId);
    const deliveries = await readDeliveries(store.db, entityId);
    for (const { name, receiver, postUrl } of started) {
      const attempt = attempts.find((one) => one.postUrl === postUrl);
      const delivery = deliveries.find(({ deliveryId }) => deliveryId === attempt?.deliveryId);
      seen.set(name, { attempt, delivery, receiver });
    }
  });

  afterAll(async () => {
    await Promise.all([...receivers, names].map((one) => one[Symbol.asyncDispose]()));
  });

  test.each(Object.entries(ALL))('that %s is recorded as what it is', (name, { recorded, becomes }) => {
    const { attempt, delivery } = seen.get(name) ?? {};
    expect(attempt).toMatchObject(recorded);
    expect(delivery).toMatchObject({ status: becomes, attempts: 1 });
  });

  test('ends by the deadline, each of them, and leaves no connection behind', async () => {
    for (const [name, { attempt, receiver }] of seen) {
      const inTime = attempt !== undefined && attempt.durationMs < SOON_MS;
      expect({ name, inTime }).toEqual({ name, inTime: true });
      // A connection with a complete response may serve the next request; every other one has to be closed.
      const isUnfinished = attempt?.error === 'timeout' || name.includes('without end') || name.includes('10 GB');
      if (isUnfinished) await receiver.closed(receiver.connections);
    }
  });

  test('lasts as long as the deadline when only the deadline ends it', () => {
    const timedOut = [...seen].filter(([, { attempt }]) => attempt?.error === 'timeout');
    expect(timedOut.length).toBeGreaterThan(7);
    for (const [name, { attempt }] of timedOut) {
      expect({ name, lasted: Number(attempt?.durationMs) >= DEADLINE_MS - 50 }).toEqual({ name, lasted: true });
    }
  });

  test('gets no byte of the request if its certificate is not trusted', () => {
    for (const [name, { attempt, receiver }] of seen) {
      if (attempt?.error === 'tls') expect({ name, received: receiver.received }).toEqual({ name, received: '' });
    }
  });

  test('leads to no request to a private address', () => {
    expect(canary.connections).toBe(0);
  });

  test.each([
    ['wants patience for a second', HOUR_MS],
    ['wants patience for 31,000 years', DAY_MS],
    ['wants patience for longer than any number', DAY_MS],
    ['wants patience in bytes that are no text', HOUR_MS],
  ])('that %s is waited for, within bounds', (name, waitMs) => {
    const { attempt, delivery } = seen.get(name) ?? {};
    const waitedMs = Number(delivery?.nextAttemptMs) - Number(attempt?.startedAtMs);
    // The clocks of the store and of this process may stand a little apart.
    expect(waitedMs).toBeWithin(waitMs - 5_000, waitMs + SOON_MS);
  });

  test('that wants a second gets it where the schedule would be quicker', async () => {
    const replies = [responds('429 Slow', ['retry-after: 1']), responds('200 OK')];
    await using receiver = await startReceiver((socket) => replies.shift()?.(socket));
    const entityId = await newEntity(store.db);
    await seedWebhooks(store.db, entityId, [{ ...LATE_ON_1, postUrl: `http://127.0.0.1:${receiver.port}/` }]);
    await acceptMany(store.db, entityId, 1);
    const settings = { ...SETTINGS, RETRY_SCHEDULE: '0s,10ms' };
    const isDelivered = async () => (await readDeliveries(store.db, entityId))[0]?.status === 'delivered';
    await withEngine(store.db, sender(settings), () => until('it is delivered', isDelivered), { settings });
    const [first, second] = await readAttempts(store.db, entityId);
    expect([first?.statusCode, second?.statusCode]).toEqual([429, 200]);
    expect(Number(second?.startedAtMs) - Number(first?.startedAtMs)).toBeGreaterThanOrEqual(995);
  });

  test('that is gone has its webhook suspended', async () => {
    const webhookId = seen.get('is gone')?.delivery?.webhookId ?? '';
    const row = await store.db.get('select suspended_reason from webhooks where id = $1', [webhookId]);
    expect(row).toEqual({ suspended_reason: 'gone' });
  });
});
