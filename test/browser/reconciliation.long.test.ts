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

test('a reconciliation of one endpoint leaves out the outage of another', async () => {
  const { client, receiver } = stage;
  const other = `${receiver.url}/down`;
  await client.webhooks.register({ postUrl: other, networkIds: [1], events: ['TransferFinalized'] });
  const [down] = (await client.endpoints.list({ postUrl: other })).endpoints;
  if (down === undefined) throw new Error('the endpoint was just registered');
  await client.endpoints.update(down.endpointId, { name: 'Warehouse' });
  await client.endpoints.pause(down.endpointId);
  await client.webhooks.register({ postUrl: `${receiver.url}/up`, networkIds: [1], events: ['TransferFinalized'] });
  const [up] = (await client.endpoints.list({ postUrl: `${receiver.url}/up` })).endpoints;
  const leftMs = 86_400_000 - (Date.now() % 86_400_000);
  if (leftMs < 60_000) await Bun.sleep(leftMs);
  await client.events.publish({ event: 'TransferFinalized', networkId: 1, token: TOKEN, amount: '25' });
  const day = new Date().toISOString().slice(0, 10);
  const endpointId = up?.endpointId ?? '';
  const ofUp = () => client.reconciliations.get({ day, endpointId });
  await until('the healthy endpoint has it', async () => (await ofUp()).acknowledged === 1);

  await using tab = await Tab.open(browser, stage);
  const { page } = tab;
  await tab.signIn(`/reconciliation?day=${day}`);
  await page.getByText('1 of 1 event was not acknowledged').waitFor();
  await page.getByLabel('Endpoint').selectOption(endpointId);
  await page.getByText('The one event was acknowledged. Only this endpoint counts here.').waitFor();
  expect(page.url()).toEndWith(`/reconciliation?day=${day}&endpointId=${endpointId}`);
  await page.locator('.digest code', { hasText: `--endpoint ${endpointId}` }).waitFor();
  expect(await accessibilityViolations(page)).toEqual([]);
  await page.getByLabel('Endpoint').selectOption({ label: `Warehouse (${other})` });
  await page.getByText('1 of 1 event was not acknowledged').waitFor();
  await page.getByRole('link', { name: 'Show deliveries' }).click();
  await page.waitForURL(/deliveries\?.*endpointId=/);
  expect(tab.errors).toEqual([]);

  await using phone = await Tab.open(browser, stage, { theme: 'dark', width: 390, height: 844 });
  await phone.signIn(`/reconciliation?day=${day}&endpointId=ep_0fffffffffffff`);
  await phone.page.getByRole('heading', { name: 'No such endpoint' }).waitFor();
  await savePicture(phone.page, 'reconciliation of an unknown endpoint');
  await phone.page.getByRole('button', { name: 'Show all endpoints' }).click();
  await phone.page.getByText('1 of 1 event was not acknowledged').waitFor();
  await phone.page.getByLabel('Endpoint').selectOption(endpointId);
  await phone.page.getByText('The one event was acknowledged.').waitFor();
  await savePicture(phone.page, 'reconciliation of an endpoint');
  expect(await phone.page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
  await phone.page.getByLabel('Network').selectOption('10');
  await phone.page.getByText('Nothing was accepted for this network and endpoint').waitFor();
});

test('payments by token show what the chain has, what is missing, and retractions that no one has acknowledged', async () => {
  const day = new Date().toISOString().slice(0, 10);
  const sums = { networkId: 1, withoutAmount: 0, payments: 2, missing: '0', unacknowledgedRetractions: '0' };
  const amounts = {
    onChain: '1234567.000000000000000001',
    sent: '1234569.5',
    acknowledged: '1234567',
    retracted: '2.5',
  };
  const tokens = [
    {
      ...sums,
      ...amounts,
      token: TOKEN,
      net: '1234567',
      missing: '0.000000000000000001',
      unacknowledgedRetractions: '2.5',
    },
    { ...sums, ...amounts, token: null, net: '1234567' },
  ];
  for (const [theme, width] of [
    ['light', 1440],
    ['dark', 390],
  ] as const) {
    await using tab = await Tab.open(browser, stage, { theme, width, height: 900 });
    const { page } = tab;
    await page.route('**/reconciliation?day=*', async (route) => {
      if (!route.request().url().includes('/api/')) return route.continue();
      const response = await route.fetch();
      const figures = (await response.json()) as object;
      return route.fulfill({ response, json: { ...figures, tokens, undatedPayments: 3 } });
    });
    await tab.signIn(`/reconciliation?day=${day}`);
    const rows = page.locator('.tokens-section tbody tr');
    await shows(rows, 2);
    expect(await rows.nth(0).textContent()).toContain('0.000000000000000001 without an event');
    expect(await rows.nth(0).textContent()).toContain('2.5 retracted, not acknowledged');
    await page.getByText('These sums leave out 3 payments whose date no node stated').waitFor();
    await savePicture(page, `reconciliation tokens ${width} ${theme}`);
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    expect(await accessibilityViolations(page)).toEqual([]);
    expect(tab.errors).toEqual([]);
  }
});
