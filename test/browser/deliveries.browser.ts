import { describe, expect, test } from 'bun:test';
import type { Browser, Page } from 'playwright-core';
import { Paybell } from '../../src/client/paybell.ts';
import { until } from '../support/until.ts';
import { accessibilityFaults } from './support/axe.ts';
import { ADMIN_KEY, onFreshStage } from './support/fresh-stage.ts';
import type { Stage } from './support/stage.ts';
import { Tab } from './support/tab.ts';

let browser: Browser;
let stage: Stage;

onFreshStage({ RETRY_SCHEDULE: '0s,200ms,1h' }, async (newBrowser, newStage) => {
  [browser, stage] = [newBrowser, newStage];
  const { client, receiver } = stage;
  const events = ['LatePayment', 'TransferCreated'];
  await client.webhooks.register({ postUrl: `${receiver.url}/hook`, networkIds: [1, 8453], events });
});

const rows = (page: Page) => page.locator('table.deliveries tbody tr');
const total = (page: Page) => page.locator('.pager strong').textContent();
const panelOf = (page: Page) => page.getByRole('complementary', { name: 'The opened delivery' });

/** Sent, and settled in whatever way the receiver answers. */
async function send(count: number, event = 'LatePayment', networkId = 1): Promise<void> {
  const { client } = stage;
  const { totalResults } = await client.deliveries.list({ limit: 1 });
  for (let sent = 0; sent < count; sent++) await client.events.publish({ event, networkId, number: sent });
  await until('they are there', async () => {
    const list = await client.deliveries.list({ limit: 100 });
    const open = list.deliveries.filter(
      ({ status, attempts }) => status === 'pending' || (status === 'retrying' && attempts < 2),
    );
    return list.totalResults === totalResults + count && open.length === 0;
  });
}

describe('the list', () => {
  test('says how to begin, and the first delivery appears by itself', async () => {
    await using tab = await Tab.open(browser, stage);
    const { page } = tab;
    await tab.signIn('/deliveries');
    await page.getByRole('heading', { name: 'Nothing has been sent yet' }).waitFor();
    expect(await page.locator('.state pre').textContent()).toContain(`${stage.url}/api/v1/crypto/events'`);
    expect(await accessibilityFaults(page)).toEqual([]);
    await send(1);
    await page.getByRole('row', { name: /Delivered.*LatePayment.*200/ }).waitFor();
    expect(tab.faults).toEqual([]);
  });

  test('filters with exact totals, and the address carries them', async () => {
    await send(3);
    await send(2, 'TransferCreated', 8453);
    stage.receiver.answerWith(500);
    await send(1, 'TransferCreated', 8453);
    await using tab = await Tab.open(browser, stage);
    const { page } = tab;
    await tab.signIn('/deliveries');
    await until('all are there', async () => (await total(page)) === '6');

    await page.getByRole('link', { name: 'Retrying' }).click();
    await until('the status is chosen', async () => (await total(page)) === '1');
    expect(page.url()).toEndWith('/deliveries?status=retrying');
    await page.getByRole('link', { name: 'All' }).click();

    await page.getByText('Filter by event').click();
    await page.getByLabel('Event', { exact: true }).selectOption('TransferCreated');
    await page.getByLabel('Network', { exact: true }).selectOption('8453');
    await until('both filters have worked', async () => (await total(page)) === '3');
    const shared = page.url();
    expect(shared).toEndWith('/deliveries?event=TransferCreated&networkId=8453');
    await page.goBack();
    await page.goBack();
    await until('going back undoes them', async () => (await total(page)) === '6');
    await page.goto(shared);
    await until('the shared address shows the same', async () => (await total(page)) === '3');

    await page.getByLabel('From').fill('2040-01-01T12:00:00');
    await page.getByRole('button', { name: 'Show all deliveries' }).click();
    await until('an empty result leads back', async () => (await total(page)) === '6');
    expect(tab.faults).toEqual([]);
  });

  test('says what is wrong with an address that somebody spoiled, and what a key may not see', async () => {
    await using tab = await Tab.open(browser, stage);
    await tab.signIn('/deliveries?status=lost');
    await tab.page.getByRole('alert').waitFor();
    expect(await tab.page.getByRole('alert').textContent()).toContain('status must be one of pending');
    expect(tab.faultsBut(/status of 400/)).toEqual([]);

    await using other = await Tab.open(browser, stage);
    const { entityId } = stage.credentials;
    const admin = new Paybell({ url: stage.url, apiKey: ADMIN_KEY });
    const { apiKey } = await admin.admin.createKey({ entityId, permissions: ['webhooks:read'] });
    await other.signIn('/deliveries', { credentials: { entityId, apiKey } });
    await other.page.getByText('It lacks the permission deliveries:read').waitFor();
    expect(other.faultsBut(/status of 403/)).toEqual([]);
  });
});

