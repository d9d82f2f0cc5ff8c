import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Browser } from 'playwright-core';
import { accessibilityViolations } from './support/axe.ts';
import { launchChromium } from './support/chromium.ts';
import { type Stage, startStage } from './support/stage.ts';
import { Tab } from './support/tab.ts';

let browser: Browser;
let stage: Stage;

beforeAll(async () => {
  browser = await launchChromium();
  stage = await startStage();
});

afterAll(async () => {
  await browser?.close();
  await stage?.[Symbol.asyncDispose]();
});

type Document = { paths: Record<string, object>; webhooks: Record<string, object> };

/** Browsers request a favicon, and the reference has none. */
const ICON = /favicon|status of 404/;

test('the reference shows every operation and every outgoing request, and sends a request without violating its content security policy', async () => {
  await using tab = await Tab.open(browser, stage);
  await tab.page.goto('/docs');
  const operations = tab.page.locator('.opblock');
  await operations.first().waitFor();
  const { paths, webhooks } = (await (await fetch(`${stage.url}/openapi.json`)).json()) as Document;
  const items = [...Object.values(paths), ...Object.values(webhooks)];
  const documented = items.reduce((sum, methods) => sum + Object.keys(methods).length, 0);
  expect(await operations.count()).toBe(documented);
  await operations.first().click();
  await tab.page.locator('.opblock.is-open .execute').click();
  // The request has no key, so the response must be 401.
  await tab.page.locator('.opblock.is-open .live-responses-table .response-col_status', { hasText: '401' }).waitFor();
  expect(tab.errorsExcept(ICON).filter((error) => !error.includes('status of 401'))).toEqual([]);
});

/** Of the middle of the page, as the browser has computed it: 0 is black, 765 is white. */
const BRIGHTNESS = `(() => {
  const colourOf = (element) => getComputedStyle(element).backgroundColor.match(/[\\d.]+/g).map(Number);
  const isPainted = ([, , , alpha = 1]) => alpha > 0;
  const painted = [document.body, document.documentElement].map(colourOf).find(isPainted) ?? [255, 255, 255];
  return painted[0] + painted[1] + painted[2];
})()`;

const isSerious = (violation: string) => /^(serious|critical) /.test(violation);

test.each(['light', 'dark'] as const)(
  'in %s colours it is so, and has no serious barrier, also with operations open',
  async (scheme) => {
    await using tab = await Tab.open(browser, stage, { theme: scheme });
    await tab.page.goto('/docs');
    await tab.page.locator('.opblock').first().waitFor();
    const brightness = Number(await tab.page.evaluate(BRIGHTNESS));
    expect(scheme === 'dark' ? brightness < 150 : brightness > 600).toBe(true);
    expect(await tab.page.locator('.servers select').count()).toBe(0);
    // These two have every kind of input; more of them would take minutes.
    for (const method of ['put', 'delete']) {
      const operation = tab.page.locator(`.opblock-${method}`).first();
      await operation.locator('.opblock-summary-control').click();
      await operation.locator('.execute').waitFor();
    }
    expect((await accessibilityViolations(tab.page)).filter(isSerious)).toEqual([]);
  },
);

test.each(['light', 'dark'] as const)('a mistyped address is a page in %s colours that leads on', async (theme) => {
  await using tab = await Tab.open(browser, stage, { theme });
  const response = await tab.page.goto('/deliverys');
  expect(response?.status()).toBe(404);
  await tab.page.getByRole('heading', { name: 'Page not found' }).waitFor();
  expect(await accessibilityViolations(tab.page)).toEqual([]);
  const brightness = Number(await tab.page.evaluate(BRIGHTNESS));
  expect(theme === 'dark' ? brightness < 150 : brightness > 600).toBe(true);
  await tab.page.getByRole('link', { name: 'Overview' }).click();
  await tab.page.getByLabel('Entity ID').waitFor();
  expect(tab.errorsExcept(ICON)).toEqual([]);
});
