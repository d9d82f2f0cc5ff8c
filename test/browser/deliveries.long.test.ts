import { describe, expect, test } from 'bun:test';
import type { Browser, Page } from 'playwright-core';
import { Paybell } from '../../src/client/paybell.ts';
import { EVENT_KINDS, RETRACTION } from '../../src/domain/event-kinds.ts';
import { until } from '../support/until.ts';
import { accessibilityViolations } from './support/axe.ts';
import { ADMIN_KEY, withFreshStage } from './support/fresh-stage.ts';
import { savePicture } from './support/pictures.ts';
import { shows } from './support/shown.ts';
import type { Stage } from './support/stage.ts';
import { Tab } from './support/tab.ts';

let browser: Browser;
let stage: Stage;

withFreshStage({ RETRY_SCHEDULE: '0s,200ms,1h', EXTRA_EVENTS: 'RefundIssued' }, async (newBrowser, newStage) => {
  [browser, stage] = [newBrowser, newStage];
  const { client, receiver } = stage;
  const events = ['LatePayment', 'TransferCreated'];
  await client.webhooks.register({ postUrl: `${receiver.url}/hook`, networkIds: [1, 8453], events });
});

const rows = (page: Page) => page.locator('table.deliveries tbody tr');
const total = (page: Page) => page.locator('.pager strong').textContent();
const panelOf = (page: Page) => page.getByRole('complementary', { name: 'Delivery details' });

/** Publishes events and waits until each has completed or is waiting for its third attempt. */
async function send(count: number, event = 'LatePayment', networkId = 1): Promise<void> {
  const { client } = stage;
  const { totalResults } = await client.deliveries.list({ limit: 1 });
  for (let sent = 0; sent < count; sent++) await client.events.publish({ event, networkId, number: sent });
  await until('the deliveries are listed', async () => {
    const list = await client.deliveries.list({ limit: 100 });
    const open = list.deliveries.filter(
      ({ status, attempts }) => status === 'pending' || (status === 'retrying' && attempts < 2),
    );
    return list.totalResults === totalResults + count && open.length === 0;
  });
}

describe('the list', () => {
  test('says how to start, and the first delivery appears automatically', async () => {
    await using tab = await Tab.open(browser, stage);
    const { page } = tab;
    await tab.signIn('/deliveries');
    await page.getByRole('heading', { name: 'No deliveries yet' }).waitFor();
    expect(await page.locator('.state pre').textContent()).toContain(`${stage.url}/api/v1/crypto/events'`);
    expect(await accessibilityViolations(page)).toEqual([]);
    await send(1);
    await page.getByRole('row', { name: /Delivered.*LatePayment.*200/ }).waitFor();
    expect(tab.errors).toEqual([]);
  });

  test('filters by every kind of event that the server knows, also one of EXTRA_EVENTS', async () => {
    const { client, receiver } = stage;
    await client.webhooks.register({ postUrl: `${receiver.url}/refunds`, networkIds: [1], events: ['RefundIssued'] });
    await send(2);
    await send(1, 'RefundIssued');
    await using tab = await Tab.open(browser, stage);
    const { page } = tab;
    await tab.signIn('/deliveries');
    await until('all deliveries are listed', async () => (await total(page)) === '3');
    await page.getByText('Filter by event').click();
    const kinds = page.getByLabel('Event', { exact: true });
    await kinds.locator('option', { hasText: 'RefundIssued' }).waitFor({ state: 'attached' });
    expect(await kinds.locator('option').allTextContents()).toEqual([
      'All events',
      ...EVENT_KINDS,
      'RefundIssued',
      RETRACTION,
    ]);
    await kinds.selectOption('RefundIssued');
    await until('the refund is listed', async () => (await total(page)) === '1');
    expect(page.url()).toEndWith('/deliveries?event=RefundIssued');
    expect(await rows(page).first().textContent()).toContain('RefundIssued');
    await kinds.selectOption('LatePayment');
    await until('the late payments are listed', async () => (await total(page)) === '2');
    await kinds.selectOption('');
    await until('all deliveries are listed again', async () => (await total(page)) === '3');
    expect(tab.errors).toEqual([]);
  });

  test('filters with exact totals, and the URL holds the filters', async () => {
    await send(3);
    await send(2, 'TransferCreated', 8453);
    stage.receiver.respondWith(500);
    await send(1, 'TransferCreated', 8453);
    await using tab = await Tab.open(browser, stage);
    const { page } = tab;
    await tab.signIn('/deliveries');
    await until('all deliveries are listed', async () => (await total(page)) === '6');

    await page.getByRole('link', { name: 'Retrying' }).click();
    await until('the list is filtered by status', async () => (await total(page)) === '1');
    expect(page.url()).toEndWith('/deliveries?status=retrying');
    await page.getByRole('link', { name: 'All' }).click();

    await page.getByText('Filter by event').click();
    await page.getByLabel('Event', { exact: true }).selectOption('TransferCreated');
    await page.getByLabel('Network', { exact: true }).selectOption('8453');
    await until('the list is filtered by both', async () => (await total(page)) === '3');
    const shared = page.url();
    expect(shared).toEndWith('/deliveries?event=TransferCreated&networkId=8453');
    await page.goBack();
    await page.goBack();
    await until('going back removes the filters', async () => (await total(page)) === '6');
    await page.goto(shared);
    await until('the shared URL shows the same list', async () => (await total(page)) === '3');

    await page.getByLabel('From').fill('2040-01-01T12:00:00');
    await page.getByRole('button', { name: 'Show all deliveries' }).click();
    await until('the empty state links to all deliveries', async () => (await total(page)) === '6');
    expect(tab.errors).toEqual([]);
  });

  test('reports an invalid filter in the URL and a missing permission', async () => {
    await using tab = await Tab.open(browser, stage);
    await tab.signIn('/deliveries?status=lost');
    await tab.page.getByRole('alert').waitFor();
    expect(await tab.page.getByRole('alert').textContent()).toContain('status must be one of pending');
    expect(tab.errorsExcept(/status of 400/)).toEqual([]);

    await using other = await Tab.open(browser, stage);
    const { entityId } = stage.credentials;
    const admin = new Paybell({ url: stage.url, apiKey: ADMIN_KEY });
    const { apiKey } = await admin.admin.createKey({ entityId, permissions: ['webhooks:read'] });
    await other.signIn('/deliveries', { credentials: { entityId, apiKey } });
    await other.page.getByText('missing the deliveries:read permission').waitFor();
    expect(other.errorsExcept(/status of 403/)).toEqual([]);
  });
});

