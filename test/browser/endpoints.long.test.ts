import { describe, expect, test } from 'bun:test';
import type { Browser, Page } from 'playwright-core';
import { until } from '../support/until.ts';
import { accessibilityViolations } from './support/axe.ts';
import { withFreshStage } from './support/fresh-stage.ts';
import type { Stage } from './support/stage.ts';
import { Tab } from './support/tab.ts';

let browser: Browser;
let stage: Stage;

withFreshStage({}, (newBrowser, newStage) => {
  [browser, stage] = [newBrowser, newStage];
});

const rows = (page: Page) => page.locator('table.endpoints tbody tr');
const total = (page: Page) => page.locator('.pager strong').textContent();

/** Thirty URLs to filter, sort and page through; the first has two webhooks. */
async function registerThirty(): Promise<void> {
  const { client, receiver } = stage;
  for (let index = 0; index < 30; index++) {
    const postUrl = `${receiver.url}/hooks/${String(index).padStart(2, '0')}`;
    const networkIds = index === 0 ? [1, 10] : [1];
    await client.webhooks.register({ postUrl, networkIds, events: ['LatePayment'] });
  }
}

async function onlyEndpoint() {
  const { client, receiver } = stage;
  const postUrl = `${receiver.url}/hook`;
  await client.webhooks.register({ postUrl, networkIds: [1, 10], events: ['LatePayment'] });
  const { endpoints } = await client.endpoints.list();
  return { postUrl, endpointId: endpoints[0]?.endpointId ?? '' };
}

describe('the list of endpoints', () => {
  test('filters, sorts and paginates with exact totals, and the URL holds it all', async () => {
    await registerThirty();
    await using tab = await Tab.open(browser, stage);
    const { page } = tab;
    await tab.signIn('/endpoints');
    await until('the first page is shown', async () => (await rows(page).count()) === 25);
    expect(await total(page)).toBe('30');
    expect(await rows(page).first().textContent()).toContain('/hooks/00');
    expect(await rows(page).first().textContent()).toContain('2 webhooks');
    expect(await page.locator('th[aria-sort=ascending]').textContent()).toContain('Endpoint URL');

    await page.getByRole('button', { name: 'Next page' }).click();
    await until('the second page is shown', async () => (await rows(page).count()) === 5);
    await page.getByRole('button', { name: 'Endpoint URL' }).click();
    await until('Z is first', async () => (await rows(page).first().textContent())?.includes('/hooks/29') ?? false);
    expect(page.url()).toEndWith('sortBy=postUrl&sortDir=desc');

    await page.getByLabel('URL begins with').fill(`${stage.receiver.url}/hooks/1`);
    await page.keyboard.press('Enter');
    await until('the list is filtered', async () => (await total(page)) === '10');
    await page.getByLabel('State', { exact: true }).selectOption('paused');
    await page.getByRole('button', { name: 'Show all endpoints' }).click();
    await until('all are shown', async () => (await total(page)) === '30');
    expect(tab.errors).toEqual([]);
  });

  test('says what to do while it is empty, and reports an invalid parameter', async () => {
    await using tab = await Tab.open(browser, stage);
    await tab.signIn('/endpoints');
    await tab.page.getByText('No endpoints yet').waitFor();
    expect(await accessibilityViolations(tab.page)).toEqual([]);
    await tab.page.getByRole('link', { name: 'Go to webhooks' }).click();
    await tab.page.getByText('No webhooks yet').waitFor();
    await tab.page.goto('/endpoints?state=off');
    await tab.page.getByRole('alert').waitFor();
    expect(await tab.page.getByRole('alert').textContent()).toContain('state must be one of');
    expect(tab.errorsExcept(/status of 400/)).toEqual([]);
  });
});

