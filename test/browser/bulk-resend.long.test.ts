import { expect, test } from 'bun:test';
import type { Browser } from 'playwright-core';
import { until } from '../support/until.ts';
import { accessibilityViolations } from './support/axe.ts';
import { withFreshStage } from './support/fresh-stage.ts';
import { savePicture } from './support/pictures.ts';
import { startReceiver } from './support/receiver.ts';
import type { Stage } from './support/stage.ts';
import { Tab } from './support/tab.ts';

let browser: Browser;
let stage: Stage;

withFreshStage({ RETRY_SCHEDULE: '1ms' }, (newBrowser, newStage) => {
  [browser, stage] = [newBrowser, newStage];
});

test('a bulk resend tries failing endpoints first, and says in the end how many were delivered and failed', async () => {
  const { client, receiver } = stage;
  await using broken = startReceiver();
  broken.respondWith(500);
  receiver.respondWith(500);
  for (const url of [`${receiver.url}/hook`, `${broken.url}/hook`]) {
    await client.webhooks.register({ postUrl: url, networkIds: [1], events: ['LatePayment'] });
  }
  const { webhooks } = await client.webhooks.list();
  await client.webhooks.sendTest(webhooks[0]?.webhookId ?? '');
  for (let count = 0; count < 3; count += 1) await client.events.publish({ event: 'LatePayment', networkId: 1 });
  await until('all have failed, the test too', async () => (await client.deliveries.counts()).failed === 7);
  receiver.respondWith(200);

  await using tab = await Tab.open(browser, stage);
  const { page } = tab;
  await tab.signIn('/deliveries?status=failed');
  await page.getByRole('button', { name: 'Bulk resend' }).click();
  await page.setViewportSize({ width: 390, height: 700 });
  const count = page.getByRole('dialog').getByText('6 deliveries match');
  await count.waitFor();
  const box = await count.boundingBox();
  expect((box?.y ?? 0) + (box?.height ?? 701)).toBeLessThanOrEqual(700);
  await savePicture(page, 'bulk resend on a phone');
  await page.getByRole('dialog').getByRole('button', { name: 'Resend 6' }).click();
  await page.getByRole('dialog').getByText(`HTTP 500 from ${broken.url}/hook`).waitFor();
  // One delivery to the receiver that was mended is delivered now.
  await page.getByRole('dialog').getByText('5 deliveries match').waitFor();
  await savePicture(page, 'bulk resend to a failing endpoint');
  expect(await accessibilityViolations(page)).toEqual([]);
  expect((await client.deliveries.counts()).failed).toBe(6);
  await page.getByRole('dialog').getByRole('button', { name: 'Resend anyway' }).click();
  const progress = page.getByRole('region', { name: 'Bulk resend' });
  await progress.getByText('5 of 5 sent').waitFor();
  await until('the rest is told', async () =>
    Boolean((await progress.textContent())?.includes('5 of 5 sent, 2 delivered, 3 failed')),
  );
  expect(await accessibilityViolations(page)).toEqual([]);
  await savePicture(page, 'bulk resend finished');
  expect(tab.errors).toEqual([]);
});
