import { expect, test } from 'bun:test';
import type { Browser } from 'playwright-core';
import { DASHBOARD_PATHS } from '../../src/dashboard/paths.ts';
import { until } from '../support/until.ts';
import { accessibilityViolations } from './support/axe.ts';
import { withFreshStage } from './support/fresh-stage.ts';
import { savePicture } from './support/pictures.ts';
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

test('has one row of navigation on a phone, and every view behind More', async () => {
  await using tab = await Tab.open(browser, stage, { width: 390, height: 844 });
  const { page } = tab;
  await tab.signIn('/secrets');
  const shown = page.locator('.nav .nav-link:visible');
  expect((await shown.allInnerTexts()).map((text) => text.trim())).toContain('Secrets');
  const tops = await shown.evaluateAll((links) => links.map((link) => link.getBoundingClientRect().top));
  expect(new Set(tops).size).toBe(1);
  await page.getByRole('button', { name: 'More' }).click();
  for (const link of await shown.all()) {
    const { x, width } = (await link.boundingBox()) ?? { x: -1, width: 0 };
    expect([x >= 0, x + width <= 390]).toEqual([true, true]);
  }
  expect(await shown.count()).toBe(Object.keys(DASHBOARD_PATHS).length + 1);
  expect(await accessibilityViolations(page)).toEqual([]);
  await page.getByRole('link', { name: 'Coverage' }).click();
  await page.getByRole('button', { name: 'More' }).waitFor();
  expect(tab.errors).toEqual([]);
});

test('shows the chosen tab on a phone, even if it is beyond the edge', async () => {
  await using tab = await Tab.open(browser, stage, { width: 390, height: 844 });
  const { page } = tab;
  await tab.signIn('/deliveries?status=superseded');
  await page.locator('.tab-count').first().waitFor();
  const box = await page.locator('.tab[aria-current]').boundingBox();
  expect((box?.x ?? -1) >= 0 && (box?.x ?? 0) + (box?.width ?? 391) <= 390).toBe(true);
});

test('/ moves to a search, ? lists the keys, and both can be turned off', async () => {
  await using tab = await Tab.open(browser, stage);
  const { page } = tab;
  await tab.signIn('/events');
  const focused = () => page.evaluate('document.activeElement.labels?.[0]?.textContent');
  await page.getByLabel('Search').waitFor();
  await page.keyboard.press('/');
  await until('the search has the focus', async () => (await focused()) === 'Search');
  await page.keyboard.type('/?');
  expect(await page.getByLabel('Search').inputValue()).toBe('/?');
  await page.goto('/settings');
  await page.getByRole('button', { name: 'Create key' }).waitFor();
  await page.keyboard.press('/');
  await until('the search of the overview has the focus', async () => (await focused()) === 'Find');
  await page.getByRole('heading', { name: 'Overview' }).click();
  await page.keyboard.press('?');
  const keys = page.getByRole('dialog', { name: 'Shortcuts' });
  await keys.getByText('Close a dialog or an open delivery').waitFor();
  expect(await accessibilityViolations(page)).toEqual([]);
  await savePicture(page, 'keys');
  await keys.getByLabel('Use / and ?').uncheck();
  await page.keyboard.press('Escape');
  await page.keyboard.press('?');
  await page.keyboard.press('/');
  expect(await keys.count()).toBe(0);
  expect(await focused()).not.toBe('Find');
  expect(tab.errors).toEqual([]);
});
