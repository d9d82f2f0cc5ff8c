import { describe, expect, test } from 'bun:test';
import type { Browser, Page } from 'playwright-core';
import { until } from '../support/until.ts';
import { accessibilityViolations } from './support/axe.ts';
import { withFreshStage } from './support/fresh-stage.ts';
import { LOOKS } from './support/looks.ts';
import { savePicture } from './support/pictures.ts';
import { shows } from './support/shown.ts';
import type { Stage } from './support/stage.ts';
import { Tab } from './support/tab.ts';

/** Finding deliveries: one search field, time ranges, and a number on each state. */

let browser: Browser;
let stage: Stage;

withFreshStage({ RETRY_SCHEDULE: '0s,1h' }, async (newBrowser, newStage) => {
  [browser, stage] = [newBrowser, newStage];
  const { client, receiver } = stage;
  const events = ['TransferCreated', 'LatePayment'];
  await client.webhooks.register({ postUrl: `${receiver.url}/hook`, networkIds: [1], events });
});

const rows = (page: Page) => page.locator('table.deliveries tbody tr');
const total = (page: Page) => page.locator('.pager strong').textContent();
const panelOf = (page: Page) => page.getByRole('complementary', { name: 'Delivery details' });
const tab = (page: Page, name: string) => page.getByRole('navigation', { name: 'Status' }).getByRole('link', { name });

/** One transfer is delivered, and then a late payment fails and waits for an hour. */
async function sendTwo(): Promise<void> {
  const { client, receiver } = stage;
  await client.events.publish({
    ...{ event: 'TransferCreated', networkId: 1, transferId: 'trf_8412', note: 'paid by Grace' },
  });
  const arrived = async () => (await client.deliveries.counts({ event: 'TransferCreated' })).delivered;
  await until('the first has arrived', async () => (await arrived()) === 1);
  receiver.respondWith(503, 'down for maintenance');
  await client.events.publish({ event: 'LatePayment', networkId: 1, agreementId: 'agr_7' });
  await until('the second is retried', async () => {
    const { deliveries } = await client.deliveries.list({ status: 'retrying' });
    return deliveries[0]?.attempts === 1;
  });
}

const search = async (page: Page, text: string) => {
  await page.getByLabel('Search', { exact: true }).fill(text);
  await page.keyboard.press('Enter');
};

/** What the list is asked for from now on. */
function textsSearchedFor(page: Page): string[] {
  const texts: string[] = [];
  page.on('request', (request) => {
    const { pathname, searchParams } = new URL(request.url());
    const q = searchParams.get('q');
    if (pathname.endsWith('/deliveries') && q !== null) texts.push(q);
  });
  return texts;
}

describe('the search', () => {
  test('finds deliveries by the id of a transfer or an agreement, and by a host', async () => {
    await sendTwo();
    await using session = await Tab.open(browser, stage);
    const { page } = session;
    await session.signIn('/deliveries');
    await until('both are listed', async () => (await total(page)) === '2');
    await search(page, 'trf_8412');
    await until('the transfer is found', async () => (await total(page)) === '1');
    expect(page.url()).toEndWith('/deliveries?q=trf_8412');
    expect(await rows(page).textContent()).toContain('TransferCreated');
    await page.getByLabel('Search', { exact: true }).fill('');
    await until('both are listed again', async () => (await total(page)) === '2');
    const searched = textsSearchedFor(page);
    await page.getByLabel('Search', { exact: true }).pressSequentially('agr_7');
    await until('the agreement is found while it is typed', async () =>
      Boolean((await rows(page).first().textContent())?.includes('LatePayment')),
    );
    expect(searched.every((text) => text.length >= 3)).toBe(true);
    expect(await page.getByLabel('Search', { exact: true }).inputValue()).toBe('agr_7');
    await search(page, new URL(stage.receiver.url).host);
    await until('the host is found', async () => (await total(page)) === '2');
    await search(page, '');
    await until('nothing is searched for', async () => page.url().endsWith('/deliveries'));
    expect(session.errors).toEqual([]);
  });

  test('says that an event reached no webhook, offers to look into payloads, and says how far it looked', async () => {
    await sendTwo();
    await using session = await Tab.open(browser, stage);
    const { page } = session;
    await session.signIn('/deliveries');
    await search(page, 'paid by Grace');
    await page.getByRole('heading', { name: 'No matching deliveries' }).waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    await savePicture(page, 'search without a match');
    await page.getByRole('button', { name: 'Search in the payloads of the last day' }).click();
    await until('the payload is found', async () => (await total(page)) === '1');
    await page.getByText('in the payloads of the newest 2 deliveries, back to').waitFor();
    expect(page.url()).toEndWith('/deliveries?payload=paid+by+Grace&range=1d');
    expect(await page.getByLabel('Search', { exact: true }).inputValue()).toBe('paid by Grace');
    // It would resend all of the last day.
    expect(await page.getByRole('button', { name: 'Bulk resend' }).isDisabled()).toBe(true);
    expect(await accessibilityViolations(page)).toEqual([]);
    await savePicture(page, 'search in payloads');

    await stage.client.events.publish({ event: 'TransferFinalized', networkId: 1, transferId: 'trf_unheard' });
    await search(page, 'trf_unheard');
    await page.getByText('Paybell has accepted an event with this ID, but it reached no webhook').waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    await savePicture(page, 'search for an event without deliveries');
    await page.getByRole('link', { name: 'Show the event' }).click();
    await page.locator('table.events').getByText('No webhook', { exact: true }).waitFor();
    expect(page.url()).toEndWith('/events?q=trf_unheard');
    await page.goBack();

    await search(page, 'paid by Ada');
    await page.getByRole('button', { name: 'Search in payloads' }).click();
    await page.getByText('in the payloads of the newest 2 deliveries').waitFor();
    await page.getByRole('button', { name: 'Show all deliveries' }).click();
    await until('all are listed', async () => (await total(page)) === '2');
    expect(page.url()).toEndWith('/deliveries');
    expect(session.errors).toEqual([]);
  });
});

