import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Browser, Locator, Page } from 'playwright-core';
import { PRACTICE_ADDRESS, PRACTICE_TOKEN } from '../../src/domain/chain/practice.ts';
import { readPage } from '../support/document-blocks.ts';
import { accessibilityViolations } from './support/axe.ts';
import { launchChromium } from './support/chromium.ts';
import { LOOKS } from './support/looks.ts';
import { savePicture } from './support/pictures.ts';
import { type Stage, startStage } from './support/stage.ts';
import { Tab } from './support/tab.ts';

/** From a fresh start to the first delivered payment by the dashboard alone, in the steps of docs/payments.md. */

/** A payment comes every 20 seconds, and is final 15 seconds later. */
const MOST_STEPS = { clicks: 9, fields: 3 };

let browser: Browser;
let stage: Stage;

beforeAll(async () => {
  browser = await launchChromium();
  stage = await startStage({ CHAIN_RPC: 'practice' });
});

afterAll(async () => {
  await browser?.close();
  await stage?.[Symbol.asyncDispose]();
});

/** Counts what a person does. */
class Person {
  readonly steps = { clicks: 0, fields: 0 };

  constructor(private readonly page: Page) {}

  async click(role: 'button' | 'link' | 'checkbox', name: string, within: Page | Locator = this.page): Promise<void> {
    this.steps.clicks++;
    await within.getByRole(role, { name, exact: role === 'link' }).click();
  }

  async fill(label: string, text: string): Promise<void> {
    this.steps.fields++;
    await this.page.getByLabel(label).fill(text);
  }
}

test('a new user gets the first payment delivered by the dashboard alone', async () => {
  await using tab = await Tab.open(browser, stage, LOOKS['dark, 1440 pixels wide']);
  const { page } = tab;
  const person = new Person(page);
  await page.goto('/');
  const startedMs = performance.now();
  await person.fill('Entity ID', stage.credentials.entityId);
  await person.fill('API key', stage.credentials.apiKey);
  await person.click('button', 'Sign in');

  await person.click('link', 'Webhooks');
  await person.click('button', 'Register your first webhook');
  await person.fill('Endpoint URL', `${stage.receiver.url}/hook`);
  await person.click('checkbox', 'Practice network');
  await person.click('checkbox', 'TransferFinalized');
  await person.click('button', 'Register 1 webhook');
  await page.getByRole('cell', { name: 'TransferFinalized', exact: true }).waitFor();

  await person.click('link', 'Payments');
  await person.click('button', 'Add addresses');
  const dialog = page.getByRole('dialog', { name: 'Add addresses' });
  expect(await dialog.getByLabel('3. Receiving addresses').inputValue()).toBe(PRACTICE_ADDRESS);
  await dialog.getByText('The newest 10 of').waitFor();
  await savePicture(page, 'practice add source');
  await person.click('button', 'Add addresses', dialog);
  const delivered = page.locator('table.payments tbody tr', { hasText: 'to 1 of 1' });
  await delivered.first().waitFor();
  const seconds = (performance.now() - startedMs) / 1000;

  const [request] = stage.receiver.received;
  expect(JSON.parse(request?.body ?? '{}')).toMatchObject({
    event: 'TransferFinalized',
    networkId: 0,
    payee: expect.stringMatching(new RegExp(`^${PRACTICE_ADDRESS}$`, 'i')),
    token: expect.stringMatching(new RegExp(`^${PRACTICE_TOKEN}$`, 'i')),
  });
  expect(await delivered.first().innerText()).toMatch(/practice USDC/);
  expect(person.steps).toEqual(MOST_STEPS);
  if (process.env.SHOW_STEPS) console.info({ ...person.steps, seconds: Number(seconds.toFixed(1)) });
  expect(tab.errors).toEqual([]);
});

test('docs/payments.md describes these steps', async () => {
  const page = await readPage('docs/payments.md');
  const names = ['Webhooks', 'Register your first webhook', 'Register 1 webhook', 'Payments', 'Add addresses'];
  for (const name of names) expect(page).toContain(`**${name}**`);
  for (const choice of ['Practice network', 'TransferFinalized']) expect(page).toContain(`*${choice}*`);
});

test.each(Object.keys(LOOKS))('a payment that no block has yet was announced and not paid, %s', async (look) => {
  const transactionHash = `0x${'d'.repeat(64)}`;
  const body = { event: 'TransferProcessed', networkId: 0, eventId: 'announced', amount: '25', transactionHash };
  const { entityId, apiKey } = stage.credentials;
  const response = await fetch(`${stage.url}/api/v1/crypto/events?hold=chain`, {
    method: 'POST',
    headers: { 'entity-id': entityId, 'api-key': apiKey, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect([200, 202]).toContain(response.status);
  await using tab = await Tab.open(browser, stage, LOOKS[look]);
  const { page } = tab;
  await tab.signIn('/');
  await page.getByLabel('Find', { exact: true }).fill(transactionHash);
  await page.getByRole('button', { name: 'Find' }).click();
  await page.getByRole('heading', { name: 'Payment of 25', level: 1 }).waitFor();
  await page.locator('.payment-sentence', { hasText: 'Waiting' }).waitFor();
  expect(await page.locator('.answer', { hasText: 'Was it paid?' }).innerText()).toContain('Not yet');
  await savePicture(page, `payment waiting ${look}`);
  expect(await accessibilityViolations(page)).toEqual([]);
  expect(tab.errors).toEqual([]);
});

test.each(Object.keys(LOOKS))('every view says that no money moves, %s', async (look) => {
  await using tab = await Tab.open(browser, stage, LOOKS[look]);
  const { page } = tab;
  await tab.signIn('/payments');
  const notice = page.getByRole('note').filter({ hasText: 'No money moves.' });
  await page.locator('table.payments tbody tr', { hasText: 'Practice' }).first().waitFor();
  await notice.waitFor();
  await savePicture(page, `practice payments ${look}`);
  expect(await accessibilityViolations(page)).toEqual([]);
  await page.locator('table.payments tbody tr .row-link').last().click();
  await page.locator('.payment-sentence', { hasText: 'Practice' }).waitFor();
  await notice.waitFor();
  await savePicture(page, `practice payment ${look}`);
  expect(await accessibilityViolations(page)).toEqual([]);
  for (const path of ['/', '/networks/0', '/webhooks', '/deliveries', '/events']) {
    await page.goto(path);
    await notice.waitFor();
  }
  await page.goto('/networks/0');
  await page.getByRole('heading', { name: 'Practice network', level: 1 }).waitFor();
  await page.locator('table.nodes').waitFor();
  await savePicture(page, `practice network ${look}`);
  expect(await accessibilityViolations(page)).toEqual([]);
  expect(tab.errors).toEqual([]);
});
