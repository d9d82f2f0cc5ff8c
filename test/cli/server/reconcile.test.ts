import { expect, test } from 'bun:test';
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
