import { afterAll, beforeAll, beforeEach } from 'bun:test';
import type { Browser } from 'playwright-core';
import { launchChromium } from './chromium.ts';
import { type Stage, setStage } from './stage.ts';

/** The one that may do everything, for tests that need a key with less. */
export const ADMIN_KEY = 'operator-key-of-the-browser-tests-0001';

/** One browser for the file, and for each test a service and a receiver that nobody has used. */
export function onFreshStage(
  settings: Record<string, string>,
  take: (browser: Browser, stage: Stage) => void | Promise<void>,
): void {
  let browser: Browser | undefined;
  let stage: Stage | undefined;

  beforeAll(async () => {
    browser = await launchChromium();
  });

  beforeEach(async () => {
    await stage?.[Symbol.asyncDispose]();
    stage = await setStage({ ADMIN_KEY, ...settings });
    if (browser !== undefined) await take(browser, stage);
  });

  afterAll(async () => {
    await browser?.close();
    await stage?.[Symbol.asyncDispose]();
  });
}
