import { expect, test } from 'bun:test';
import type { Browser, Page } from 'playwright-core';
import { Paybell } from '../../src/client/paybell.ts';
import { until } from '../support/until.ts';
import { accessibilityViolations } from './support/axe.ts';
import { ADMIN_KEY, withFreshStage } from './support/fresh-stage.ts';
import { savePicture } from './support/pictures.ts';
import { shows } from './support/shown.ts';
import type { Stage } from './support/stage.ts';
import { Tab } from './support/tab.ts';

/** The page of one endpoint. */

let browser: Browser;
let stage: Stage;

withFreshStage({ RETRY_SCHEDULE: '1ms' }, (newBrowser, newStage) => {
  [browser, stage] = [newBrowser, newStage];
});

async function newEndpoint(path = 'hook'): Promise<string> {
  const { client, receiver } = stage;
  const postUrl = `${receiver.url}/${path}`;
  await client.webhooks.register({ postUrl, networkIds: [1, 10], events: ['LatePayment'] });
  const { endpoints } = await client.endpoints.list({ postUrl });
  return endpoints[0]?.endpointId ?? '';
}

const tile = (page: Page, name: string) => page.locator('.tile', { hasText: name });

test('counts and lists what was sent to this endpoint alone, and sends what failed there again', async () => {
  const { client, receiver } = stage;
  const endpointId = await newEndpoint();
  await newEndpoint('another');
  receiver.respondWith(500);
  await client.events.publish({ event: 'LatePayment', networkId: 1 });
  await client.events.publish({ event: 'LatePayment', networkId: 10 });
  await until('all have failed', async () => (await client.deliveries.counts()).failed === 4);
  await using tab = await Tab.open(browser, stage);
  const { page } = tab;
  await tab.signIn('/endpoints');
  await page.getByRole('link', { name: `${receiver.url}/hook` }).click();
  await page.getByRole('heading', { name: `${receiver.url}/hook`, level: 1 }).waitFor();
  expect(page.url()).toEndWith(`/endpoints/${endpointId}`);
  await page.locator('.endpoint-condition', { hasText: 'HTTP 500' }).waitFor();
  expect(await tile(page, 'Failed permanently').locator('.tile-value').textContent()).toBe('2');
  await until('both are listed', async () => (await page.locator('.endpoint-deliveries tbody tr').count()) === 2);
  const chart = page.locator('.chart', { hasText: 'Deliveries and failed attempts per hour' });
  await chart.getByText('View as table').click();
  await until('the failed attempts are drawn', async () =>
    /Failed attempts[\s\S]*\d/.test(await chart.locator('table').innerText()),
  );
  await page.locator('.chart', { hasText: 'Delivery latency' }).waitFor();
  await savePicture(page, 'endpoint failing');

  receiver.respondWith(200);
  await page.getByRole('button', { name: 'Resend failed' }).click();
  const dialog = page.getByRole('dialog', { name: 'Bulk resend' });
  expect(await dialog.getByLabel('Endpoint ID').inputValue()).toBe(endpointId);
  await dialog.getByRole('button', { name: 'Resend 2' }).click();
  await page.getByText('Bulk resend finished').waitFor();
  await until(
    'both are delivered',
    async () => (await tile(page, 'Delivered').locator('.tile-value').textContent()) === '2',
  );
  expect((await client.deliveries.counts()).failed).toBe(2);

  await tile(page, 'Delivered').getByRole('link', { name: '2 delivered' }).click();
  await until('they are listed', async () => (await page.locator('.pager strong').textContent()) === '2');
  expect(page.url()).toEndWith(`/deliveries?endpointId=${endpointId}&status=delivered`);
  expect(tab.errors).toEqual([]);
});

