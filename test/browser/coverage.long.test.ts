import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Browser } from 'playwright-core';
import { until } from '../support/until.ts';
import { accessibilityViolations } from './support/axe.ts';
import { launchChromium } from './support/chromium.ts';
import { shows } from './support/shown.ts';
import { type Stage, startStage } from './support/stage.ts';
import { Tab } from './support/tab.ts';

let browser: Browser;
let stage: Stage;

beforeAll(async () => {
  browser = await launchChromium();
  stage = await startStage({ EXTRA_EVENTS: 'Refunded' });
  const { client, receiver } = stage;
  await client.webhooks.register({ postUrl: `${receiver.url}/a`, networkIds: [1, 10], events: ['LatePayment'] });
  await client.webhooks.register({
    postUrl: `${receiver.url}/b`,
    networkIds: [10],
    events: ['LatePayment', 'Refunded'],
  });
});

afterAll(async () => {
  await browser?.close();
  await stage?.[Symbol.asyncDispose]();
});

test('the grid distinguishes empty cells, one webhook and several by label and icon', async () => {
  await using tab = await Tab.open(browser, stage);
  await tab.signIn('/coverage');
  await tab.page.getByRole('link', { name: 'LatePayment on Ethereum: 1 webhook', exact: true }).waitFor();
  await tab.page.getByRole('link', { name: 'LatePayment on OP Mainnet: 2 webhooks', exact: true }).waitFor();
  await tab.page.getByRole('link', { name: 'Refunded on OP Mainnet: 1 webhook', exact: true }).waitFor();
  await shows(tab.page.locator('td .cell-empty'), 8 * 8 - 3);
  const shapes = await tab.page
    .locator('.legend .cell path')
    .evaluateAll((paths) => paths.map((path) => path.getAttribute('d')));
  expect(new Set(shapes).size).toBe(4);
  expect(tab.errors).toEqual([]);
});

test('a cell with webhooks links to them', async () => {
  await using tab = await Tab.open(browser, stage);
  await tab.signIn('/coverage');
  await tab.page.getByRole('link', { name: 'LatePayment on OP Mainnet: 2 webhooks' }).click();
  await until('the list is filtered', async () => (await tab.page.locator('.pager strong').textContent()) === '2');
  expect(tab.page.url()).toEndWith('/webhooks?networkId=10&event=LatePayment');
  expect(await tab.page.evaluate('document.activeElement.textContent')).toBe('Webhooks');
});

test('a click on an empty cell registers a webhook for it', async () => {
  await using tab = await Tab.open(browser, stage);
  const { page } = tab;
  await tab.signIn('/coverage');
  await page.getByRole('button', { name: 'Register a webhook for TransferFinalized on Base' }).click();
  await page.getByText('1 network × 1 event = 1 webhook').waitFor();
  await page.getByLabel('Endpoint URL').fill(`${stage.receiver.url}/c`);
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'TransferFinalized on Base: 1 webhook' }).waitFor();
  const { webhooks } = await stage.client.webhooks.list({ networkId: 8453 });
  expect(webhooks).toMatchObject([{ event: 'TransferFinalized', postUrl: `${stage.receiver.url}/c` }]);
  expect(tab.errors).toEqual([]);
});

test('the grid has no accessibility violation, in either theme and on a phone', async () => {
  for (const look of [{ theme: 'light' }, { theme: 'dark' }, { theme: 'light', width: 390, height: 844 }] as const) {
    await using tab = await Tab.open(browser, stage, look);
    await tab.signIn('/coverage');
    await tab.page.locator('table.coverage').waitFor();
    expect(await accessibilityViolations(tab.page)).toEqual([]);
    expect(await tab.page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
  }
});
