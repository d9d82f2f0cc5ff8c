import { expect, test } from 'bun:test';
import type { PublicKeyList } from '../../src/contract/secrets.ts';
import { Ledger } from '../support/ledger.ts';
import { createPostgresDatabase } from '../support/postgres.ts';
import { parseMetrics, sampleOf } from '../support/prometheus.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { checkSignature } from '../support/signatures.ts';
import { until } from '../support/until.ts';

const SETTINGS = { DESTINATION_CONCURRENCY: '9' };

/** How many instances deliver, and how many attempts at a time this one may make to one destination. */
async function shareOf(service: TestService): Promise<string> {
  const metrics = parseMetrics(await (await fetch(`${service.url}/metrics`)).text());
  return ['paybell_instances', 'paybell_destination_concurrency'].map((name) => sampleOf(metrics, name)).join(' ');
}

test('two instances share DESTINATION_CONCURRENCY while both run', async () => {
  const url = await createPostgresDatabase();
  await using first = await startTestService(url, SETTINGS);
  expect(await shareOf(first)).toBe('1 9');
  {
    await using second = await startTestService(url, SETTINGS);
    expect(await shareOf(second)).toBe('2 4');
    await until('the first has noticed', async () => (await shareOf(first)) === '2 4');
  }
  await until('the first has noticed that it is alone', async () => (await shareOf(first)) === '1 9');
});

test('two instances sign with every key in force from the moment of a rotation, whichever of them rotated it', async () => {
  const url = await createPostgresDatabase();
  await using ledger = new Ledger();
  // The name of a header shows which instance sent a request.
  const settings = (name: string) => ({ SIGN_ASYMMETRIC: 'true', BODY_SIGNATURE_HEADER: name });
  await using first = await startTestService(url, settings('x-from-first'));
  await using second = await startTestService(url, settings('x-from-second'));
  const clients = [first.client(), second.client(first.first)];
  await clients[0]?.register(ledger.url());
  let sent = 0;
  /** Both instances send some of these events, since each dispatches what it accepts. */
  const sendByBoth = async () => {
    const from = ledger.requests.length;
    for (const client of clients) for (let count = 0; count < 3; count++) await client.send({ eventId: `e${sent++}` });
    await until('all have arrived', () => ledger.requests.length === from + 6);
    return ledger.requests.slice(from);
  };
  const keys = [(await clients[0]?.secrets())?.publicKey ?? ''];
  await sendByBoth();
  for (const [round, client] of clients.entries()) {
    const body = JSON.stringify({ overlapHours: round === 0 ? 1 : 0 });
    const response = await client.request('POST', '/webhooks/signing-key/rotate', body);
    const { publicKeys } = (await response.json()) as PublicKeyList;
    const inForce = publicKeys.map(({ publicKey }) => publicKey);
    expect(inForce).toHaveLength(round === 0 ? 2 : 1);
    const requests = await sendByBoth();
    for (const name of ['x-from-first', 'x-from-second']) {
      expect(requests.filter(({ headers }) => name in headers)).not.toBeEmpty();
    }
    for (const { body: received, headers } of requests) {
      for (const key of inForce) expect(await checkSignature(received, headers, key)).toBe('verified');
      for (const key of keys.filter((each) => !inForce.includes(each)))
        expect(await checkSignature(received, headers, key)).not.toBe('verified');
    }
    keys.push(...inForce);
  }
});
