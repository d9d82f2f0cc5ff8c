import { expect, test } from 'bun:test';
import type { Browser } from 'playwright-core';
import { until } from '../support/until.ts';
import { accessibilityViolations } from './support/axe.ts';
import { withFreshStage } from './support/fresh-stage.ts';
import { savePicture } from './support/pictures.ts';
import { shows } from './support/shown.ts';
import type { Stage } from './support/stage.ts';
import { Tab } from './support/tab.ts';

/** What was accepted on a day, and what of it was not acknowledged. */

let browser: Browser;
let stage: Stage;

withFreshStage({}, (newBrowser, newStage) => {
  [browser, stage] = [newBrowser, newStage];
});

const TOKEN = '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913';

/** Two events are acknowledged, and one reaches no webhook. Returns their day. */
async function publishThree(): Promise<string> {
  const { client, receiver } = stage;
  const leftMs = 86_400_000 - (Date.now() % 86_400_000);
  // All three have to be of one day.
  if (leftMs < 60_000) await Bun.sleep(leftMs);
  await client.webhooks.register({ postUrl: `${receiver.url}/hook`, networkIds: [1], events: ['TransferFinalized'] });
  const publish = (eventId: string, networkId: number, amount: string) =>
    client.events.publish({ event: 'TransferFinalized', eventId, networkId, token: TOKEN, amount });
  await publish('one', 1, '1234567.000000000000000001');
  await publish('two', 1, '0.5');
  await publish('three', 8453, '10.25');
  const day = new Date().toISOString().slice(0, 10);
  await until('two are acknowledged', async () => (await client.reconciliations.get({ day })).acknowledged === 2);
  return day;
}

test('a reconciliation says first what was not acknowledged, and then exact sums and the digest', async () => {
  const day = await publishThree();
  const { sha256 } = await stage.client.reconciliations.get({ day });
  await using tab = await Tab.open(browser, stage);
  const { page } = tab;
  await tab.signIn(`/reconciliation?day=${day}`);
  await page.getByText('1 of 3 events was not acknowledged: 1 was not sent.').waitFor();
  const rows = page.locator('table.reconciliation tbody tr');
  await shows(rows, 2);
  expect(await rows.nth(0).textContent()).toMatch(/Base.*10\.25.*10\.25 missing/);
  expect(await rows.nth(1).textContent()).toMatch(/Ethereum.*1234567\.500000000000000001$/);
  expect(await page.locator('.digest-line code').textContent()).toBe(sha256);
  await page.getByRole('button', { name: 'Copy SHA-256' }).click();
  await page.locator('.digest-line').getByRole('status').filter({ hasText: 'Copied' }).waitFor();

  expect(await accessibilityViolations(page)).toEqual([]);
  await using phone = await Tab.open(browser, stage, { theme: 'dark', width: 390, height: 844 });
  await phone.signIn(`/reconciliation?day=${day}`);
  await phone.page.locator('table.reconciliation').waitFor();
  await savePicture(phone.page, 'reconciliation phone');
  expect(await accessibilityViolations(phone.page)).toEqual([]);
  expect(await phone.page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);

  await page.getByLabel('Network').selectOption('1');
  await page.getByText('All 2 events were acknowledged.').waitFor();
  await savePicture(page, 'reconciliation agrees');
  expect(page.url()).toEndWith(`/reconciliation?day=${day}&networkId=1`);
  await page.getByLabel('Network').selectOption('10');
  await page.getByRole('heading', { name: `No events on ${day}` }).waitFor();
  await savePicture(page, 'reconciliation empty');
  expect(tab.errors).toEqual([]);

  await page.getByLabel('Day (UTC)').fill('2999-01-01');
  await page.getByText('The day must not be in the future.').waitFor();
  await savePicture(page, 'reconciliation future');
  await page.getByLabel('Day (UTC)').fill('2020-01-01');
  await page.getByText('events are removed after their retention').first().waitFor();
  await page.getByRole('button', { name: 'Show yesterday' }).click();
  await page.getByRole('heading', { name: /^No events on/ }).waitFor();
});
