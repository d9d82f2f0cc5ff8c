import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Browser } from 'playwright-core';
import { Webhook } from 'standardwebhooks';
import type { SecretList } from '../../src/client/secrets.ts';
import { until } from '../support/until.ts';
import { launchChromium } from './support/chromium.ts';
import { type Stage, startStage } from './support/stage.ts';
import { Tab } from './support/tab.ts';

let browser: Browser;
let stage: Stage;

beforeAll(async () => {
  browser = await launchChromium();
  stage = await startStage({ RETRY_SCHEDULE: '0s,1s,2s,1h' });
});

afterAll(async () => {
  await browser?.close();
  await stage?.[Symbol.asyncDispose]();
});

test('the whole path: register, deliver, fail, retry, resend, rotate the secret, sign out', async () => {
  await using tab = await Tab.open(browser, stage);
  const { page } = tab;
  const { client, receiver } = stage;
  const go = (view: string) => page.getByRole('link', { name: view, exact: true }).click();
  await tab.signIn('/');

  await go('Webhooks');
  await page.getByRole('button', { name: 'Register your first webhook' }).click();
  await page.getByLabel('Endpoint URL').fill(`${receiver.url}/hook`);
  await page.getByLabel('Base').check();
  await page.getByLabel('TransferFinalized').check();
  await page.getByRole('button', { name: 'Register 1 webhook' }).click();
  await page.getByRole('cell', { name: 'TransferFinalized', exact: true }).waitFor();

  // The delivery appears without a reload.
  await go('Deliveries');
  await client.events.publish({ event: 'TransferFinalized', networkId: 8453, eventId: 'transfer-1', amount: '25.00' });
  await page.getByRole('row', { name: /Delivered.*TransferFinalized/ }).waitFor();
  expect(receiver.received).toHaveLength(1);

  receiver.respondWith(503, 'closed');
  await client.events.publish({ event: 'TransferFinalized', networkId: 8453, eventId: 'transfer-2', amount: '7.50' });
  await page.getByRole('row', { name: /Retrying.*503/ }).waitFor();
  receiver.respondWith(200, 'open again');
  await page.getByRole('row', { name: /Retrying/ }).waitFor({ state: 'detached' });
  expect((await client.deliveries.list({ status: 'delivered' })).totalResults).toBe(2);

  await page
    .getByRole('row', { name: /Delivered/ })
    .first()
    .getByRole('link')
    .first()
    .click();
  const panel = page.getByRole('complementary', { name: 'Delivery details' });
  await panel.getByText('503').first().waitFor();
  const before = receiver.received.length;
  await panel.getByRole('button', { name: 'Resend' }).click();
  await until('the receiver got one more request', () => receiver.received.length === before + 1);
  const ids = receiver.received.slice(1).map(({ headers }) => headers.get('webhook-id'));
  expect(new Set(ids).size).toBe(1);

  await go('Secrets');
  await page.getByRole('button', { name: 'Rotate secret', exact: true }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Rotate secret' }).click();
  await until('there are two active secrets', async () => (await client.secrets.list()).totalResults === 2);
  await page.getByRole('dialog').getByRole('button', { name: 'Done' }).click();
  await client.events.publish({ event: 'TransferFinalized', networkId: 8453, eventId: 'transfer-3', amount: '1.00' });
  await until('the last event has arrived', () => receiver.received.some(({ body }) => body.includes('transfer-3')));

  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in to Paybell' }).waitFor();
  expect(await page.evaluate('sessionStorage.length + localStorage.length')).toBe(0);
  expect(tab.errors).toEqual([]);
  expectSignatures(await client.secrets.list());
});

/** The old secret verifies every request, and the new one those sent after the rotation. */
function expectSignatures({ secrets: [newest, old] }: SecretList): void {
  for (const { body, headers } of stage.receiver.received) {
    const given = Object.fromEntries(headers);
    new Webhook(old?.secret ?? '').verify(body, given);
    if (body.includes('transfer-3')) new Webhook(newest?.secret ?? '').verify(body, given);
  }
}
