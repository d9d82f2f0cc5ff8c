import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Browser, Page } from 'playwright-core';
import type { Delivery } from '../../src/client/deliveries.ts';
import { until } from '../support/until.ts';
import { accessibilityViolations } from './support/axe.ts';
import { launchChromium } from './support/chromium.ts';
import { ADMIN_KEY } from './support/fresh-stage.ts';
import { ORDERED_AGREEMENT, OUTAGE_SETTINGS, type Outage, publish, READER_KEY, startOutage } from './support/outage.ts';
import { savePicture } from './support/pictures.ts';
import { type Stage, startStage } from './support/stage.ts';
import { Tab } from './support/tab.ts';

/** The tasks of a support desk on a store with an outage, each within a number of clicks from where it begins. */

let browser: Browser;
let stage: Stage;
let outage: Outage;

beforeAll(async () => {
  browser = await launchChromium();
  stage = await startStage(OUTAGE_SETTINGS);
  outage = await startOutage(stage);
}, 120_000);

afterAll(async () => {
  await browser?.close();
  await stage?.[Symbol.asyncDispose]();
  await outage?.[Symbol.asyncDispose]();
});

/** Counts what a mouse does, but not what the dashboard or a key sets off. */
const COUNT_CLICKS = `
  window.clicks = 0;
  addEventListener('click', ({ isTrusted, detail }) => { if (isTrusted && detail > 0) window.clicks += 1; }, true);
`;

/** A tab on this view, whose clicks count from now on. */
async function openTab(path: string): Promise<Tab> {
  const tab = await Tab.open(browser, stage);
  await tab.page.addInitScript(COUNT_CLICKS);
  await tab.signIn(path);
  await tab.page.evaluate('window.clicks = 0');
  return tab;
}

async function expectClicks({ page, errors }: Tab, count: number): Promise<void> {
  expect(await page.evaluate('window.clicks')).toBe(count);
  expect(await accessibilityViolations(page)).toEqual([]);
  expect(errors).toEqual([]);
}

async function find(page: Page, text: string): Promise<void> {
  await page.getByLabel('Find').fill(text);
  await page.getByRole('button', { name: 'Find' }).click();
}

const panelOf = (page: Page) => page.getByRole('complementary', { name: 'Delivery details' });

/** The newest delivery to this URL. */
async function deliveryTo(url: string): Promise<Delivery> {
  const { deliveries } = await stage.client.deliveries.list({ q: url, limit: 1 });
  const [delivery] = deliveries;
  if (delivery === undefined) throw new Error(`nothing was sent to ${url}`);
  return delivery;
}

test('affected tenants: one click, which signs the operator in', async () => {
  await using tab = await Tab.open(browser, stage);
  const { page } = tab;
  await page.addInitScript(COUNT_CLICKS);
  await page.goto('/');
  await until(
    'the first field has the focus',
    async () => (await page.evaluate('document.activeElement.name')) === 'entityId',
  );
  await page.getByLabel('API key').fill(ADMIN_KEY);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('2 entities need attention').waitFor();
  const rows = await page.locator('table.entities tbody tr').allInnerTexts();
  expect(rows).toHaveLength(3);
  expect(rows[0]).toMatch(/First entity[\s\S]*1 suspended[\s\S]*2 failing[\s\S]*1 paused/);
  expect(rows[1]).toMatch(/Globex Payments[\s\S]*1 paused/);
  expect(rows[2]).toMatch(/Initech Pay[\s\S]*Active/);
  await savePicture(page, 'entities');
  await expectClicks(tab, 1);
});

test('an operator opens an entity with one click, may only read, and is named in its audit log', async () => {
  await using tab = await Tab.open(browser, stage);
  const { page } = tab;
  const { entityId } = stage.credentials;
  await tab.signIn('/', { credentials: { entityId: '', apiKey: READER_KEY } });
  await page.getByLabel('Search').fill('globex');
  await page.getByLabel('Search').press('Enter');
  await page.getByText('1–1 of 1 entities').waitFor();
  await page.getByRole('button', { name: 'Clear' }).click();
  await page.getByRole('button', { name: 'First entity' }).click();
  await page.getByRole('heading', { name: 'Needs attention' }).waitFor();
  const { audit } = await stage.client.audit.list({ action: 'entity.visited' });
  expect(audit).toMatchObject([{ actor: 'operator:support', target: entityId }]);
  await page.getByRole('link', { name: 'Deliveries', exact: true }).click();
  const resend = page.getByRole('button', { name: 'Bulk resend' });
  await until('the button is disabled', () => resend.isDisabled());
  expect(await resend.getAttribute('title')).toContain('deliveries:write');
  await page.reload();
  await page.getByText('First entity').waitFor();
  await page.getByRole('button', { name: 'All entities' }).click();
  await page.getByRole('heading', { name: 'Entities' }).waitFor();
  expect(page.url()).toEndWith('/entities');
  expect(tab.errors).toEqual([]);
});