describe('while live', () => {
  test('no row moves while someone is reading, and new deliveries are offered above the list', async () => {
    await send(25);
    await using tab = await Tab.open(browser, stage);
    const { page } = tab;
    await tab.signIn('/deliveries');
    await until('the deliveries are listed', async () => (await rows(page).count()) === 25);
    await page.mouse.wheel(0, 600);
    await until('the list has scrolled', async () => Number(await page.evaluate('scrollY')) > 300);
    const read = await rows(page).nth(12).getAttribute('id');
    const before = await page.locator(`#${read}`).boundingBox();
    await send(3);
    await page.getByRole('button', { name: '3 new' }).waitFor();
    expect(await page.locator(`#${read}`).boundingBox()).toEqual(before);
    await page.getByRole('button', { name: '3 new' }).click();
    await until('the newest deliveries are on top', async () => (await rows(page).nth(15).getAttribute('id')) === read);
    expect(await page.getByRole('button', { name: '3 new' }).count()).toBe(0);
    expect(tab.errors).toEqual([]);
  });

  test('a row with the keyboard focus keeps its position and its focus', async () => {
    await send(3);
    await using tab = await Tab.open(browser, stage);
    const { page } = tab;
    await tab.signIn('/deliveries');
    await until('the deliveries are listed', async () => (await rows(page).count()) === 3);
    const link = rows(page).nth(1).getByRole('link');
    await page.keyboard.press('Tab');
    await link.focus();
    const read = await rows(page).nth(1).getAttribute('id');
    await send(2);
    await page.getByRole('button', { name: '2 new' }).waitFor();
    expect(await rows(page).nth(1).getAttribute('id')).toBe(read);
    expect(await page.evaluate('document.activeElement.closest("tr")?.id')).toBe(read);
  });

  test('the list is not polled while paused or hidden, and catches up afterwards', async () => {
    await using tab = await Tab.open(browser, stage);
    const { page } = tab;
    await tab.signIn('/deliveries');
    await page.getByRole('heading', { name: 'No deliveries yet' }).waitFor();
    let requests = 0;
    page.on('request', (request) => {
      if (request.url().includes('/deliveries')) requests += 1;
    });
    await page.getByRole('switch', { name: 'Live' }).click();
    expect(await page.getByRole('switch', { name: 'Live' }).getAttribute('aria-checked')).toBe('false');
    await send(1);
    await page.waitForTimeout(2_600);
    expect(requests).toBe(0);
    await page.getByRole('switch', { name: 'Live' }).click();
    await until('the list catches up', async () => (await rows(page).count()) === 1);

    await setHidden(page, true);
    await page.waitForTimeout(300);
    requests = 0;
    await send(1);
    await page.waitForTimeout(2_600);
    expect(requests).toBe(0);
    await setHidden(page, false);
    await until('the list catches up at once', async () => (await rows(page).count()) === 2);
    expect(tab.errors).toEqual([]);
  });
});

