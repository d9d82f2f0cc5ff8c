import { afterAll, beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { PAGE_PATHS, type ViewName } from '../../src/page/paths.ts';
import { accessibilityFaults } from './support/axe.ts';
import { launchChromium } from './support/chromium.ts';
import { setScenery } from './support/scenery.ts';
import { type Stage, setStage } from './support/stage.ts';
import { type Look, Tab } from './support/tab.ts';

/**
 * Every view in every look, full of real data. The pictures are kept only where `PICTURES` names a folder
 * (`npm run pictures`), so that an ordinary run leaves the checkout as it is.
 */

const LOOKS: Readonly<Record<string, Look>> = {
  light: { theme: 'light', width: 1280, height: 800, scale: 1.5 },
  dark: { theme: 'dark', width: 1280, height: 800, scale: 1.5 },
  phone: { theme: 'light', width: 390, height: 844, scale: 2 },
};

const FOLDER = process.env.PICTURES;

let browser: Browser;
let stage: Stage;

beforeAll(async () => {
  browser = await launchChromium();
  stage = await setStage();
  await setScenery(stage);
}, 120_000);

afterAll(async () => {
  await browser?.close();
  await stage?.[Symbol.asyncDispose]();
});

async function take(page: Page, name: string): Promise<void> {
  await page.waitForLoadState('networkidle');
  const picture = await page.screenshot();
  expect(picture.length).toBeGreaterThan(5_000);
  if (FOLDER !== undefined) await Bun.write(join(FOLDER, `page-${name}.png`), picture);
}

test.each(Object.keys(LOOKS))('every view is drawn in the look %s, without a fault', async (look) => {
  await using tab = await Tab.open(browser, stage, LOOKS[look]);
  await tab.page.goto('/');
  await tab.page.getByRole('heading', { name: 'Sign in to Paybell' }).waitFor();
  await take(tab.page, `sign-in-${look}`);
  await tab.signIn('/');
  for (const view of Object.keys(PAGE_PATHS) as ViewName[]) {
    await tab.page.goto(PAGE_PATHS[view]);
    await tab.page.locator('main h1').waitFor();
    await tab.page.locator('.loading').waitFor({ state: 'detached' });
    await take(tab.page, `${view}-${look}`);
    expect(await accessibilityFaults(tab.page)).toEqual([]);
  }
  expect(tab.faults).toEqual([]);
});
