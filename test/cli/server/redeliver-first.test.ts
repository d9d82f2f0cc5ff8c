import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Paybell } from '../../../src/client/paybell.ts';
import { Paybell as Client } from '../../../src/client/paybell.ts';
import { commandLine } from '../../support/command-line.ts';
import { Ledger } from '../../support/ledger.ts';
import { startTestService, type TestService } from '../../support/service.ts';
import { createTarget } from '../../support/stores.ts';
import { until } from '../../support/until.ts';

let service: TestService;
let remove: () => void;
let receiver: Ledger;
let client: Paybell;
let paybell: ReturnType<typeof commandLine>;
let status = 500;

beforeAll(async () => {
  const target = await createTarget('sqlite');
  remove = target.remove;
  service = await startTestService(target.url, { RETRY_SCHEDULE: '1ms' });
  receiver = new Ledger(() => new Response(null, { status }));
  const { url } = service.client();
  const { entityId, apiKey } = service.first;
  client = new Client({ url, entityId, apiKey });
  paybell = commandLine({ PAYBELL_URL: url, PAYBELL_ENTITY_ID: entityId, PAYBELL_API_KEY: apiKey });
  await client.webhooks.register({ postUrl: receiver.url(), networkIds: [1], events: ['LatePayment'] });
  for (let event = 0; event < 3; event++) await client.events.publish({ event: 'LatePayment', networkId: 1 });
  await until('all have failed', async () => (await client.deliveries.counts()).failed === 3);
});

afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
  remove();
});

test('a redelivery to a failing endpoint sends one request, and the others only if that succeeds or with --yes', async () => {
  const redeliver = ['deliveries', 'redeliver', '--status', 'failed'];
  const before = receiver.requests.length;
  const refused = await paybell(redeliver);
  expect(refused).toMatchObject({ exitCode: 1, stdout: '' });
  expect(refused.stderr).toContain(`a first request failed: ${receiver.url()} (500)`);
  expect(receiver.requests.length).toBe(before + 1);
  expect((await paybell([...redeliver, '--yes'])).stdout).toStartWith('3 queued, 3 sent, 0 delivered, 3 failed');
  expect(receiver.requests.length).toBe(before + 4);
  status = 200;
  const sent = await paybell(redeliver);
  expect(sent).toMatchObject({ exitCode: 0, stderr: 'First requests that succeeded: 1.\n' });
  expect(sent.stdout).toStartWith('2 queued, 2 sent, 2 delivered, 0 failed');
  expect((await client.deliveries.counts()).delivered).toBe(3);
});
