import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Browser } from 'playwright-core';
import type { NewApiKey } from '../../src/client/admin.ts';
import { Paybell } from '../../src/client/paybell.ts';
import { accessibilityViolations } from './support/axe.ts';
import { launchChromium } from './support/chromium.ts';
import { savePicture } from './support/pictures.ts';
import { type Stage, startStage } from './support/stage.ts';
import { Tab } from './support/tab.ts';

const ADMIN_KEY = 'operator-key-of-the-browser-tests-0002';

let browser: Browser;
let stage: Stage;
let operator: Paybell;

beforeAll(async () => {
  browser = await launchChromium();
  stage = await startStage({ ADMIN_KEY });
  operator = new Paybell({ url: stage.url, apiKey: ADMIN_KEY });
});

afterAll(async () => {
  await browser?.close();
  await stage?.[Symbol.asyncDispose]();
});

async function signInWith(tab: Tab, path: string, permissions: NonNullable<NewApiKey['permissions']>) {
  const { entityId } = stage.credentials;
  const { keyId, apiKey } = await operator.admin.createKey({ entityId, permissions });
  await tab.signIn(path, { credentials: { entityId, apiKey } });
  return keyId;
}

test('an unreachable server is reported, and the request can be repeated', async () => {
  await using tab = await Tab.open(browser, stage);
  const { page } = tab;
  await tab.signIn('/webhooks');
  await page.getByText('No webhooks yet').waitFor();
  await tab.context.setOffline(true);
  await page.getByLabel('Event', { exact: true }).selectOption('LatePayment');
  await page.getByRole('heading', { name: 'Cannot reach Paybell' }).waitFor();
  expect(await accessibilityViolations(page)).toEqual([]);
  await tab.context.setOffline(false);
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByText('No matching webhooks').waitFor();
  expect(tab.errorsExcept(/ERR_INTERNET_DISCONNECTED/)).toEqual([]);
});

test('a failing and an unreachable server are reported on events and in the settings, and the requests can be repeated', async () => {
  await using tab = await Tab.open(browser, stage);
  const { page } = tab;
  await tab.signIn('/webhooks');
  const problem = { type: 'about:blank', code: 'internal_error', title: 'Internal error', detail: 'Broken.' };
  const body = JSON.stringify({ ...problem, status: 500, requestId: 'req_1', errors: [] });
  for (const [path, request, shown] of [
    ['/events', /crypto\/events(\?|$)/, 'No events yet'],
    ['/settings', /crypto\/keys(\?|$)/, 'This session'],
    ['/settings?section=audit', /crypto\/audit(\?|$)/, 'Entity created'],
    ['/settings?section=alerts', /notice-url$/, 'Off'],
  ] as const) {
    await page.route(request, (route) => route.fulfill({ status: 500, contentType: 'application/problem+json', body }));
    await page.goto(path);
    await page.getByRole('heading', { name: 'Internal error' }).waitFor();
    // A poll would repeat the request before the button does.
    if (path === '/events') await page.getByRole('switch', { name: 'Live' }).click();
    expect(await accessibilityViolations(page)).toEqual([]);
    await savePicture(page, `failing ${path}`);
    await page.unroute(request);
    if (!path.includes('?')) {
      await tab.context.setOffline(true);
      await page.getByRole('button', { name: 'Try again' }).click();
      await page.getByRole('heading', { name: 'Cannot reach Paybell' }).waitFor();
      await savePicture(page, `offline ${path}`);
      await tab.context.setOffline(false);
    }
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.locator('main').getByText(shown, { exact: true }).locator('visible=true').first().waitFor();
  }
  expect(tab.errorsExcept(/status of 500|ERR_INTERNET_DISCONNECTED/)).toEqual([]);
});

test('a key without a permission sees its name, and the views that it can read', async () => {
  await using tab = await Tab.open(browser, stage);
  const { page } = tab;
  await signInWith(tab, '/webhooks', ['deliveries:read']);
  await page.getByRole('heading', { name: 'Permission required' }).waitFor();
  expect(await page.locator('main').textContent()).toContain('webhooks:read');
  await page.getByRole('link', { name: 'Coverage' }).click();
  await page.getByRole('heading', { name: 'Permission required' }).waitFor();
  await page.getByRole('link', { name: 'Deliveries' }).click();
  await page.getByText('No deliveries yet').waitFor();
  expect(await page.locator('main').textContent()).not.toContain('Permission required');
  expect(tab.errorsExcept(/status of 403/)).toEqual([]);
});

test('a revoked key returns to the sign-in form with the reason', async () => {
  await using tab = await Tab.open(browser, stage);
  const { page } = tab;
  const keyId = await signInWith(tab, '/webhooks', ['webhooks:read']);
  await page.getByText('No webhooks yet').waitFor();
  await operator.admin.revokeKey(keyId);
  await page.getByLabel('Event', { exact: true }).selectOption('LatePayment');
  await page.getByText('This API key is no longer valid').waitFor();
  expect(await page.evaluate('sessionStorage.length + localStorage.length')).toBe(0);
  expect(tab.errorsExcept(/status of 401/)).toEqual([]);
});
