import { expect, test } from 'bun:test';
import type { Browser } from 'playwright-core';
import { Paybell } from '../../src/client/paybell.ts';
import { accessibilityViolations } from './support/axe.ts';
import { ADMIN_KEY, withFreshStage } from './support/fresh-stage.ts';
import { savePicture } from './support/pictures.ts';
import type { Stage } from './support/stage.ts';
import { Tab } from './support/tab.ts';

/** What every view has around it. */

let browser: Browser;
let stage: Stage;

withFreshStage({}, (newBrowser, newStage) => {
  [browser, stage] = [newBrowser, newStage];
});

test('the sidebar has the name of the entity', async () => {
  const operator = new Paybell({ url: stage.url, apiKey: ADMIN_KEY });
  const { entityId, apiKey } = await operator.admin.createEntity({ name: 'Acme & Sons' });
  await using tab = await Tab.open(browser, stage);
  await tab.signIn('/', { credentials: { entityId, apiKey } });
  await tab.page.locator('.identity').getByText('Acme & Sons').waitFor();
  expect(await tab.page.locator('.identity code').textContent()).toBe(entityId);
  expect(await accessibilityViolations(tab.page)).toEqual([]);
  expect(tab.errors).toEqual([]);
});

test('what a key may not do is disabled with the reason before anyone clicks', async () => {
  const { client, receiver, credentials } = stage;
  await client.webhooks.register({ postUrl: `${receiver.url}/hook`, networkIds: [1], events: ['LatePayment'] });
  const operator = new Paybell({ url: stage.url, apiKey: ADMIN_KEY });
  const { entityId } = credentials;
  const { apiKey } = await operator.admin.createKey({ entityId, permissions: ['webhooks:read', 'deliveries:read'] });
  await using tab = await Tab.open(browser, stage);
  const { page } = tab;
  await tab.signIn('/webhooks', { credentials: { entityId, apiKey } });
  await page.getByText('This API key is missing webhooks:write').waitFor();
  const reason = 'This API key needs the webhooks:write permission';
  for (const name of [/^Register webhooks/, /^Send test event/, /^Delete/]) {
    const button = page.getByRole('button', { name });
    expect([await button.isDisabled(), await button.getAttribute('title')]).toEqual([true, reason]);
  }
  await page.getByRole('link', { name: 'Coverage' }).click();
  expect(await page.getByRole('button', { name: /LatePayment on Base/ }).isDisabled()).toBe(true);
  await page.getByRole('link', { name: 'Deliveries' }).click();
  expect(await page.getByRole('button', { name: 'Bulk resend' }).isDisabled()).toBe(true);
  expect(await accessibilityViolations(page)).toEqual([]);
  await savePicture(page, 'missing permissions');
  // Nothing was refused: all of it was known.
  expect(tab.errors).toEqual([]);
});

test('a screen of 1920 pixels is used in its whole width', async () => {
  await using tab = await Tab.open(browser, stage, { width: 1_920, height: 1_080 });
  const { page } = tab;
  await tab.signIn('/');
  await page.locator('.tiles').waitFor();
  const box = await page.locator('.tiles').boundingBox();
  expect((box?.x ?? 0) + (box?.width ?? 0)).toBeGreaterThan(1_860);
  const tops = await page
    .locator('figure.chart')
    .evaluateAll((charts) => charts.map((chart) => chart.getBoundingClientRect().top));
  expect(new Set(tops).size).toBe(1);
  expect(tab.errors).toEqual([]);
});

test('a date shows its exact time and zone when pointed at', async () => {
  const { client, receiver } = stage;
  await client.webhooks.register({ postUrl: `${receiver.url}/hook`, networkIds: [1], events: ['LatePayment'] });
  await using tab = await Tab.open(browser, stage);
  await tab.signIn('/webhooks');
  const title = await tab.page.locator('td time').first().getAttribute('title');
  expect(title).toMatch(/\d{2}:\d{2}:\d{2} (CES?T|GMT\+[12]) · Unix \d+$/);
  expect(tab.errors).toEqual([]);
});