describe('while it is live', () => {
  test('nothing moves under the eyes of whoever reads, and what came waits above', async () => {
    await send(25);
    await using tab = await Tab.open(browser, stage);
    const { page } = tab;
    await tab.signIn('/deliveries');
    await until('they are there', async () => (await rows(page).count()) === 25);
    await page.mouse.wheel(0, 600);
    await until('it has scrolled', async () => Number(await page.evaluate('scrollY')) > 300);
    const read = await rows(page).nth(12).getAttribute('id');
    const before = await page.locator(`#${read}`).boundingBox();
    await send(3);
    await page.getByRole('button', { name: '3 new' }).waitFor();
    expect(await page.locator(`#${read}`).boundingBox()).toEqual(before);
    await page.getByRole('button', { name: '3 new' }).click();
    await until('the newest are on top', async () => (await rows(page).nth(15).getAttribute('id')) === read);
    expect(await page.getByRole('button', { name: '3 new' }).count()).toBe(0);
    expect(tab.faults).toEqual([]);
  });

  test('a row that is walked to by keyboard keeps its place and its focus', async () => {
    await send(3);
    await using tab = await Tab.open(browser, stage);
    const { page } = tab;
    await tab.signIn('/deliveries');
    await until('they are there', async () => (await rows(page).count()) === 3);
    const link = rows(page).nth(1).getByRole('link');
    await page.keyboard.press('Tab');
    await link.focus();
    const read = await rows(page).nth(1).getAttribute('id');
    await send(2);
    await page.getByRole('button', { name: '2 new' }).waitFor();
    expect(await rows(page).nth(1).getAttribute('id')).toBe(read);
    expect(await page.evaluate('document.activeElement.closest("tr")?.id')).toBe(read);
  });

  test('switched off or out of view it asks nothing, and catches up when it comes back', async () => {
    await using tab = await Tab.open(browser, stage);
    const { page } = tab;
    await tab.signIn('/deliveries');
    await page.getByRole('heading', { name: 'Nothing has been sent yet' }).waitFor();
    let asked = 0;
    page.on('request', (request) => {
      if (request.url().includes('/deliveries')) asked += 1;
    });
    await page.getByRole('switch', { name: 'Live' }).click();
    expect(await page.getByRole('switch', { name: 'Live' }).getAttribute('aria-checked')).toBe('false');
    await send(1);
    await page.waitForTimeout(2_600);
    expect(asked).toBe(0);
    await page.getByRole('switch', { name: 'Live' }).click();
    await until('it catches up', async () => (await rows(page).count()) === 1);

    await setHidden(page, true);
    await page.waitForTimeout(300);
    asked = 0;
    await send(1);
    await page.waitForTimeout(2_600);
    expect(asked).toBe(0);
    await setHidden(page, false);
    await until('it catches up at once', async () => (await rows(page).count()) === 2);
    expect(tab.faults).toEqual([]);
  });
});

async function setHidden(page: Page, hidden: boolean): Promise<void> {
  await page.evaluate(`
    Object.defineProperty(document, 'hidden', { configurable: true, value: ${hidden} });
    document.dispatchEvent(new Event('visibilitychange'));`);
}

