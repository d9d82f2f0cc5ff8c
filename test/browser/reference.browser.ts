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

/** Browsers request a favicon, and the reference has none. */
const ICON = /favicon|status of 404/;

test('the reference shows every operation and sends a request without violating its content security policy', async () => {
  await using tab = await Tab.open(browser, stage);
  await tab.page.goto('/docs');
  const operations = tab.page.locator('.opblock');
  await operations.first().waitFor();
  const { paths } = (await (await fetch(`${stage.url}/openapi.json`)).json()) as { paths: Record<string, object> };
  const documented = Object.values(paths).reduce((sum, methods) => sum + Object.keys(methods).length, 0);
  expect(await operations.count()).toBe(documented);
  await operations.first().click();
  await tab.page.locator('.opblock.is-open .execute').click();
  // The request has no key, so the response must be 401.
  await tab.page.locator('.opblock.is-open .live-responses-table .response-col_status', { hasText: '401' }).waitFor();
  expect(tab.errorsExcept(ICON).filter((error) => !error.includes('status of 401'))).toEqual([]);
});

test.each(['light', 'dark'] as const)(
  'in %s colours every text has enough contrast, and no server is to be chosen',
  async (scheme) => {
    await using tab = await Tab.open(browser, stage);
    await tab.page.emulateMedia({ colorScheme: scheme });
    await tab.page.goto('/docs');
    await tab.page.locator('.opblock-get').first().click();
    await tab.page.locator('.opblock.is-open .execute').waitFor();
    const className = await tab.page.evaluate('document.documentElement.className');
    expect(className).toBe(scheme === 'dark' ? 'dark-mode' : '');
    expect(await tab.page.locator('.servers select').count()).toBe(0);
    const violations = await accessibilityViolations(tab.page);
    expect(violations.filter((violation) => violation.includes('color-contrast'))).toEqual([]);
  },
);