describe('an endpoint', () => {
  test('is paused and resumed, and shows what waits', async () => {
    const { client } = stage;
    const { endpointId } = await onlyEndpoint();
    await using tab = await Tab.open(browser, stage);
    const { page } = tab;
    await tab.signIn('/endpoints');
    await page.getByRole('button', { name: /^Pause / }).click();
    await page.locator('tr.row-warning').waitFor();
    await page.getByText('held until you resume it. Nothing is lost.').waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.locator('tr.row-good').waitFor();
    await page.getByRole('button', { name: /^Pause / }).click();
    await page.locator('tr.row-warning').waitFor();
    await client.events.publish({ event: 'LatePayment', networkId: 1 });
    await client.events.publish({ event: 'LatePayment', networkId: 10 });
    await until('two wait', async () => (await page.locator('td.column-waiting').first().textContent()) === '2');
    expect(stage.receiver.received).toHaveLength(0);
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.getByRole('button', { name: /^Resume / }).click();
    await until('both arrive', () => stage.receiver.received.length === 2);
    expect(await client.endpoints.get(endpointId)).toMatchObject({ state: 'active' });
    await until('none waits', async () => (await page.locator('td.column-waiting').first().textContent()) === '0');
    expect(tab.errors).toEqual([]);
  });

  test('gets a name, an order, a rate limit, a secret and a header, whose value is sent and never shown', async () => {
    const { client } = stage;
    const { endpointId } = await onlyEndpoint();
    await using tab = await Tab.open(browser, stage);
    const { page } = tab;
    await tab.signIn('/endpoints');
    await page.getByRole('button', { name: /^Edit settings of/ }).click();
    const dialog = page.getByRole('dialog', { name: 'Endpoint settings' });
    await dialog.getByLabel('Name', { exact: true }).fill('Billing');
    await dialog.getByLabel('Ordering').selectOption('agreement');
    await dialog.getByLabel('Rate limit').fill('many');
    await dialog.getByLabel('Signing secret').selectOption('own');
    await dialog.getByLabel('Header name').fill('authorization');
    await dialog.getByLabel('Header value').fill('Bearer not-shown');
    expect(await accessibilityViolations(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText('must be a whole number of requests per second').waitFor();
    await dialog.getByLabel('Rate limit').fill('50');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByText('2 webhooks · ordered by agreement · 50 requests/s · 1 header · own secret').waitFor();
    expect(await client.endpoints.get(endpointId)).toMatchObject({
      name: 'Billing',
      ordering: 'agreement',
      rateLimit: 50,
      secret: 'own',
      headerNames: ['authorization'],
    });
    await client.events.publish({ event: 'LatePayment', networkId: 1 });
    await until('the event arrives', () => stage.receiver.received.length === 1);
    expect(stage.receiver.received[0]?.headers.get('authorization')).toBe('Bearer not-shown');

    await page.getByRole('button', { name: 'Edit settings of Billing' }).click();
    expect(await page.content()).not.toContain('not-shown');
    await dialog.getByLabel('Remove the header authorization').check();
    await dialog.getByLabel('Rate limit').fill('');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    // What was not changed stays.
    expect(await client.endpoints.get(endpointId)).toMatchObject({
      name: 'Billing',
      ordering: 'agreement',
      rateLimit: null,
      secret: 'own',
      headerNames: [],
    });
    expect(tab.errorsExcept(/status of 400/)).toEqual([]);
  });

  test('is marked while requests to it fail, and when a webhook of it is suspended', async () => {
    const { client, receiver } = stage;
    await onlyEndpoint();
    receiver.respondWith(500);
    await client.events.publish({ event: 'LatePayment', networkId: 1 });
    await until('it is failing', async () => (await client.endpoints.list()).endpoints[0]?.state === 'failing');
    await using tab = await Tab.open(browser, stage);
    await tab.signIn('/endpoints');
    await tab.page.locator('td.column-state .badge', { hasText: 'Failing' }).waitFor();
    receiver.respondWith(410);
    await client.events.publish({ event: 'LatePayment', networkId: 10 });
    await tab.page.locator('td.column-state .badge', { hasText: 'Suspended' }).waitFor();
    await tab.page.locator('td.column-state', { hasText: 'of 2 suspended' }).waitFor();
    expect(await accessibilityViolations(tab.page)).toEqual([]);
    expect(tab.errors).toEqual([]);
  });
});

test('a superseded delivery has its number, and a link to the event that made it unnecessary', async () => {
  const { client, receiver } = stage;
  const events = ['LatePayment', 'TransferProcessed'];
  await client.webhooks.register({ postUrl: `${receiver.url}/hook`, networkIds: [1], events });
  const { endpoints } = await client.endpoints.list();
  await client.endpoints.pause(endpoints[0]?.endpointId ?? '');
  const transfer = { networkId: 1, transferId: 'trf-1' };
  await client.events.publish({ event: 'LatePayment', eventId: 'late-1', ...transfer });
  await client.events.publish({ event: 'TransferProcessed', eventId: 'paid-1', ...transfer });
  const { deliveries } = await client.deliveries.list({ eventId: 'late-1' });
  expect(deliveries).toMatchObject([{ status: 'superseded', supersededBy: 'paid-1', sequence: 1 }]);
  await using tab = await Tab.open(browser, stage);
  const { page } = tab;
  await tab.signIn(`/deliveries?delivery=${deliveries[0]?.deliveryId}`);
  const panel = page.getByRole('complementary', { name: 'Delivery details' });
  await panel.getByText('A later event superseded it').waitFor();
  await panel.getByText(`1 of endpoint ${endpoints[0]?.endpointId}`).waitFor();
  expect(await accessibilityViolations(page)).toEqual([]);
  await panel.getByText('TransferProcessed').waitFor();
  await panel.getByRole('link', { name: 'paid-1' }).click();
  await until('the list shows that event', async () => (await page.locator('.pager strong').textContent()) === '1');
  expect(page.url()).toEndWith('/deliveries?eventId=paid-1');
  expect(tab.errors).toEqual([]);
});

test('the list has no accessibility violation, in either theme and on a phone', async () => {
  await registerThirty();
  const { client } = stage;
  const { endpoints } = await client.endpoints.list({ sortBy: 'postUrl', sortDir: 'asc', limit: 1 });
  await client.endpoints.update(endpoints[0]?.endpointId ?? '', { name: 'A name '.repeat(12).trim(), paused: true });
  for (const look of [{ theme: 'light' }, { theme: 'dark' }, { theme: 'dark', width: 390, height: 844 }] as const) {
    await using tab = await Tab.open(browser, stage, look);
    await tab.signIn('/endpoints');
    await until('the list is shown', async () => (await rows(tab.page).count()) === 25);
    expect(await accessibilityViolations(tab.page)).toEqual([]);
    expect(await tab.page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    expect(tab.errors).toEqual([]);
  }
});
