import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Browser } from 'playwright-core';
import { Paybell } from '../../src/client/paybell.ts';
import type { NewApiKey } from '../../src/client/types.ts';
import { accessibilityFaults } from './support/axe.ts';
import { launchChromium } from './support/chromium.ts';
import { type Stage, setStage } from './support/stage.ts';
import { Tab } from './support/tab.ts';

const ADMIN_KEY = 'operator-key-of-the-browser-tests-0002';

let browser: Browser;
let stage: Stage;
let operator: Paybell;

beforeAll(async () => {
  browser = await launchChromium();
  stage = await setStage({ ADMIN_KEY });
  operator = new Paybell({ url: stage.url, apiKey: ADMIN_KEY });
});

afterAll(async () => {
  await browser?.close();
  await stage?.[Symbol.asyncDispose]();
});

async function signInWith(tab: Tab, address: string, permissions: NonNullable<NewApiKey['permissions']>) {
  const { entityId } = stage.credentials;
  const { keyId, apiKey } = await operator.admin.createKey({ entityId, permissions });
  await tab.signIn(address, { credentials: { entityId, apiKey } });
  return keyId;
}

test('a server that cannot be reached is named, and asked again on demand', async () => {
  await using tab = await Tab.open(browser, stage);
  const { page } = tab;
  await tab.signIn('/webhooks');
  await page.getByText('Nobody is told anything yet').waitFor();
  await tab.context.setOffline(true);
  await page.getByLabel('Event', { exact: true }).selectOption('LatePayment');
  await page.getByRole('heading', { name: 'Paybell cannot be reached' }).waitFor();
  expect(await accessibilityFaults(page)).toEqual([]);
  await tab.context.setOffline(false);
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByText('No webhook matches').waitFor();
  expect(tab.faultsBut(/ERR_INTERNET_DISCONNECTED/)).toEqual([]);
});

test('a key that may not read a view gets the name of the permission, and the views that it may read', async () => {
  await using tab = await Tab.open(browser, stage);
  const { page } = tab;
  await signInWith(tab, '/webhooks', ['deliveries:read']);
  await page.getByRole('heading', { name: 'This key may not see this' }).waitFor();
  expect(await page.locator('main').textContent()).toContain('webhooks:read');
  await page.getByRole('link', { name: 'Coverage' }).click();
  await page.getByRole('heading', { name: 'This key may not see this' }).waitFor();
  await page.getByRole('link', { name: 'Deliveries' }).click();
  await page.getByText('Nothing has been sent yet').waitFor();
  expect(await page.locator('main').textContent()).not.toContain('may not see');
  expect(tab.faultsBut(/status of 403/)).toEqual([]);
});

test('a key that is revoked meanwhile leads back to the form, with the reason', async () => {
  await using tab = await Tab.open(browser, stage);
  const { page } = tab;
  const keyId = await signInWith(tab, '/webhooks', ['webhooks:read']);
  await page.getByText('Nobody is told anything yet').waitFor();
  await operator.admin.revokeKey(keyId);
  await page.getByLabel('Event', { exact: true }).selectOption('LatePayment');
  await page.getByText('The key is no longer accepted').waitFor();
  expect(await page.evaluate('sessionStorage.length + localStorage.length')).toBe(0);
  expect(tab.faultsBut(/status of 401/)).toEqual([]);
});
