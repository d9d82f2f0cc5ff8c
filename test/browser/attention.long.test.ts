import { expect, test } from 'bun:test';
import type { Browser, Page } from 'playwright-core';
import { Paybell } from '../../src/client/paybell.ts';
import { until } from '../support/until.ts';
import { accessibilityViolations } from './support/axe.ts';
import { ADMIN_KEY, withFreshStage } from './support/fresh-stage.ts';
import { savePicture } from './support/pictures.ts';
import { startReceiver } from './support/receiver.ts';
import { type Stage, startStage } from './support/stage.ts';
import { Tab } from './support/tab.ts';

/** What the overview says first: what needs attention. */

let browser: Browser;
let stage: Stage;

withFreshStage({ ENTITY_BACKLOG_LIMIT: '10' }, (newBrowser, newStage) => {
  [browser, stage] = [newBrowser, newStage];
});

const items = (page: Page) => page.locator('.attention-item');

async function publish(count: number, event = 'LatePayment', { client } = stage): Promise<void> {
  for (let left = count; left > 0; left--) await client.events.publish({ event, networkId: 1 });
}

test('says in one calm line that nothing needs attention', async () => {
  const { client, receiver } = stage;
  await client.webhooks.register({ postUrl: `${receiver.url}/hook`, networkIds: [1], events: ['LatePayment'] });
  await publish(1);
  await using tab = await Tab.open(browser, stage);
  await tab.signIn('/');
  await tab.page.getByText('Nothing needs attention').waitFor();
  expect(await items(tab.page).count()).toBe(0);
  expect(await accessibilityViolations(tab.page)).toEqual([]);
  expect(tab.errors).toEqual([]);
});

test('names endpoints that fail or are suspended and a full backlog, each with the way to it', async () => {
  const { client, receiver } = stage;
  await using gone = startReceiver();
  gone.respondWith(410);
  receiver.respondWith(503);
  await client.webhooks.register({ postUrl: `${gone.url}/gone`, networkIds: [1], events: ['TransferCreated'] });
  await client.webhooks.register({ postUrl: `${receiver.url}/hook`, networkIds: [1], events: ['LatePayment'] });
  await publish(1, 'TransferCreated');
  await publish(9);
  const suspended = async () => (await client.endpoints.list({ state: 'suspended' })).totalResults;
  await until('one is suspended', async () => (await suspended()) === 1);
  await until('one fails', async () => (await client.endpoints.list({ state: 'failing' })).totalResults === 1);
  const { endpoints } = await client.endpoints.list({ state: 'failing' });

  for (const look of [{ theme: 'light' }, { theme: 'dark' }, { theme: 'dark', width: 390, height: 844 }] as const) {
    await using tab = await Tab.open(browser, stage, look);
    const { page } = tab;
    await tab.signIn('/');
    await items(page)
      .filter({ hasText: `${gone.url}/gone is suspended. 1 delivery is held.` })
      .waitFor();
    await items(page)
      .filter({ hasText: /\/hook has been failing since .* \(HTTP 503\)\. 9 deliveries are waiting\./ })
      .waitFor();
    await items(page).filter({ hasText: 'The backlog is at 90% of its limit: 9 of 10 deliveries wait.' }).waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    await savePicture(page, `attention ${JSON.stringify(look)}`);
    expect(tab.errors).toEqual([]);
  }

  await using tab = await Tab.open(browser, stage);
  const { page } = tab;
  await tab.signIn('/');
  await items(page).filter({ hasText: '/hook has been failing' }).getByRole('link', { name: 'Open endpoint' }).click();
  await page.getByRole('heading', { name: `${receiver.url}/hook`, level: 1 }).waitFor();
  expect(page.url()).toEndWith(`/endpoints/${endpoints[0]?.endpointId}`);
  await page.goBack();
  await items(page).filter({ hasText: 'backlog' }).getByRole('link', { name: 'Show endpoints by backlog' }).click();
  await page.locator('th[aria-sort=descending]', { hasText: 'Waiting' }).waitFor();
  expect(tab.errors).toEqual([]);
});