test('a time range filters by when an event was accepted, and a custom one has its dates', async () => {
  await sendTwo();
  await using session = await Tab.open(browser, stage);
  const { page } = session;
  await session.signIn('/deliveries');
  await until('both are listed', async () => (await total(page)) === '2');
  const sinces: number[] = [];
  page.on('request', (request) => {
    const since = new URL(request.url()).searchParams.get('since');
    if (since !== null) sinces.push(Number(since));
  });
  await page.getByRole('button', { name: '15 min' }).click();
  // Shortly after midnight, the time has a date.
  await page.getByText(/since .*\d\d:\d\d/).waitFor();
  await until('the list is asked for with it', () => sinces.length > 0);
  expect(page.url()).toEndWith('/deliveries?range=15m');
  expect(Math.abs(Date.now() / 1000 - 900 - (sinces[0] ?? 0))).toBeLessThan(600);
  expect(await total(page)).toBe('2');
  await page.getByRole('button', { name: 'Custom' }).click();
  await page.getByLabel('From').fill('2040-01-01T12:00:00');
  await page.getByRole('heading', { name: 'No matching deliveries' }).waitFor();
  expect(await page.getByRole('button', { name: 'Custom' }).getAttribute('aria-pressed')).toBe('true');
  await page.getByRole('button', { name: 'Any time' }).click();
  await until('both are listed again', async () => (await total(page)) === '2');
  expect(page.url()).toEndWith('/deliveries');
  expect(session.errors).toEqual([]);
});

test('every state has its number, which follows the filters and what arrives', async () => {
  await sendTwo();
  await using session = await Tab.open(browser, stage);
  const { page } = session;
  await session.signIn('/deliveries');
  await tab(page, 'All 2').waitFor();
  await tab(page, 'Delivered 1').waitFor();
  await tab(page, 'Retrying 1').waitFor();
  await tab(page, 'Failed 0').waitFor();
  await tab(page, 'Retrying').click();
  await until('one is listed', async () => (await total(page)) === '1');
  await tab(page, 'All 2').waitFor();
  await page.goto('/deliveries?event=TransferCreated');
  await tab(page, 'All 1').waitFor();
  await tab(page, 'Retrying 0').waitFor();
  await stage.client.events.publish({ event: 'TransferCreated', networkId: 1 });
  await tab(page, 'All 2').waitFor();
  expect(await accessibilityViolations(page)).toEqual([]);
  expect(session.errors).toEqual([]);
});

describe('a row', () => {
  test.each([1_120, 1_280, 1_440, 1_920])(
    'shows the last response beside an open delivery, %d pixels',
    async (width) => {
      await sendTwo();
      await using session = await Tab.open(browser, stage, { width, height: 900 });
      const { page } = session;
      await session.signIn('/deliveries');
      await rows(page).first().click();
      await panelOf(page).getByText('HTTP 503').first().waitFor();
      await shows(rows(page).first().getByText('HTTP 503').locator('visible=true'), 1);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
      await savePicture(page, `delivery open ${width}`);
      expect(session.errors).toEqual([]);
    },
  );

  test('marks a test request, and never puts its next attempt into the past', async () => {
    const { client } = stage;
    const { webhooks } = await client.webhooks.list({ event: 'LatePayment' });
    await client.webhooks.sendTest(webhooks[0]?.webhookId ?? '');
    await sendTwo();
    await using session = await Tab.open(browser, stage);
    const { page } = session;
    await session.signIn('/deliveries');
    await until('all are listed', async () => (await rows(page).count()) === 3);
    await shows(rows(page).getByText('Test', { exact: true }).locator('visible=true'), 1);
    // Two hours later the attempt is overdue, as it is where a destination is unhealthy.
    await page.clock.install({ time: Date.now() + 2 * 3_600_000 });
    await page.reload();
    await rows(page).getByText('due now').locator('visible=true').waitFor();
    await rows(page).filter({ hasText: 'Retrying' }).click();
    await panelOf(page)
      .getByText(/Next attempt due now/)
      .first()
      .waitFor();
    expect(session.errors).toEqual([]);
  });
});

test.each(Object.values(LOOKS))('the list is accessible and fits, $theme, $width pixels', async ({ theme, width }) => {
  await sendTwo();
  await using session = await Tab.open(browser, stage, { theme, width, height: 900 });
  const { page } = session;
  await session.signIn('/deliveries');
  await tab(page, 'Retrying 1').waitFor();
  await shows(rows(page).first().getByText('HTTP 503').locator('visible=true'), 1);
  expect(await accessibilityViolations(page)).toEqual([]);
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
  await savePicture(page, `deliveries ${theme} ${width}`);
  expect(session.errors).toEqual([]);
});
