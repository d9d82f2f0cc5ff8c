import { expect, test } from 'bun:test';
import type { Browser, Page } from 'playwright-core';
import { Paybell } from '../../src/client/paybell.ts';
import { until } from '../support/until.ts';
import { accessibilityViolations } from './support/axe.ts';
import { ADMIN_KEY, withFreshStage } from './support/fresh-stage.ts';
import { LOOKS } from './support/looks.ts';
import { savePicture } from './support/pictures.ts';
import { shows } from './support/shown.ts';
import type { Stage } from './support/stage.ts';
import { Tab } from './support/tab.ts';

/** What was accepted, and what of it reached no webhook. */

let browser: Browser;
let stage: Stage;

withFreshStage({}, (newBrowser, newStage) => {
  [browser, stage] = [newBrowser, newStage];
});

const rows = (page: Page) => page.locator('table.events tbody tr');
const total = (page: Page) => page.locator('.pager strong').textContent();

/** Two webhooks receive late payments on Ethereum; no webhook receives transfers on Base. */
async function publishTwo(): Promise<void> {
  const { client, receiver } = stage;
  for (const path of ['hook', 'billing']) {
    await client.webhooks.register({
      ...{ postUrl: `${receiver.url}/${path}`, networkIds: [1], events: ['LatePayment'] },
    });
  }
  await client.events.publish({ event: 'LatePayment', networkId: 1, eventId: 'late-1' });
  await client.events.publish({ event: 'TransferFinalized', networkId: 8453, eventId: 'transfer-1', amount: '25.00' });
}

test('an event that reached no webhook stands out, and one can be registered for it', async () => {
  await publishTwo();
  await using tab = await Tab.open(browser, stage);
  const { page } = tab;
  await tab.signIn('/events');
  await until('both are listed', async () => (await total(page)) === '2');
  const missed = rows(page).filter({ hasText: 'transfer-1' });
  await missed.getByText('No webhook', { exact: true }).waitFor();
  await shows(rows(page).getByText('No webhook', { exact: true }), 1);
  await page.getByRole('link', { name: 'Reached no webhook 1' }).click();
  await until('only that one is listed', async () => (await total(page)) === '1');
  expect(page.url()).toEndWith('/events?matched=false');
  await savePicture(page, 'events without a webhook');

  await page.getByRole('button', { name: 'Register a webhook for this' }).click();
  const dialog = page.getByRole('dialog', { name: 'Register webhooks' });
  await dialog.getByText('1 network × 1 event').waitFor();
  const checked = dialog.getByRole('checkbox', { checked: true });
  await until('its network and its kind are checked', async () => (await checked.count()) === 2);
  expect(await accessibilityViolations(page)).toEqual([]);
  await dialog.getByLabel('Endpoint URL').fill(`${stage.receiver.url}/transfers`);
  await dialog.getByRole('button', { name: 'Register 1 webhook' }).click();
  await dialog.waitFor({ state: 'detached' });
  const { webhooks } = await stage.client.webhooks.list({ event: 'TransferFinalized' });
  expect(webhooks.map(({ networkId, event }) => [networkId, event])).toEqual([[8453, 'TransferFinalized']]);
  await missed
    .getByText('1 webhook now matches this kind of event. It was registered later, so it does not receive this one.')
    .waitFor();
  expect(await missed.getByRole('button', { name: 'Register a webhook for this' }).count()).toBe(0);
  await savePicture(page, 'events registered since');
  expect(tab.errors).toEqual([]);
});

test('the deliveries of an event are one click away, and its payload is shown as it was sent', async () => {
  await publishTwo();
  await using tab = await Tab.open(browser, stage);
  const { page } = tab;
  await tab.signIn('/events');
  await until('both are listed', async () => (await rows(page).count()) === 2);
  await page.getByRole('button', { name: 'Payload of transfer-1' }).click();
  await page.locator('.event-payload').getByText('"25.00"').waitFor();
  expect(await accessibilityViolations(page)).toEqual([]);
  await savePicture(page, 'events with a payload');
  await rows(page).filter({ hasText: 'late-1' }).getByRole('link', { name: '2 webhooks' }).click();
  await until('both deliveries are listed', async () => (await total(page)) === '2');
  expect(page.url()).toEndWith('/deliveries?eventId=late-1');
  expect(tab.errors).toEqual([]);
});