test('is paused and resumed, shows its settings, and rotates a secret of its own', async () => {
  const { client } = stage;
  const endpointId = await newEndpoint();
  await client.endpoints.update(endpointId, {
    ...{ name: 'Billing', ordering: 'agreement', rateLimit: 50, secret: 'own' },
    headers: { authorization: 'Bearer not-shown' },
  });
  await using tab = await Tab.open(browser, stage);
  const { page } = tab;
  await tab.signIn(`/endpoints/${endpointId}`);
  await page.getByRole('heading', { name: 'Billing', level: 1 }).waitFor();
  const settings = page.locator('.section-card', { hasText: 'Settings' });
  for (const text of ['By agreement', '50 requests per second', 'authorization'])
    await settings.getByText(text).waitFor();
  expect(await page.content()).not.toContain('not-shown');
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.locator('.endpoint-condition', { hasText: 'Paused' }).waitFor();
  await client.events.publish({ event: 'LatePayment', networkId: 1 });
  await until('it is held', async () => (await tile(page, 'Waiting').textContent())?.includes('1 held') ?? false);
  await page.getByRole('button', { name: 'Resume' }).click();
  await until('it arrives', () => stage.receiver.received.length === 1);

  await page.getByRole('button', { name: 'Rotate secret' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Rotate secret' }).click();
  await page.getByRole('dialog', { name: 'New secret is active' }).getByText('whsec_').waitFor();
  await page.getByRole('button', { name: 'Done' }).click();
  await until('both are listed', async () => (await page.locator('.secret-id').count()) === 2);
  expect((await client.endpoints.secrets(endpointId)).totalResults).toBe(2);
  expect(tab.errors).toEqual([]);
});

test('lists its webhooks with their state, and resumes a suspended one', async () => {
  const { client, receiver } = stage;
  const endpointId = await newEndpoint();
  receiver.respondWith(410);
  await client.events.publish({ event: 'LatePayment', networkId: 10 });
  await until('one is suspended', async () => (await client.endpoints.get(endpointId)).suspendedWebhooks === 1);
  receiver.respondWith(200);
  for (const look of [
    { theme: 'light', width: 1920 },
    { theme: 'dark', width: 1024 },
    { theme: 'dark', width: 390 },
  ] as const) {
    await using tab = await Tab.open(browser, stage, { ...look, height: 900 });
    await tab.signIn(`/endpoints/${endpointId}`);
    await tab.page.getByRole('button', { name: 'Resume LatePayment on network 10' }).waitFor();
    await tab.page.locator('.endpoint-deliveries').waitFor();
    expect(await accessibilityViolations(tab.page)).toEqual([]);
    expect(await tab.page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    await savePicture(tab.page, `endpoint suspended ${look.theme} ${look.width}`);
    expect(tab.errors).toEqual([]);
  }
  await using tab = await Tab.open(browser, stage);
  await tab.signIn(`/endpoints/${endpointId}`);
  await tab.page.getByRole('button', { name: 'Resume LatePayment on network 10' }).click();
  await until('none is suspended', async () => (await client.endpoints.get(endpointId)).suspendedWebhooks === 0);
  await tab.page.locator('tr', { hasText: 'OP Mainnet' }).getByText('Active').waitFor();
  expect(tab.errors).toEqual([]);
});

test('keeps what it shows while the server cannot be reached, and says so once', async () => {
  const endpointId = await newEndpoint();
  await stage.client.events.publish({ event: 'LatePayment', networkId: 1 });
  await until('it arrives', () => stage.receiver.received.length === 1);
  await using tab = await Tab.open(browser, stage);
  const { page } = tab;
  await tab.signIn(`/endpoints/${endpointId}`);
  const rows = () => page.locator('.section tbody tr').count();
  await until('one delivery and two webhooks are shown', async () => (await rows()) === 3);
  await tile(page, 'Delivered').waitFor();
  await page.route('**/api/**', (route) => route.abort());
  const failed = page.waitForEvent('requestfailed', (request) => request.url().includes('/webhooks'));
  await page.getByText('Cannot reach Paybell').waitFor();
  await failed;
  await shows(page.getByText('Cannot reach Paybell'), 1);
  expect(await rows()).toBe(3);
  await shows(tile(page, 'Delivered'), 1);
  await page.unroute('**/api/**');
  await page.getByText('Cannot reach Paybell').waitFor({ state: 'detached' });
  expect(tab.errorsExcept(/ERR_FAILED/)).toEqual([]);
});

test('that does not exist says so, and a key without deliveries:read sees the rest', async () => {
  const endpointId = await newEndpoint();
  await using tab = await Tab.open(browser, stage);
  const { page } = tab;
  await tab.signIn('/endpoints/ep_ffffffffffffff');
  await page.getByText('There is no endpoint with this id.').waitFor();
  await page.getByRole('button', { name: 'Sign out' }).click();
  const { entityId } = stage.credentials;
  const operator = new Paybell({ url: stage.url, apiKey: ADMIN_KEY });
  const { apiKey } = await operator.admin.createKey({ entityId, permissions: ['webhooks:read'] });
  await tab.signIn(`/endpoints/${endpointId}`, { credentials: { entityId, apiKey } });
  await page.getByRole('heading', { name: 'Webhooks', level: 2 }).waitFor();
  await page.getByText('Deliveries are not shown').first().waitFor();
  expect(await accessibilityViolations(page)).toEqual([]);
  expect(tab.errorsExcept(/status of 40[34]/)).toEqual([]);
});