async function setHidden(page: Page, hidden: boolean): Promise<void> {
  await page.evaluate(`
    Object.defineProperty(document, 'hidden', { configurable: true, value: ${hidden} });
    document.dispatchEvent(new Event('visibilitychange'));`);
}

describe('one delivery', () => {
  test('shows its attempts, its next attempt, and its body formatted and exactly as sent', async () => {
    const body = '{"networkId":1,"event":"LatePayment","amount":12345678901234567890.10,  "note":"ä"}';
    stage.receiver.respondWith(503, '{"error":"down"}');
    await stage.client.events.publishText(body);
    await until('the third attempt is scheduled', async () => {
      const { deliveries } = await stage.client.deliveries.list({ status: 'retrying' });
      return deliveries[0]?.attempts === 2;
    });
    await using tab = await Tab.open(browser, stage);
    const { page } = tab;
    await tab.signIn('/deliveries');
    await rows(page).first().click();
    const panel = panelOf(page);
    await panel.getByRole('heading', { name: 'Request body' }).waitFor();
    const entries = await panel.getByRole('list', { name: 'Attempts' }).getByRole('listitem').allTextContents();
    expect(entries).toHaveLength(4);
    expect(entries[1]).toMatch(/First attempt.*HTTP 503 after .*\{"error":"down"\}/);
    expect(entries[2]).toMatch(/Retry.*later.*HTTP 503/);
    expect(entries[3]).toMatch(/Next attempt.*in/);
    await panel.getByText('Paybell does not read Ethereum, so it cannot say whether the payment is final.').waitFor();
    await savePicture(page, 'delivery of a network that is not read');
    expect(await panel.locator('.json-text code').textContent()).toContain('"amount": 12345678901234567890.10');
    await panel.getByRole('button', { name: 'Raw' }).click();
    expect(await panel.locator('.json-text code').textContent()).toBe(body);
    expect(await accessibilityViolations(page)).toEqual([]);
    expect(tab.errors).toEqual([]);
  });

  test('shows what the endpoint said last, the headers of each attempt, and its request as a command', async () => {
    const { client, receiver } = stage;
    const { endpoints } = await client.endpoints.list();
    await client.endpoints.update(endpoints[0]?.endpointId ?? '', { headers: { authorization: 'Bearer not-shown' } });
    receiver.respondWith(503, 'down for maintenance');
    await send(1);
    await using tab = await Tab.open(browser, stage);
    const { page } = tab;
    await tab.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await tab.signIn('/deliveries');
    await rows(page).first().click();
    const panel = panelOf(page);
    const last = panel.locator('.last-response');
    await last.getByText('Status 503').waitFor();
    expect(await last.textContent()).toContain('down for maintenance');
    const attempt = panel.getByRole('list', { name: 'Attempts' }).getByRole('listitem').nth(1);
    expect(await attempt.getByText('webhook-id').isVisible()).toBe(false);
    await attempt.getByText('Headers', { exact: false }).first().click();
    const headers = await attempt.locator('.attempt-headers').textContent();
    expect(headers).toMatch(/Request headers.*authorization\*\*\*.*webhook-signature\*\*\*.*Response headers.*date/);
    await attempt.getByRole('button', { name: 'Copy as curl' }).click();
    await attempt.getByRole('button', { name: 'Copied' }).waitFor();
    const command = String(await page.evaluate('navigator.clipboard.readText()'));
    expect(command).toStartWith(`curl -i '${receiver.url}/hook'`);
    expect(command).toContain('-H "authorization: $AUTHORIZATION"');
    expect(command).toContain('--data-raw \'{"event":"LatePayment"');
    expect(await page.content()).not.toContain('not-shown');
    expect(await accessibilityViolations(page)).toEqual([]);
    await savePicture(page, 'delivery with headers');
    expect(tab.errors).toEqual([]);
  });

  test('is opened, resent and closed by keyboard alone', async () => {
    await send(2);
    await using tab = await Tab.open(browser, stage);
    const { page } = tab;
    await tab.signIn('/deliveries');
    await until('the deliveries are listed', async () => (await rows(page).count()) === 2);
    await rows(page).first().getByRole('link').focus();
    await page.keyboard.press('Enter');
    const panel = panelOf(page);
    await panel.getByText('HTTP 200').waitFor();
    expect(await page.evaluate('document.activeElement.textContent')).toBe('LatePayment');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Resend');
    await page.keyboard.press('Enter');
    await panel.getByText('Resent', { exact: true }).waitFor();
    expect(stage.receiver.received).toHaveLength(3);
    await page.keyboard.press('Escape');
    await panel.waitFor({ state: 'detached' });
    expect(await page.evaluate('document.activeElement.className')).toBe('row-link');
    expect(tab.errors).toEqual([]);
  });

  test('that does not exist is reported', async () => {
    await using tab = await Tab.open(browser, stage);
    await tab.signIn('/deliveries?delivery=dlv_gone');
    await panelOf(tab.page).getByRole('alert').waitFor();
    expect(await panelOf(tab.page).getByRole('alert').textContent()).toContain('There is no delivery with this id');
    expect(tab.errorsExcept(/status of 404/)).toEqual([]);
  });

  test.each([390, 1_024, 1_099])('is a screen of its own on a screen of %d pixels', async (width) => {
    await send(25);
    await using tab = await Tab.open(browser, stage, { width, height: 844 });
    const { page } = tab;
    await tab.signIn('/deliveries');
    await until('the deliveries are listed', async () => (await rows(page).count()) === 25);
    await rows(page).nth(2).click();
    await panelOf(page).getByText('HTTP 200').waitFor();
    await until('the panel is at the top', async () => {
      const box = await panelOf(page).getByRole('heading', { level: 2 }).boundingBox();
      return box !== null && box.y >= 0 && box.y < 100;
    });
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
    expect(await rows(page).first().isVisible()).toBe(false);
    expect(await page.getByRole('navigation', { name: 'Status' }).isVisible()).toBe(false);
    expect(await accessibilityViolations(page)).toEqual([]);
    await panelOf(page).getByRole('button', { name: 'All deliveries' }).click();
    const focused =
      "document.activeElement?.closest('tr') === document.querySelectorAll('table.deliveries tbody tr')[2]";
    await until('the row has the focus', async () => Boolean(await page.evaluate(focused)));
    expect(await rows(page).first().isVisible()).toBe(true);
    expect(tab.errors).toEqual([]);
  });

  test('is next to the list on a wider screen', async () => {
    await send(3);
    await using tab = await Tab.open(browser, stage, { width: 1_120, height: 844 });
    const { page } = tab;
    await tab.signIn('/deliveries');
    await rows(page).first().click();
    await panelOf(page).getByText('HTTP 200').waitFor();
    expect(await rows(page).first().isVisible()).toBe(true);
    expect(await panelOf(page).getByRole('button', { name: 'All deliveries' }).isVisible()).toBe(false);
    expect(tab.errors).toEqual([]);
  });
});

