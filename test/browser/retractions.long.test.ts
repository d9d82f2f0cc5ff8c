import { describe, expect, test } from 'bun:test';
import type { Browser, Page } from 'playwright-core';
import type { Delivery } from '../../src/client/deliveries.ts';
import { RETRACTION } from '../../src/domain/event-kinds.ts';
import { until } from '../support/until.ts';
import { accessibilityViolations } from './support/axe.ts';
import { withFreshStage } from './support/fresh-stage.ts';
import { LOOKS } from './support/looks.ts';
import { inBlock, NetworkWriter } from './support/network-data.ts';
import { savePicture } from './support/pictures.ts';
import { shows } from './support/shown.ts';
import type { Stage } from './support/stage.ts';
import { Tab } from './support/tab.ts';

/** Deliveries of events that a network led to, as the dashboard shows them when the network takes one back. */

let browser: Browser;
let stage: Stage;

withFreshStage({ RETRY_SCHEDULE: '0s,1h' }, async (newBrowser, newStage) => {
  [browser, stage] = [newBrowser, newStage];
  const { client, receiver } = stage;
  const events = ['TransferProcessed', 'TransferFinalized'];
  await client.webhooks.register({ postUrl: `${receiver.url}/hook`, networkIds: [8453], events });
});

const panelOf = (page: Page) => page.getByRole('complementary', { name: 'Delivery details' });
const historyOf = (page: Page) => panelOf(page).getByRole('list', { name: 'History on the network' });
const stepsOf = (page: Page) => historyOf(page).locator('strong').allTextContents();
const fits = (page: Page) => page.evaluate('document.documentElement.scrollWidth <= innerWidth');

/** Waits until this many events of the kind are delivered, and returns them, oldest first. */
async function delivered(event: string, count: number): Promise<Delivery[]> {
  let found: Delivery[] = [];
  await until(`${count} ${event} delivered`, async () => {
    const status = 'delivered' as const;
    found = (await stage.client.deliveries.list({ event, status, sortDir: 'asc' })).deliveries;
    return found.length === count;
  });
  return found;
}

/** A payment that moved to another block, was retracted, came back and is final. */
async function payTwice(): Promise<void> {
  await using base = await NetworkWriter.open(stage, 8453);
  const fact = base.transfer('a', inBlock(38_214_500, 'a'));
  await base.step(38_214_500, [{ change: 'seen', fact }]);
  await delivered('TransferProcessed', 1);
  await base.step(38_214_502, [{ change: 'lost', ...fact, lostAtHead: 38_214_502 }]);
  await base.step(38_214_503, [{ change: 'moved', ...fact, position: inBlock(38_214_503, 'b') }]);
  await base.step(38_214_505, [{ change: 'lost', ...fact, lostAtHead: 38_214_505 }]);
  await base.step(38_214_509, [{ change: 'retracted', ...fact }]);
  await delivered(RETRACTION, 1);
  await base.step(38_214_520, [{ change: 'again', ...fact, position: inBlock(38_214_520, 'c') }]);
  await delivered('TransferProcessed', 2);
  await base.step(38_214_620, [], { safe: 38_214_600, final: 38_214_560 });
  await delivered('TransferFinalized', 1);
}

const HISTORY = [
  'Seen in block 38,214,500',
  'Lost: block 38,214,500 is gone',
  'Moved to block 38,214,503',
  'Lost: block 38,214,503 is gone',
  'Retracted',
  'Seen again in block 38,214,520',
  'Final in block 38,214,520',
];

describe('a retracted delivery', () => {
  test.each(Object.keys(LOOKS))('says so, with the history of its payment, and cannot be resent, %s', async (look) => {
    await payTwice();
    const [original] = await delivered('TransferProcessed', 2);
    await using tab = await Tab.open(browser, stage, LOOKS[look]);
    const { page } = tab;
    await tab.signIn(`/deliveries?delivery=${original?.deliveryId}`);
    await historyOf(page).waitFor();
    const panel = panelOf(page);
    expect(await panel.locator('.panel-state .badge').allInnerTexts()).toEqual(['Delivered', 'Retracted']);
    expect(await panel.locator('.alert').innerText()).toContain(
      'This payment is no longer on the chain, or its sender withdrew it',
    );
    expect(await panel.getByRole('button', { name: 'Resend' }).isDisabled()).toBe(true);
    await panel.getByText('A retracted event is not sent again.').waitFor();
    expect(await stepsOf(page)).toEqual(HISTORY);
    const told = await panel.locator('.fact-events li').allInnerTexts();
    expect(told.map((line) => line.replaceAll(/\s+/g, ' ').trim())).toEqual([
      'TransferProcessed seen · 1 delivery',
      'EventRetracted Retraction 1 delivery',
      'TransferProcessed seen · revision 2 · 1 delivery',
      'TransferFinalized final · revision 2 · 1 delivery',
    ]);
    expect(await fits(page)).toBe(true);
    await savePicture(page, `retracted ${look}`);
    expect(await accessibilityViolations(page)).toEqual([]);

    await panel.getByRole('link', { name: 'Show the retraction' }).click();
    const row = page.locator('table.deliveries tbody tr');
    await until('only the retraction is listed', async () => (await row.count()) === 1);
    expect(await row.innerText()).toContain('Retraction');
    expect(tab.errors).toEqual([]);
  });

  test.each(Object.keys(LOOKS))('has a retraction that says what it takes back, %s', async (look) => {
    await payTwice();
    const [retraction] = await delivered(RETRACTION, 1);
    await using tab = await Tab.open(browser, stage, LOOKS[look]);
    const { page } = tab;
    await tab.signIn(`/deliveries?delivery=${retraction?.deliveryId}`);
    await historyOf(page).waitFor();
    const panel = panelOf(page);
    expect(await panel.locator('.panel-state .badge').allInnerTexts()).toEqual(['Delivered', 'Retraction']);
    expect(await panel.locator('.alert').innerText()).toMatch(
      /Retracts TransferProcessed fct_\w+\. The network no longer has its transaction\./,
    );
    expect(await panel.getByRole('button', { name: 'Resend' }).isEnabled()).toBe(true);
    expect(await fits(page)).toBe(true);
    await savePicture(page, `retraction ${look}`);
    expect(await accessibilityViolations(page)).toEqual([]);
    await panel.locator('.alert').getByRole('link').click();
    const row = page.locator('table.deliveries tbody tr');
    await until('only the original is listed', async () => (await row.count()) === 1);
    expect(await row.innerText()).toContain('TransferProcessed');
    expect(tab.errors).toEqual([]);
  });
});

