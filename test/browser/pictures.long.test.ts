import { afterAll, beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { DASHBOARD_PATHS, type ViewName } from '../../src/dashboard/paths.ts';
import { accessibilityViolations } from './support/axe.ts';
import { launchChromium } from './support/chromium.ts';
import { addDemoData } from './support/demo-data.ts';
import { type Stage, startStage } from './support/stage.ts';
import { type Look, Tab } from './support/tab.ts';

/**
 * Renders every view in every theme and size with realistic data. The screenshots are stored only if `PICTURES` names a
 * folder, as `npm run pictures` does after it has generated data for some minutes. An ordinary run is short and writes nothing.
 */

const LOOKS: Readonly<Record<string, Look>> = {
  light: { theme: 'light', width: 1280, height: 800, scale: 1.5 },
  dark: { theme: 'dark', width: 1280, height: 800, scale: 1.5 },
  phone: { theme: 'light', width: 390, height: 844, scale: 2 },
};

const FOLDER = process.env.PICTURES;
const MINUTES = Number(process.env.PICTURE_MINUTES ?? 0);

const VIEWS = Object.keys(DASHBOARD_PATHS) as ViewName[];

let browser: Browser;
let stage: Stage;
let demoData: AsyncDisposable;

beforeAll(
  async () => {
    browser = await launchChromium();
    stage = await startStage();
    demoData = await addDemoData(stage, MINUTES);
  },
  (MINUTES + 2) * 60_000,
);

afterAll(async () => {
  await browser?.close();
  await stage?.[Symbol.asyncDispose]();
  await demoData?.[Symbol.asyncDispose]();
});

async function take(page: Page, name: string): Promise<void> {
  // Views that poll never become idle, so wait for a fixed time instead.
  await page.waitForTimeout(700);
  const picture = await page.screenshot();
  expect(picture.length).toBeGreaterThan(5_000);
  if (FOLDER !== undefined) await Bun.write(join(FOLDER, `dashboard-${name}.png`), picture);
}

async function open(page: Page, path: string): Promise<void> {
  await page.goto(path);
  await page.locator('main h1').waitFor();
  await page.locator('.loading').first().waitFor({ state: 'detached' });
}

test.each(Object.keys(LOOKS))('every view renders without an error or accessibility violation, %s', async (look) => {
  await using tab = await Tab.open(browser, stage, LOOKS[look]);
  await tab.page.goto('/');
  await tab.page.getByRole('heading', { name: 'Sign in to Paybell' }).waitFor();
  await take(tab.page, `sign-in-${look}`);
  await tab.signIn('/');
  for (const view of VIEWS) {
    await open(tab.page, DASHBOARD_PATHS[view]);
    await take(tab.page, `${view}-${look}`);
    expect(await accessibilityViolations(tab.page)).toEqual([]);
  }
  expect(tab.errors).toEqual([]);
});

test.each(['light', 'dark'])('an open delivery and the register dialog, %s', async (look) => {
  await using tab = await Tab.open(browser, stage, LOOKS[look]);
  const { page } = tab;
  const { deliveries } = await stage.client.deliveries.list({ status: 'retrying', limit: 1 });
  await tab.signIn(`/deliveries?delivery=${deliveries[0]?.deliveryId}`);
  await page.getByRole('complementary', { name: 'Delivery details' }).getByText('503').first().waitFor();
  await take(page, `delivery-${look}`);
  expect(await accessibilityViolations(page)).toEqual([]);

  await open(page, DASHBOARD_PATHS.coverage);
  await page.getByRole('button', { name: /TransferFinalized on Celo/ }).click();
  await page.getByLabel('Endpoint URL').fill('https://shop.example.com/hooks/paybell');
  await page.getByRole('dialog').getByLabel('Arbitrum One').check();
  await page.getByRole('dialog').getByLabel('LatePayment').check();
  await take(page, `register-${look}`);
  expect(await accessibilityViolations(page)).toEqual([]);
  expect(tab.errors).toEqual([]);
});

test('an open delivery on a phone', async () => {
  await using tab = await Tab.open(browser, stage, LOOKS.phone);
  const { deliveries } = await stage.client.deliveries.list({ status: 'retrying', limit: 1 });
  await tab.signIn(`/deliveries?delivery=${deliveries[0]?.deliveryId}`);
  await tab.page.getByRole('complementary', { name: 'Delivery details' }).getByText('503').first().waitFor();
  await take(tab.page, 'delivery-phone');
  expect(await accessibilityViolations(tab.page)).toEqual([]);
  expect(tab.errors).toEqual([]);
});

test.each(Object.keys(LOOKS))('the signature verifier finds what was altered in a real request, %s', async (look) => {
  await using tab = await Tab.open(browser, stage, LOOKS[look]);
  const { page } = tab;
  const request = stage.receiver.received.at(-1);
  const { secrets } = await stage.client.secrets.list();
  await tab.signIn('/secrets');
  const signed = [...(request?.headers ?? [])].filter(([name]) => name.startsWith('webhook-'));
  await page.getByLabel('Body', { exact: true }).fill(request?.body.replaceAll(',', ', ') ?? '');
  await page.getByLabel('Headers', { exact: true }).fill(signed.map(([name, value]) => `${name}: ${value}`).join('\n'));
  await page.getByLabel('Secret', { exact: true }).fill(secrets[0]?.secret ?? '');
  await page.getByRole('button', { name: 'Verify signature' }).click();
  await page.getByRole('heading', { name: 'Body was altered' }).waitFor();
  await page.locator('.verdict').evaluate((verdict) => verdict.scrollIntoView({ block: 'center' }));
  await take(page, `verifier-${look}`);
  expect(await accessibilityViolations(page)).toEqual([]);
  expect(tab.errors).toEqual([]);
});