test('filters by event, network, ID and time, with exact totals in pages', async () => {
  const { client } = stage;
  for (let count = 0; count < 30; count += 1) {
    const event = count % 2 === 0 ? 'LatePayment' : 'TransferCreated';
    await client.events.publish({ event, networkId: 1, eventId: `event-${count}` });
  }
  await using tab = await Tab.open(browser, stage);
  const { page } = tab;
  await tab.signIn('/events');
  await until('all are counted', async () => (await total(page)) === '30');
  await shows(rows(page), 25);
  await page.getByRole('button', { name: 'Next page' }).click();
  await until('the rest is listed', async () => (await rows(page).count()) === 5);
  await page.getByLabel('Event', { exact: true }).selectOption('LatePayment');
  await until('one kind is listed', async () => (await total(page)) === '15');
  await page.getByLabel('Search', { exact: true }).fill('event-4');
  await page.keyboard.press('Enter');
  await until('one event is listed', async () => (await total(page)) === '1');
  expect(page.url()).toEndWith('/events?event=LatePayment&q=event-4');
  await page.getByRole('button', { name: 'Clear' }).click();
  await page.getByRole('button', { name: '15 min' }).click();
  await until('those of the last minutes are listed', async () => (await total(page)) === '30');
  expect(await page.getByLabel('From').count()).toBe(0);
  await page.getByRole('button', { name: 'Custom' }).click();
  await page.getByLabel('From').fill('2040-01-01T12:00:00');
  await page.getByRole('heading', { name: 'No matching events' }).waitFor();
  await page.getByRole('button', { name: 'Show all events' }).click();
  await until('all are listed', async () => (await total(page)) === '30');
  expect(tab.errors).toEqual([]);
});

test('says how to publish the first event, which then appears automatically, and that none was missed', async () => {
  await using tab = await Tab.open(browser, stage);
  const { page } = tab;
  await tab.signIn('/events');
  await page.getByRole('heading', { name: 'No events yet' }).waitFor();
  expect(await accessibilityViolations(page)).toEqual([]);
  await savePicture(page, 'events none');
  await page.goto('/events?matched=false');
  await page.getByRole('heading', { name: 'All events reached a webhook' }).waitFor();
  await publishTwo();
  await rows(page).filter({ hasText: 'transfer-1' }).waitFor();
  expect(tab.errors).toEqual([]);
});

test('what the key may not do is disabled with the reason, and a list that it may not read says so', async () => {
  await publishTwo();
  const { entityId } = stage.credentials;
  const operator = new Paybell({ url: stage.url, apiKey: ADMIN_KEY });
  const { apiKey } = await operator.admin.createKey({ entityId, permissions: ['events:read'] });
  await using tab = await Tab.open(browser, stage);
  const { page } = tab;
  await tab.signIn('/events', { credentials: { entityId, apiKey } });
  const register = page.getByRole('button', { name: 'Register a webhook for this' });
  await register.waitFor();
  expect([await register.isDisabled(), await register.getAttribute('title')]).toEqual([
    true,
    'This API key needs the webhooks:write permission',
  ]);
  await page.getByRole('button', { name: 'Sign out' }).click();
  const other = await operator.admin.createKey({ entityId, permissions: ['webhooks:read'] });
  await tab.signIn('/events', { credentials: { entityId, apiKey: other.apiKey } });
  await page.getByText('missing the events:read permission').waitFor();
  expect(await accessibilityViolations(page)).toEqual([]);
  await savePicture(page, 'events without permission');
  expect(tab.errorsExcept(/status of 403/)).toEqual([]);
});

test.each(Object.values(LOOKS))('is accessible and fits, $theme, $width pixels', async ({ theme, width }) => {
  await publishTwo();
  await stage.client.events.publish({ event: 'AgreementCancelled', networkId: 1 });
  await using tab = await Tab.open(browser, stage, { theme, width, height: 900 });
  const { page } = tab;
  await tab.signIn('/events');
  const longest = rows(page).filter({ hasText: 'AgreementCancelled' });
  const [kind, badge] = [longest.locator('strong'), longest.getByText('No webhook', { exact: true })];
  await badge.waitFor();
  const [left, right] = [await kind.boundingBox(), await badge.boundingBox()];
  expect((left?.x ?? 0) + (left?.width ?? 0)).toBeLessThan((right?.x ?? 0) - 4);
  expect(await accessibilityViolations(page)).toEqual([]);
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
  await savePicture(page, `events ${theme} ${width}`);
  expect(tab.errors).toEqual([]);
});
