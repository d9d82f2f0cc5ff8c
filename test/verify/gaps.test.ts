import { afterAll, beforeAll, expect, test } from 'bun:test';
import { Webhook } from 'standardwebhooks';
import { Paybell } from '../../src/client/paybell.ts';
import { checkSequence } from '../../src/verify/check-sequence.ts';
import { SequenceTracker } from '../../src/verify/sequence-tracker.ts';
import { VerificationError } from '../../src/verify/verification-error.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { onSuiteEngine } from '../support/stores.ts';
import { until } from '../support/until.ts';

const EVENTS = 1_000;
const FORGOTTEN = 50;

type Received = { body: string; headers: Record<string, string>; sequence: number; endpointId: string };

onSuiteEngine('a receiver that forgets', (store) => {
  let service: TestService;
  let client: Paybell;
  let receiver: Bun.Server<undefined>;
  let secret = '';
  const received: Received[] = [];
  const invalid: unknown[] = [];

  beforeAll(async () => {
    receiver = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      async fetch(request) {
        const body = await request.text();
        const headers = Object.fromEntries(request.headers);
        try {
          new Webhook(secret).verify(body, headers);
          const checked = await checkSequence(headers, secret);
          if (checked !== null) received.push({ body, headers, ...checked });
        } catch (error) {
          invalid.push(error);
        }
        return new Response();
      },
    });
    service = await startTestService(store.url);
    client = new Paybell({ url: service.url, ...service.first });
    secret = (await client.secrets.list()).secrets[0]?.secret ?? '';
    const postUrl = `${receiver.url}hook`;
    await client.webhooks.register({ postUrl, networkIds: [1, 10], events: ['LatePayment', 'TransferFinalized'] });
    const kinds = ['LatePayment', 'TransferFinalized'];
    for (let sent = 0; sent < EVENTS; sent += 100) {
      const events = Array.from({ length: 100 }, (_, index) => ({
        event: kinds[index % 2] ?? '',
        networkId: index % 3 === 0 ? 1 : 10,
        amount: `${sent + index}.000000000000000001`,
      }));
      await client.events.publishBatch(events);
    }
    await until('every request has come', () => new Set(received.map(({ sequence }) => sequence)).size >= EVENTS);
  });
  afterAll(async () => {
    await service[Symbol.asyncDispose]();
    await receiver.stop(true);
  });

  const bySequence = () => new Map(received.map((request) => [request.sequence, request]));

  test('gets requests that the official library verifies, numbered from 1 without a hole', () => {
    expect(invalid).toEqual([]);
    expect([...bySequence().keys()].sort((a, b) => a - b)).toEqual(
      Array.from({ length: EVENTS }, (_, index) => index + 1),
    );
    expect(new Set(received.map(({ endpointId }) => endpointId)).size).toBe(1);
  });

  test('is told which numbers it lacks, and reads their exact bytes from the feed', async () => {
    const all = bySequence();
    const forgotten = new Set<number>();
    for (let number = 7; forgotten.size < FORGOTTEN; number = ((number * 613) % (EVENTS - 1)) + 1)
      forgotten.add(number);
    const tracker = new SequenceTracker();
    for (const { sequence } of received) if (!forgotten.has(sequence)) tracker.add(sequence);
    expect(tracker.missing()).toEqual([...forgotten].sort((a, b) => a - b));
    const endpointId = received[0]?.endpointId ?? '';
    for (const { first, last } of tracker.gaps()) {
      for await (const entry of client.endpoints.feed(endpointId, { after: first - 1, until: last })) {
        expect(forgotten.has(entry.sequence)).toBe(true);
        expect(entry.body).toBe(all.get(entry.sequence)?.body ?? '');
        expect(entry.deliveryId).toBe(all.get(entry.sequence)?.headers['webhook-id'] ?? '');
        tracker.add(entry.sequence);
      }
    }
    expect(tracker.missing()).toEqual([]);
    expect(tracker.through).toBe(EVENTS);
  });

  test('refuses a forged number', async () => {
    const { headers, sequence } = received[0] ?? { headers: {}, sequence: 0 };
    const forged = { ...headers, 'paybell-sequence': String(sequence + 1) };
    const error = await checkSequence(forged, secret).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(VerificationError);
    expect((error as VerificationError).reason).toBe('no_match');
  });
});