test('why did a delivery fail: two clicks from the overview', async () => {
  await using tab = await openTab('/');
  const { page } = tab;
  const item = page.locator('.attention-item', { hasText: outage.urls.retry });
  await item.getByRole('link', { name: 'Open endpoint' }).click();
  await page.locator('table.endpoint-deliveries').getByRole('link', { name: 'TransferFinalized' }).first().click();
  await panelOf(page).getByText('Status 503').waitFor();
  await panelOf(page).getByText('upstream connect error').first().waitFor();
  await expectClicks(tab, 2);
});

const UNTIMED = 'First attempt when it no longer waits';

const REASONS = [
  ['retry', /Next attempt at /, 'Resend', /^Next attempt in /],
  ['order', /Waits for dlv_\w+ of the same order/, 'Show that delivery', UNTIMED],
  ['receiver', /\d+ requests? in progress, no response for /, 'Show endpoint', UNTIMED],
  ['suspended', /Suspended since .+ after HTTP 410/, 'Resume', /^First attempt \d/],
  ['paused', /Endpoint paused since .+ by First key/, 'Resume endpoint', /^Accepted /],
  ['rateLimit', /Rate limit of 1 per second, sent by /, 'Show endpoint', UNTIMED],
] as const;

test.each(REASONS)('why was a delivery not sent, %s: two clicks', async (reason, text, button, last) => {
  if (reason === 'rateLimit') await publish(stage.client, 'LatePayment', 100);
  const { deliveryId, postUrl } = await deliveryTo(outage.urls[reason]);
  await using tab = await openTab('/');
  const { page } = tab;
  await find(page, deliveryId);
  await page.locator('table.deliveries tbody tr', { hasText: postUrl }).locator('.row-link').click();
  await panelOf(page).locator('.waiting').getByText(text).waitFor();
  await panelOf(page).getByText(button, { exact: true }).first().waitFor();
  await panelOf(page).locator('.timeline li').last().locator('p').first().filter({ hasText: last }).waitFor();
  await savePicture(page, `waits for ${reason}`);
  await expectClicks(tab, 2);
});

test('resends a window of an endpoint whose receiver fails: four clicks from the overview', async () => {
  await using tab = await openTab('/');
  const { page } = tab;
  const item = page.locator('.attention-item', { hasText: outage.urls.retry });
  await item.getByRole('link', { name: 'Open endpoint' }).click();
  await page.getByRole('button', { name: /^Send \d+ retrying now$/ }).click();
  const dialog = page.getByRole('dialog', { name: 'Bulk resend' });
  await dialog.getByLabel('Until').fill('2099-01-01T00:00:00');
  await dialog.getByLabel('From').fill('2026-01-01T00:00:00');
  await dialog.getByLabel('From').blur();
  await dialog.getByRole('button', { name: 'Resend 12', exact: true }).click();
  await dialog.getByText(`HTTP 503 from ${outage.urls.retry}`).waitFor();
  await dialog.getByRole('button', { name: 'Resend anyway' }).click();
  await page
    .getByRole('region', { name: 'Bulk resend' })
    .getByText(/of 12 sent/)
    .waitFor();
  await expectClicks(tab, 4);
});

test('finds by transfer, agreement, event, URL and hash: one click from the overview', async () => {
  const { deliveries } = await stage.client.deliveries.list({ event: 'AgreementCancelled' });
  const [delivery] = deliveries;
  const { body } = await stage.client.deliveries.get(delivery?.deliveryId ?? '');
  const { transactionHash } = JSON.parse(body) as { transactionHash: string };
  const texts = {
    transfer: [delivery?.summary?.transferId ?? '', 1],
    agreement: [ORDERED_AGREEMENT, 3],
    event: [delivery?.eventId ?? '', 1],
    URL: [outage.urls.paused, 2],
    hash: [transactionHash, 1],
  } as const;
  for (const [what, [text, count]] of Object.entries(texts)) {
    await using tab = await openTab('/');
    await find(tab.page, text);
    await until(
      `the ${what} is found`,
      async () => (await tab.page.locator('.pager strong').textContent()) === String(count),
    );
    await expectClicks(tab, 1);
  }
});

test('rotates a secret: two clicks on the page of secrets', async () => {
  await using tab = await openTab('/secrets');
  const { page } = tab;
  await page.getByRole('button', { name: 'Rotate secret' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Rotate secret' }).click();
  await page.getByRole('dialog', { name: 'New secret is active' }).waitFor();
  await expectClicks(tab, 2);
  expect((await stage.client.secrets.list()).totalResults).toBe(2);
});

test('resumes a suspended endpoint from its delivery: two clicks in the list of deliveries', async () => {
  outage.gone.respondWith(200);
  await using tab = await openTab('/deliveries?status=held');
  const { page } = tab;
  await page.locator('tr', { hasText: outage.urls.suspended }).first().locator('.row-link').click();
  await panelOf(page).getByRole('button', { name: 'Resume' }).click();
  await panelOf(page).getByText('Delivered', { exact: true }).first().waitFor();
  await expectClicks(tab, 2);
});