test('names what was missed, what failed for good and what a paused endpoint holds, and counts none of it twice', async () => {
  await using impatient = await startStage({ RETRY_SCHEDULE: '1ms' });
  const { client, receiver } = impatient;
  const events = ['LatePayment', 'TransferCreated'];
  for (const [index, event] of events.entries()) {
    await client.webhooks.register({ postUrl: `${receiver.url}/${index}`, networkIds: [1], events: [event] });
  }
  const { endpoints } = await client.endpoints.list({ postUrl: `${receiver.url}/0` });
  const paused = endpoints[0]?.endpointId ?? '';
  await client.endpoints.pause(paused);
  await publish(2, 'LatePayment', impatient);
  await publish(3, 'TransferFinalized', impatient);
  receiver.respondWith(500);
  await publish(3, 'TransferCreated', impatient);
  await until('three have failed', async () => (await client.deliveries.counts()).failed === 3);
  receiver.respondWith(200);
  const [first] = (await client.deliveries.list({ status: 'failed' })).deliveries;
  await client.deliveries.redeliver(first?.deliveryId ?? '');
  await until('one has arrived', async () => (await client.deliveries.counts()).delivered === 1);
  await until('it is counted', async () => (await client.stats({ interval: 'minute' })).total.delivered === 1);

  await using tab = await Tab.open(browser, impatient);
  const { page } = tab;
  await tab.signIn('/');
  const tile = (name: string) => page.locator('.tile', { hasText: name });
  await tile('Success rate').getByText('33.33% of completed deliveries of this period').waitFor();
  await items(page).filter({ hasText: '3 deliveries failed permanently in the last hour. 2 are failed now' }).waitFor();
  await items(page).filter({ hasText: '3 events of the last day reached no webhook' }).waitFor();
  await items(page).filter({ hasText: '/0 is paused. 2 deliveries are held.' }).waitFor();
  expect(await accessibilityViolations(page)).toEqual([]);
  await savePicture(page, 'attention to deliveries');
  await tile('Failed').getByRole('link', { name: '2 of this period' }).click();
  await until('these are listed', async () => (await page.locator('.pager strong').textContent()) === '2');
  await page.goBack();
  await items(page).getByRole('link', { name: 'Show 2 failed' }).click();
  await until('these are listed', async () => (await page.locator('.pager strong').textContent()) === '2');
  expect(page.url()).toEndWith('/deliveries?status=failed');
  await page.goBack();
  await items(page).getByRole('link', { name: 'Show these events' }).click();
  await until('they are listed', async () => (await page.locator('.pager strong').textContent()) === '3');
  expect(page.url()).toEndWith('/events?matched=false&range=1d');
  expect(tab.errors).toEqual([]);
});

test('counts the endpoints that it does not name, and leads to all of them', async () => {
  const { client, receiver } = stage;
  receiver.respondWith(500);
  for (let index = 0; index < 7; index++) {
    await client.webhooks.register({ postUrl: `${receiver.url}/${index}`, networkIds: [1], events: ['LatePayment'] });
  }
  await publish(1);
  await until('all fail', async () => (await client.endpoints.list({ state: 'failing' })).totalResults === 7);
  await using tab = await Tab.open(browser, stage);
  const { page } = tab;
  await tab.signIn('/');
  await items(page)
    .filter({ hasText: '2 more endpoints are failing.' })
    .getByRole('link', { name: 'Show all 7' })
    .click();
  await until('all are listed', async () => (await page.locator('.pager strong').textContent()) === '7');
  expect(await page.getByLabel('State', { exact: true }).inputValue()).toBe('failing');
  expect(tab.errors).toEqual([]);
});

test('does not say that all is well to a key that may not read endpoints', async () => {
  const { entityId } = stage.credentials;
  const operator = new Paybell({ url: stage.url, apiKey: ADMIN_KEY });
  const { apiKey } = await operator.admin.createKey({ entityId, permissions: ['deliveries:read'] });
  await using tab = await Tab.open(browser, stage);
  await tab.signIn('/', { credentials: { entityId, apiKey } });
  await tab.page.getByText('Endpoints that fail are not shown').waitFor();
  await tab.page.locator('.tile').first().waitFor();
  expect(await tab.page.getByText('Nothing needs attention').count()).toBe(0);
  expect(tab.errorsExcept(/status of 403/)).toEqual([]);
});

test('an outage is a rate of 0 % at once, and each number of the tiles leads to the deliveries that it counts', async () => {
  const { client, receiver } = stage;
  receiver.respondWith(500);
  await client.webhooks.register({ postUrl: `${receiver.url}/hook`, networkIds: [1], events: ['LatePayment'] });
  await publish(3);
  await until('all are retried', async () => (await client.deliveries.counts()).retrying === 3);
  await using tab = await Tab.open(browser, stage);
  const { page } = tab;
  await tab.signIn('/');
  const value = (name: string) => page.locator('.tile', { hasText: name }).locator('.tile-value').textContent();
  await until('the outage is shown', async () => (await value('Success rate')) === '0%');
  expect(await page.locator('.destinations .rate-text').textContent()).toBe('0%');
  expect(await page.locator('.destinations .rate-bad').getAttribute('width')).toBe('0');
  expect(await accessibilityViolations(page)).toEqual([]);
  await savePicture(page, 'outage');
  await page.locator('.tile', { hasText: 'Backlog' }).getByRole('link', { name: '3 retrying' }).click();
  await until('they are listed', async () => (await page.locator('.pager strong').textContent()) === '3');
  expect(page.url()).toEndWith('/deliveries?status=retrying');
  expect(tab.errors).toEqual([]);
});

test('the tiles of one destination count that destination only, and lead to its deliveries', async () => {
  const { client, receiver } = stage;
  await using other = startReceiver();
  receiver.respondWith(500);
  other.respondWith(500);
  for (const { url } of [receiver, other]) {
    await client.webhooks.register({ postUrl: `${url}/hook`, networkIds: [1], events: ['LatePayment'] });
  }
  await publish(2);
  await until('all are retried', async () => (await client.deliveries.counts()).retrying === 4);
  await using tab = await Tab.open(browser, stage);
  const { page } = tab;
  await tab.signIn(`/?destination=${encodeURIComponent(other.url)}`);
  await page.locator('.tile', { hasText: 'Backlog' }).getByRole('link', { name: '2 retrying' }).click();
  await until('they are listed', async () => (await page.locator('.pager strong').textContent()) === '2');
  expect(page.url()).toEndWith(`/deliveries?q=${encodeURIComponent(`${other.url}/`)}&status=retrying`);
  expect(tab.errors).toEqual([]);
});
