import { afterAll, beforeAll, beforeEach } from 'bun:test';
import type { Browser } from 'playwright-core';
import { launchChromium } from './chromium.ts';
import { type Stage, startStage } from './stage.ts';

/** The operator's key, for tests that create API keys with fewer permissions. */
export const ADMIN_KEY = 'operator-key-of-the-browser-tests-0001';

/** Starts one browser for the file, and a new service and receiver for each test. */
export function withFreshStage(
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
    stage = await startStage({ ADMIN_KEY, ...settings });
    if (browser !== undefined) await take(browser, stage);
  });

  afterAll(async () => {
    await browser?.close();
    await stage?.[Symbol.asyncDispose]();
  });
}
