import { afterAll, beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { DASHBOARD_PATHS, type ViewName } from '../../src/dashboard/paths.ts';
import { accessibilityFaults } from './support/axe.ts';
import { launchChromium } from './support/chromium.ts';
import { setScenery } from './support/scenery.ts';
import { type Stage, setStage } from './support/stage.ts';
import { type Look, Tab } from './support/tab.ts';

/**
 * Every view in every look, full of real data. The pictures are kept only where `PICTURES` names a folder
 * (`npm run pictures`, which lives through a while first), so that an ordinary run is short and leaves the checkout as it is.
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
let scenery: AsyncDisposable;

beforeAll(
  async () => {
    browser = await launchChromium();
    stage = await setStage();
    scenery = await setScenery(stage, MINUTES);
  },
  (MINUTES + 2) * 60_000,
);

afterAll(async () => {
  await browser?.close();
  await stage?.[Symbol.asyncDispose]();
  await scenery?.[Symbol.asyncDispose]();
});

async function take(page: Page, name: string): Promise<void> {
  // Views that poll are never idle for long; this is long enough for what they ask at first.
  await page.waitForTimeout(700);
  const picture = await page.screenshot();
  expect(picture.length).toBeGreaterThan(5_000);
  if (FOLDER !== undefined) await Bun.write(join(FOLDER, `page-${name}.png`), picture);
}

async function open(page: Page, address: string): Promise<void> {
  await page.goto(address);
  await page.locator('main h1').waitFor();
  await page.locator('.loading').first().waitFor({ state: 'detached' });
}

test.each(Object.keys(LOOKS))('every view is drawn in the look %s, without a fault', async (look) => {
  await using tab = await Tab.open(browser, stage, LOOKS[look]);
  await tab.page.goto('/');
  await tab.page.getByRole('heading', { name: 'Sign in to Paybell' }).waitFor();
  await take(tab.page, `sign-in-${look}`);
  await tab.signIn('/');
  for (const view of VIEWS) {
    await open(tab.page, DASHBOARD_PATHS[view]);
    await take(tab.page, `${view}-${look}`);
    expect(await accessibilityFaults(tab.page)).toEqual([]);
  }
  expect(tab.faults).toEqual([]);
});

test.each(['light', 'dark'])(
  'one delivery stands open beside the list, and the form to register in front of it, %s',
  async (look) => {
    await using tab = await Tab.open(browser, stage, LOOKS[look]);
    const { page } = tab;
    const { deliveries } = await stage.client.deliveries.list({ status: 'retrying', limit: 1 });
    await tab.signIn(`/deliveries?delivery=${deliveries[0]?.deliveryId}`);
    await page.getByRole('complementary', { name: 'The opened delivery' }).getByText('503').first().waitFor();
    await take(page, `delivery-${look}`);
    expect(await accessibilityFaults(page)).toEqual([]);

    await open(page, DASHBOARD_PATHS.coverage);
    await page.getByRole('button', { name: /TransferFinalized on Celo/ }).click();
    await page.getByLabel('Post to').fill('https://shop.example.com/hooks/paybell');
    await page.getByRole('dialog').getByLabel('Arbitrum One').check();
    await page.getByRole('dialog').getByLabel('LatePayment').check();
    await take(page, `register-${look}`);
    expect(await accessibilityFaults(page)).toEqual([]);
    expect(tab.faults).toEqual([]);
  },
);

test('one delivery stands open on a phone', async () => {
  await using tab = await Tab.open(browser, stage, LOOKS.phone);
  const { deliveries } = await stage.client.deliveries.list({ status: 'retrying', limit: 1 });
  await tab.signIn(`/deliveries?delivery=${deliveries[0]?.deliveryId}`);
  await tab.page.getByRole('complementary', { name: 'The opened delivery' }).getByText('503').first().waitFor();
  await take(tab.page, 'delivery-phone');
  expect(await accessibilityFaults(tab.page)).toEqual([]);
  expect(tab.faults).toEqual([]);
});

test.each(Object.keys(LOOKS))('the tester finds what was altered in a real post, %s', async (look) => {
  await using tab = await Tab.open(browser, stage, LOOKS[look]);
  const { page } = tab;
  const post = stage.receiver.received.at(-1);
  const { secrets } = await stage.client.secrets.list();
  await tab.signIn('/secrets');
  const signed = [...(post?.headers ?? [])].filter(([name]) => name.startsWith('webhook-'));
  await page.getByLabel('Body', { exact: true }).fill(post?.body.replaceAll(',', ', ') ?? '');
  await page.getByLabel('Headers', { exact: true }).fill(signed.map(([name, value]) => `${name}: ${value}`).join('\n'));
  await page.getByLabel('Secret', { exact: true }).fill(secrets[0]?.secret ?? '');
  await page.getByRole('button', { name: 'Check the signature' }).click();
  await page.getByRole('heading', { name: 'Altered body' }).waitFor();
  await page.locator('.verdict').evaluate((verdict) => verdict.scrollIntoView({ block: 'center' }));
  await take(page, `tester-${look}`);
  expect(await accessibilityFaults(page)).toEqual([]);
  expect(tab.faults).toEqual([]);
});