describe('one delivery', () => {
  test('shows its attempts, its next try, and its body pretty and to the byte', async () => {
    const body = '{"networkId":1,"event":"LatePayment","amount":12345678901234567890.10,  "note":"ä"}';
    stage.receiver.answerWith(503, '{"error":"down"}');
    await stage.client.events.publishText(body);
    await until('it waits for its third try', async () => {
      const { deliveries } = await stage.client.deliveries.list({ status: 'retrying' });
      return deliveries[0]?.attempts === 2;
    });
    await using tab = await Tab.open(browser, stage);
    const { page } = tab;
    await tab.signIn('/deliveries');
    await rows(page).first().click();
    const panel = panelOf(page);
    await panel.getByRole('heading', { name: 'Body' }).waitFor();
    const moments = await panel.getByRole('list', { name: 'Attempts' }).getByRole('listitem').allTextContents();
    expect(moments).toHaveLength(4);
    expect(moments[1]).toMatch(/First try.*Answered 503 after .*\{"error":"down"\}/);
    expect(moments[2]).toMatch(/Retry.*later.*Answered 503/);
    expect(moments[3]).toMatch(/Next try.*in/);
    expect(await panel.locator('.json-text code').textContent()).toContain('"amount": 12345678901234567890.10');
    await panel.getByRole('button', { name: 'Raw' }).click();
    expect(await panel.locator('.json-text code').textContent()).toBe(body);
    expect(await accessibilityFaults(page)).toEqual([]);
    expect(tab.faults).toEqual([]);
  });

  test('is opened, sent again and closed by keyboard alone', async () => {
    await send(2);
    await using tab = await Tab.open(browser, stage);
    const { page } = tab;
    await tab.signIn('/deliveries');
    await until('they are there', async () => (await rows(page).count()) === 2);
    await rows(page).first().getByRole('link').focus();
    await page.keyboard.press('Enter');
    const panel = panelOf(page);
    await panel.getByText('Answered 200').waitFor();
    expect(await page.evaluate('document.activeElement.textContent')).toBe('LatePayment');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Send again');
    await page.keyboard.press('Enter');
    await panel.getByText('Sent again', { exact: true }).waitFor();
    expect(stage.receiver.received).toHaveLength(3);
    await page.keyboard.press('Escape');
    await panel.waitFor({ state: 'detached' });
    expect(await page.evaluate('document.activeElement.className')).toBe('row-link');
    expect(tab.faults).toEqual([]);
  });

  test('that is gone is said to be gone', async () => {
    await using tab = await Tab.open(browser, stage);
    await tab.signIn('/deliveries?delivery=dlv_gone');
    await panelOf(tab.page).getByRole('alert').waitFor();
    expect(await panelOf(tab.page).getByRole('alert').textContent()).toContain('There is no such delivery');
    expect(tab.faultsBut(/status of 404/)).toEqual([]);
  });

  test('stands below the list on a phone and is brought into view', async () => {
    await send(25);
    await using tab = await Tab.open(browser, stage, { width: 390, height: 844 });
    const { page } = tab;
    await tab.signIn('/deliveries');
    await until('they are there', async () => (await rows(page).count()) === 25);
    await rows(page).nth(2).click();
    await panelOf(page).getByText('Answered 200').waitFor();
    await until('it stands at the top', async () => {
      const box = await panelOf(page).getByRole('heading', { level: 2 }).boundingBox();
      return box !== null && box.y >= 0 && box.y < 100;
    });
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
    expect(await accessibilityFaults(page)).toEqual([]);
    expect(tab.faults).toEqual([]);
  });
});

test('many are sent again: counted first, then followed to the end', async () => {
  await send(4);
  stage.receiver.answerWith(500, 'broken');
  await send(12, 'TransferCreated');
  stage.receiver.answerWith(200, 'mended');
  await using tab = await Tab.open(browser, stage);
  const { page } = tab;
  await tab.signIn('/deliveries?event=TransferCreated');
  await until('they are there', async () => (await total(page)) === '12');
  await page.getByRole('button', { name: 'Send many again' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('12 deliveries match').waitFor();
  await dialog.getByLabel('Status').selectOption('delivered');
  await dialog.getByText('0 deliveries match').waitFor();
  expect(await dialog.getByRole('button', { name: 'Send again' }).isDisabled()).toBe(true);
  await dialog.getByLabel('Status').selectOption('retrying');
  await dialog.getByText('12 deliveries match').waitFor();
  expect(await accessibilityFaults(page)).toEqual([]);
  expect(stage.receiver.received).toHaveLength(28);
  await dialog.getByRole('button', { name: 'Send 12 again' }).click();
  const progress = page.getByRole('region', { name: 'Bulk redelivery' });
  await progress.getByText('All were sent again').waitFor();
  expect(await progress.textContent()).toContain('12 of 12 sent · 12 delivered');
  expect(stage.receiver.received).toHaveLength(40);
  expect(page.url()).toContain('redelivery=rdl_');
  await page.reload();
  await progress.getByText('12 of 12 sent').waitFor();
  await progress.getByRole('button', { name: 'Put the progress away' }).click();
  await progress.waitFor({ state: 'detached' });
  expect(tab.faults).toEqual([]);
});

test('a server that goes away is said so beside what is still worth reading', async () => {
  await send(2);
  await using tab = await Tab.open(browser, stage);
  const { page } = tab;
  await tab.signIn('/deliveries');
  await until('they are there', async () => (await rows(page).count()) === 2);
  await page.route('**/api/**', (route) => route.abort());
  await page.getByRole('alert').waitFor();
  expect(await page.getByRole('alert').textContent()).toContain('Paybell cannot be reached');
  expect(await rows(page).count()).toBe(2);
  await page.unroute('**/api/**');
  await page.getByRole('alert').waitFor({ state: 'detached' });
});