test('a bulk resend counts the matching deliveries first and then shows its progress', async () => {
  await send(4);
  stage.receiver.respondWith(500, 'broken');
  await send(12, 'TransferCreated');
  stage.receiver.respondWith(200, 'fixed');
  await using tab = await Tab.open(browser, stage);
  const { page } = tab;
  await tab.signIn('/deliveries?event=TransferCreated');
  await until('the deliveries are listed', async () => (await total(page)) === '12');
  await page.getByRole('button', { name: 'Bulk resend' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('12 deliveries match').waitFor();
  await dialog.getByLabel('Status').selectOption('delivered');
  await dialog.getByText('0 deliveries match').waitFor();
  expect(await dialog.getByRole('button', { name: 'Resend' }).isDisabled()).toBe(true);
  await dialog.getByLabel('Status').selectOption('retrying');
  await dialog.getByText('12 deliveries match').waitFor();
  expect(await accessibilityViolations(page)).toEqual([]);
  expect(stage.receiver.received).toHaveLength(28);
  await dialog.getByRole('button', { name: 'Resend 12' }).click();
  const progress = page.getByRole('region', { name: 'Bulk resend' });
  await progress.getByText('Bulk resend finished').waitFor();
  // One delivery was sent first, because the endpoint failed, and succeeded.
  expect(await progress.textContent()).toContain('11 of 11 sent, 11 delivered, 0 failed');
  expect(stage.receiver.received).toHaveLength(40);
  expect(page.url()).toContain('redelivery=rdl_');
  await page.reload();
  await progress.getByText('11 of 11 sent').waitFor();
  await progress.getByRole('button', { name: 'Dismiss' }).click();
  await progress.waitFor({ state: 'detached' });
  expect(tab.errors).toEqual([]);
});

test('an unreachable server is reported above the deliveries already loaded', async () => {
  await send(2);
  await using tab = await Tab.open(browser, stage);
  const { page } = tab;
  await tab.signIn('/deliveries');
  await until('the deliveries are listed', async () => (await rows(page).count()) === 2);
  await page.route('**/api/**', (route) => route.abort());
  await page.getByRole('alert').waitFor();
  expect(await page.getByRole('alert').textContent()).toContain('Cannot reach Paybell');
  await shows(rows(page), 2);
  await page.unroute('**/api/**');
  await page.getByRole('alert').waitFor({ state: 'detached' });
});
