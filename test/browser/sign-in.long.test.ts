import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Browser } from 'playwright-core';
import { accessibilityViolations } from './support/axe.ts';
import { findChromium, launchChromium } from './support/chromium.ts';
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

test('without Chromium the tests say what to install', () => {
  expect(() => findChromium(undefined, () => false)).toThrow(/apt-get install chromium.*CHROMIUM_PATH/);
  expect(() => findChromium('/nowhere/chromium', () => false)).toThrow('/nowhere/chromium');
});

test('a wrong key is rejected with the reason and not stored', async () => {
  await using tab = await Tab.open(browser, stage);
  await tab.page.goto('/');
  await tab.page.getByLabel('Entity ID').fill(stage.credentials.entityId);
  await tab.page.getByLabel('API key').fill('pbk_wrong');
  await tab.page.getByRole('button', { name: 'Sign in' }).click();
  await tab.page.getByRole('alert').waitFor();
  expect(await tab.page.getByRole('alert').textContent()).toContain('The api-key is not valid');
  expect(await tab.page.evaluate('sessionStorage.length + localStorage.length')).toBe(0);
  expect(tab.errorsExcept(/status of 401/)).toEqual([]);
});

test('a link to a view opens it after signing in', async () => {
  await using tab = await Tab.open(browser, stage);
  await tab.signIn('/webhooks?networkId=8453&sortBy=postUrl&sortDir=asc');
  expect(new URL(tab.page.url()).search).toBe('?networkId=8453&sortBy=postUrl&sortDir=asc');
  expect(await tab.page.getByLabel('Network', { exact: true }).inputValue()).toBe('8453');
  expect(await tab.page.title()).toBe('Webhooks · Paybell');
  expect(tab.errors).toEqual([]);
});

test('a session lasts until its tab is closed, and a remembered one until sign-out', async () => {
  await using tab = await Tab.open(browser, stage);
  await tab.signIn();
  await tab.page.reload();
  await tab.page.getByRole('heading', { name: 'Webhooks', level: 1 }).waitFor();
  const other = await tab.context.newPage();
  await other.goto('/webhooks');
  await other.getByRole('heading', { name: 'Sign in to Paybell' }).waitFor();

  await tab.page.getByRole('button', { name: 'Sign out' }).click();
  await tab.signIn('/webhooks', { remember: true });
  // The tab that was open shows the session without a reload, and a new one does not ask.
  await other.getByRole('heading', { name: 'Webhooks', level: 1 }).waitFor();
  const third = await tab.context.newPage();
  await third.goto('/secrets');
  await third.getByRole('heading', { name: 'Secrets', level: 1 }).waitFor();

  await tab.page.getByRole('button', { name: 'Sign out' }).click();
  await other.getByRole('heading', { name: 'Sign in to Paybell' }).waitFor();
  await third.getByRole('heading', { name: 'Sign in to Paybell' }).waitFor();
  expect(await tab.page.evaluate('sessionStorage.length + localStorage.length')).toBe(0);
  expect(tab.errors).toEqual([]);
});

test('the form works by keyboard alone and has no accessibility violation, in either theme', async () => {
  for (const theme of ['light', 'dark'] as const) {
    await using tab = await Tab.open(browser, stage, { theme });
    await tab.page.goto('/');
    await tab.page.getByLabel('Entity ID').waitFor();
    expect(await accessibilityViolations(tab.page)).toEqual([]);
    expect(await tab.page.evaluate('document.activeElement.name')).toBe('entityId');
    await tab.page.keyboard.type(stage.credentials.entityId);
    await tab.page.keyboard.press('Tab');
    await tab.page.keyboard.type(stage.credentials.apiKey);
    await tab.page.keyboard.press('Enter');
    await tab.page.getByRole('navigation', { name: 'Views' }).waitFor();
  }
});
