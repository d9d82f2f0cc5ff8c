import { expect, test } from 'bun:test';
import { Paybell } from '../../../src/client/paybell.ts';
import { commandLine } from '../../support/command-line.ts';
import { startTestService } from '../../support/service.ts';
import { createTarget } from '../../support/stores.ts';

test('paybell reconcile shows texts of payloads in one line, without what a terminal would obey', async () => {
  const target = await createTarget('sqlite');
  const service = await startTestService(target.url);
  const client = service.client();
  const today = () => new Date().toISOString().slice(0, 10);
  const days = [today()];
  await client.send({ event: 'TransferFinalized', amount: '1', currency: 'A\u001b]0;x\u0007\nB' });
  const { entityId, apiKey } = service.first;
  const paybell = commandLine({ PAYBELL_URL: client.url, PAYBELL_ENTITY_ID: entityId, PAYBELL_API_KEY: apiKey });
  // Midnight may have come in between.
  days.push(today());
  const outcomes = await Promise.all([...new Set(days)].map((day) => paybell(['reconcile', '--day', day])));
  const stdout = outcomes.map((outcome) => outcome.stdout).join('');
  expect(stdout).toContain('A�]0;x� B');
  expect(stdout).not.toContain('\u001b');
  await service[Symbol.asyncDispose]();
  target.remove();
});

test('paybell reconcile --endpoint sums up the deliveries to one endpoint', async () => {
  const target = await createTarget('sqlite');
  const service = await startTestService(target.url);
  const { entityId, apiKey } = service.first;
  const { url } = service.client();
  const client = new Paybell({ url, entityId, apiKey });
  const postUrl = 'http://127.0.0.1:9/down';
  await client.webhooks.register({ postUrl, networkIds: [1], events: ['LatePayment'] });
  const [endpoint] = (await client.endpoints.list({ postUrl })).endpoints;
  const endpointId = endpoint?.endpointId ?? '';
  await client.endpoints.pause(endpointId);
  const paybell = commandLine({ PAYBELL_URL: url, PAYBELL_ENTITY_ID: entityId, PAYBELL_API_KEY: apiKey });
  await client.events.publish({ event: 'LatePayment', eventId: 'late', networkId: 1 });
  await client.events.publish({ event: 'TransferFinalized', eventId: 'other', networkId: 1 });
  const day = new Date().toISOString().slice(0, 10);
  const { exitCode, stdout } = await paybell(['reconcile', '--day', day, '--endpoint', endpointId, '--json']);
  expect([exitCode, JSON.parse(stdout)]).toMatchObject([0, { endpointId, events: 1, acknowledged: 0 }]);
  const table = (await paybell(['reconcile', '--day', day, '--endpoint', endpointId])).stdout;
  expect(table).toContain(endpointId);
  expect(table).not.toContain('TransferFinalized');
  const unknown = await paybell(['reconcile', '--day', day, '--endpoint', 'ep_none']);
  expect([unknown.exitCode, unknown.stderr]).toEqual([
    expect.any(Number),
    expect.stringContaining('must be the id of an endpoint'),
  ]);
  await service[Symbol.asyncDispose]();
  target.remove();
});