describe('the list', () => {
  test.each(Object.keys(LOOKS))('marks retractions and filters by them, %s', async (look) => {
    await payTwice();
    await using tab = await Tab.open(browser, stage, LOOKS[look]);
    const { page } = tab;
    await tab.signIn('/deliveries');
    const rows = page.locator('table.deliveries tbody tr');
    await until('all deliveries are listed', async () => (await rows.count()) === 4);
    const badge = rows.filter({ hasText: RETRACTION }).getByText('Retraction', { exact: true }).locator('visible=true');
    await shows(badge, 1);
    await shows(rows.getByText('Retraction', { exact: true }).locator('visible=true'), 1);
    expect(await fits(page)).toBe(true);
    await savePicture(page, `list with a retraction ${look}`);
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.getByText('Filter by event').click();
    await page.getByLabel('Event', { exact: true }).selectOption(RETRACTION);
    await until('the retraction is listed', async () => (await rows.count()) === 1);
    expect(page.url()).toEndWith('/deliveries?event=EventRetracted');
    expect(tab.errors).toEqual([]);
  });
});

describe('the history of a payment', () => {
  test('grows while the delivery is open, and is asked for no more once the payment is final', async () => {
    await using base = await NetworkWriter.open(stage, 8453);
    const fact = base.transfer('b', inBlock(100, 'a'));
    await base.step(100, [{ change: 'seen', fact }]);
    const [delivery] = await delivered('TransferProcessed', 1);
    await using tab = await Tab.open(browser, stage);
    const { page } = tab;
    let asked = 0;
    page.on('request', (request) => {
      if (request.url().includes('/facts/')) asked += 1;
    });
    await tab.signIn(`/deliveries?delivery=${delivery?.deliveryId}`);
    await until('the first step is shown', async () => (await stepsOf(page)).length === 1);
    expect(await stepsOf(page)).toEqual(['Seen in block 100']);
    expect(await panelOf(page).locator('.badge').allInnerTexts()).toEqual(['Delivered']);
    expect(await panelOf(page).getByRole('button', { name: 'Resend' }).isEnabled()).toBe(true);
    await base.step(130, [], { final: 114 });
    await until('it is final', async () => (await stepsOf(page)).at(-1) === 'Final in block 100');
    const before = asked;
    await page.waitForTimeout(6_000);
    expect(asked).toBe(before);
    expect(tab.errors).toEqual([]);
  });

  test('is not there for an event that was published, and nothing is asked for', async () => {
    await stage.client.events.publish({ event: 'TransferFinalized', networkId: 8453 });
    const [delivery] = await delivered('TransferFinalized', 1);
    await using tab = await Tab.open(browser, stage);
    const { page } = tab;
    page.on('request', (request) => {
      if (request.url().includes('/facts')) tab.errors.push(request.url());
    });
    await tab.signIn(`/deliveries?delivery=${delivery?.deliveryId}`);
    await panelOf(page).getByRole('heading', { name: 'Request body' }).waitFor();
    expect(await panelOf(page).innerText()).not.toContain('History on');
    expect(tab.errors).toEqual([]);
  });

  test.each([
    { status: 403, code: 'missing_permission', shown: 'this API key is missing the deliveries:read permission' },
    { status: 404, code: 'not_found', shown: 'It is older than the retention period and was removed.' },
    { status: 500, code: 'internal_error', shown: 'Try again' },
  ])('says why it cannot be shown, $status', async ({ status, code, shown }) => {
    await using base = await NetworkWriter.open(stage, 8453);
    await base.step(100, [{ change: 'seen', fact: base.transfer('c', inBlock(100, 'a')) }]);
    const [delivery] = await delivered('TransferProcessed', 1);
    await using tab = await Tab.open(browser, stage);
    const { page } = tab;
    const permission = status === 403 ? { permission: 'deliveries:read' } : {};
    const problem = {
      type: 'about:blank',
      title: 'Problem',
      detail: 'It went wrong.',
      requestId: 'req_1',
      ...permission,
    };
    const body = JSON.stringify({ ...problem, status, code });
    await page.route('**/facts/*', (route) => route.fulfill({ status, contentType: 'application/problem+json', body }));
    await tab.signIn(`/deliveries?delivery=${delivery?.deliveryId}`);
    await panelOf(page).getByText(shown).waitFor();
    expect(await panelOf(page).getByRole('alert').count()).toBe(status === 500 ? 1 : 0);
    await panelOf(page).getByRole('heading', { name: 'Request body' }).waitFor();
    await savePicture(page, `history ${status}`);
    expect(await accessibilityViolations(page)).toEqual([]);
    expect(tab.errorsExcept(new RegExp(`status of ${status}`))).toEqual([]);
  });
});
