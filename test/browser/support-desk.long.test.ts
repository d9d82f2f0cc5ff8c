import { expect, test } from 'bun:test';
import type { Browser } from 'playwright-core';
import { until } from '../support/until.ts';
import { withFreshStage } from './support/fresh-stage.ts';
import type { Stage } from './support/stage.ts';
import { Tab } from './support/tab.ts';

/** What a person at a support desk does when a receiver has failed, at a desk and on a phone. */

let browser: Browser;
let stage: Stage;

withFreshStage({ RETRY_SCHEDULE: '1ms,1h' }, (newBrowser, newStage) => {
  [browser, stage] = [newBrowser, newStage];
});

test('sends what retries now, once its receiver was mended', async () => {
  const { client, receiver } = stage;
  const postUrl = `${receiver.url}/hook`;
  await client.webhooks.register({ postUrl, networkIds: [1], events: ['LatePayment'] });
  receiver.respondWith(500);
  for (let event = 0; event < 3; event++) await client.events.publish({ event: 'LatePayment', networkId: 1 });
  await until('all retry', async () => (await client.deliveries.counts()).retrying === 3);
  await using tab = await Tab.open(browser, stage);
  const { page } = tab;
  await tab.signIn('/endpoints');
  await page.getByRole('link', { name: postUrl }).click();
  const send = page.getByRole('button', { name: 'Send 3 retrying now' });
  await send.waitFor();
  expect(await page.getByRole('button', { name: 'Resend failed' }).count()).toBe(0);
  receiver.respondWith(200);
  await send.click();
  await page.getByRole('dialog', { name: 'Bulk resend' }).getByRole('button', { name: 'Resend 3' }).click();
  await until('all are delivered', async () => (await client.deliveries.counts()).delivered === 3);
  await send.waitFor({ state: 'detached' });
  expect(tab.errors).toEqual([]);
});

test('has every view in the navigation of a phone', async () => {
  await using tab = await Tab.open(browser, stage);
  const { page } = tab;
  await tab.signIn('/');
  await page.setViewportSize({ width: 390, height: 844 });
  const links = await page.locator('.nav .nav-link').all();
  expect(links.length).toBeGreaterThanOrEqual(8);
  for (const link of links) {
    const box = await link.boundingBox();
    expect((box?.x ?? -1) >= 0 && (box?.x ?? 0) + (box?.width ?? 0) <= 390).toBe(true);
  }
});
