import { describe, expect, test } from 'bun:test';
import type { Browser, Page } from 'playwright-core';
import type { AmountRule } from '../../src/domain/chain/finality-by-amount.ts';
import { EVENT_KINDS } from '../../src/domain/event-kinds.ts';
import { until } from '../support/until.ts';
import { accessibilityViolations } from './support/axe.ts';
import { ADMIN_KEY, withFreshStage } from './support/fresh-stage.ts';
import { savePicture } from './support/pictures.ts';
import { shows } from './support/shown.ts';
import type { Stage } from './support/stage.ts';
import { Tab } from './support/tab.ts';

let browser: Browser;
let stage: Stage;

withFreshStage({}, (newBrowser, newStage) => {
  [browser, stage] = [newBrowser, newStage];
});

const rows = (page: Page) => page.locator('table.webhooks tbody tr');
const total = (page: Page) => page.locator('.pager strong').textContent();

/** Thirty webhooks to filter, sort and page through. */
async function registerThirty(): Promise<void> {
  const { client, receiver } = stage;
  await client.webhooks.register({ postUrl: `${receiver.url}/a`, networkIds: [1, 10], events: [...EVENT_KINDS] });
  await client.webhooks.register({ postUrl: `${receiver.url}/b`, networkIds: [8453], events: [...EVENT_KINDS] });
  await client.webhooks.register({ postUrl: `${receiver.url}/c`, networkIds: [137, 900, 56], events: ['LatePayment'] });
  await client.webhooks.register({ postUrl: `${receiver.url}/d`, networkIds: [137, 56], events: ['TransferCreated'] });
  await client.webhooks.register({
    postUrl: `${receiver.url}/e`,
    networkIds: [1, 10, 56, 137],
    events: ['LatePayment'],
  });
}

describe('the list', () => {
  test('filters, sorts and paginates with exact totals, and the URL holds it all', async () => {
    await registerThirty();
    await using tab = await Tab.open(browser, stage);
    const { page } = tab;
    await tab.signIn('/webhooks');
    await until('the first page is shown', async () => (await rows(page).count()) === 25);
    expect(await total(page)).toBe('30');

    await page.getByRole('button', { name: 'Next page' }).click();
    await until('the second page is shown', async () => (await rows(page).count()) === 5);
    expect(page.url()).toEndWith('/webhooks?page=2');

    await page.getByLabel('Event', { exact: true }).selectOption('LatePayment');
    await until('the list is filtered', async () => (await total(page)) === '10');
    expect(page.url()).toEndWith('/webhooks?event=LatePayment');

    await page.getByRole('button', { name: 'Endpoint URL' }).click();
    await until('the list is sorted', async () => (await rows(page).first().textContent())?.includes('/a') ?? false);
    expect(page.url()).toEndWith('sortBy=postUrl&sortDir=asc');
    expect(await page.locator('th[aria-sort=ascending]').textContent()).toContain('Endpoint URL');

    await page.getByLabel('Network', { exact: true }).selectOption('137');
    await until('the list is filtered by both', async () => (await total(page)) === '2');
    const shared = page.url();
    await page.goBack();
    await until('going back undoes the last change', async () => (await total(page)) === '10');

    await page.goto(shared);
    await until('the shared URL shows the same list', async () => (await total(page)) === '2');
    expect(await page.getByLabel('Event', { exact: true }).inputValue()).toBe('LatePayment');
    expect(tab.errors).toEqual([]);
  });

  test('reports an invalid parameter in the URL', async () => {
    await using tab = await Tab.open(browser, stage);
    await tab.signIn('/webhooks?limit=1000');
    await tab.page.getByRole('alert').waitFor();
    expect(await tab.page.getByRole('alert').textContent()).toContain('limit must be a whole number from 1 to 100');
    expect(tab.errorsExcept(/status of 400/)).toEqual([]);
  });

  test('offers a way out of an empty result and of a page past the end', async () => {
    await registerThirty();
    await using tab = await Tab.open(browser, stage);
    await tab.signIn('/webhooks?page=9');
    await tab.page.getByRole('button', { name: 'Go to last page' }).click();
    await until('the last page is shown', async () => (await rows(tab.page).count()) === 5);
    await tab.page.getByLabel('Webhook ID').fill('wh_unknown');
    await tab.page.keyboard.press('Enter');
    await tab.page.getByRole('button', { name: 'Show all webhooks' }).click();
    await until('all webhooks are shown', async () => (await total(tab.page)) === '30');
    expect(tab.errors).toEqual([]);
  });
});

describe('changing webhooks', () => {
  test('an empty list says what to do, and the dialog shows how many webhooks it registers', async () => {
    await using tab = await Tab.open(browser, stage);
    const { page } = tab;
    await tab.signIn('/webhooks');
    expect(await page.locator('.state pre').textContent()).toContain(
      `curl -s '${stage.url}/api/v1/crypto/webhooks/classic'`,
    );
    await page.getByRole('button', { name: 'Register your first webhook' }).click();
    await page.getByLabel('Endpoint URL').and(page.locator(':focus')).waitFor();
    await page.keyboard.type(`${stage.receiver.url}/hook`);
    await page.getByLabel('Ethereum').check();
    await page.getByLabel('Other network ID').fill('59144');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Select all events' }).click();
    await page.getByLabel('LatePayment').uncheck();
    await page.getByText('2 networks × 6 events = 12 webhooks').waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Register 12 webhooks' }).click();
    await until('the webhooks are listed', async () => (await rows(page).count()) === 12);
    expect((await stage.client.webhooks.list({ networkId: 59144 })).totalResults).toBe(6);
    expect(tab.errors).toEqual([]);
  });

  test('a network that is typed and not added is registered too, and one that is none is pointed out', async () => {
    await using tab = await Tab.open(browser, stage);
    const { page } = tab;
    await tab.signIn();
    await page.getByRole('button', { name: 'Register your first webhook' }).click();
    await page.getByLabel('Endpoint URL').fill(`${stage.receiver.url}/hook`);
    await page.getByLabel('LatePayment').check();
    await page.getByLabel('Other network ID').fill('base');
    await page.getByText('A network ID is a whole number').waitFor();
    expect(
      await page
        .getByRole('dialog')
        .getByRole('button', { name: /^Register/ })
        .isDisabled(),
    ).toBe(true);
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.getByLabel('Other network ID').fill('59144');
    await page.getByText('1 network × 1 event = 1 webhook').waitFor();
    await page.getByRole('button', { name: 'Register 1 webhook' }).click();
    await until('it is listed', async () => (await rows(page).count()) === 1);
    expect((await stage.client.webhooks.list()).webhooks).toMatchObject([{ networkId: 59144, event: 'LatePayment' }]);
    expect(tab.errors).toEqual([]);
  });

  test('the dialog says which webhooks exist before and after they are registered again', async () => {
    const postUrl = `${stage.receiver.url}/hook`;
    await stage.client.webhooks.register({ postUrl, networkIds: [1], events: ['LatePayment'] });
    await stage.client.webhooks.register({ postUrl: `${postUrl}2`, networkIds: [10], events: ['LatePayment'] });
    await using tab = await Tab.open(browser, stage);
    const { page } = tab;
    await tab.signIn();
    const open = async (networks: string[]) => {
      await page.getByRole('button', { name: 'Register webhooks' }).click();
      await page.getByLabel('Endpoint URL').fill(postUrl);
      for (const network of networks) await page.getByRole('dialog').getByLabel(network).check();
      await page.getByRole('dialog').getByLabel('LatePayment').check();
    };
    await open(['Ethereum', 'OP Mainnet']);
    await page.getByText('2 networks × 1 event = 2 webhooks, of which 1 exists already').waitFor();
    await page.getByRole('button', { name: 'Register 2 webhooks' }).click();
    await page.getByText(`1 webhook registered for ${postUrl}. 1 existed already.`).waitFor();
    await open(['Ethereum']);
    await page.getByText('1 network × 1 event = 1 webhook, which exists already').waitFor();
    await page.getByRole('button', { name: 'Register 1 webhook' }).click();
    await page.getByText(`The webhook for ${postUrl} existed already. Nothing has changed.`).waitFor();
    expect((await stage.client.webhooks.list()).totalResults).toBe(3);
    expect(tab.errors).toEqual([]);
  });

  test('the dialog takes the keys that are pressed right after it was asked for', async () => {
    await using tab = await Tab.open(browser, stage);
    await tab.signIn('/webhooks');
    await tab.page.getByRole('button', { name: 'Register your first webhook' }).waitFor();
    const focused = await tab.page.evaluate(`(async () => {
      document.querySelector('.state button').click();
      await new Promise((resolve) => setTimeout(resolve));
      return document.activeElement.placeholder;
    })()`);
    expect(focused).toBe('https://example.com/hooks/paybell');
  });

  test('an invalid URL is explained at its field', async () => {
    await using tab = await Tab.open(browser, stage);
    const { page } = tab;
    await tab.signIn('/webhooks');
    await page.getByRole('button', { name: 'Register webhooks', exact: true }).click();
    await page.getByLabel('Endpoint URL').fill('ftp://example.com');
    await page.getByLabel('Ethereum').check();
    await page.getByLabel('LatePayment').check();
    await page.getByRole('button', { name: 'Register 1 webhook' }).click();
    await page.locator('.error-text').waitFor();
    expect(await page.getByLabel('Endpoint URL').getAttribute('aria-invalid')).toBe('true');
    expect(tab.errorsExcept(/status of 400/)).toEqual([]);
  });

  test('the URL of a webhook is changed', async () => {
    const { client, receiver } = stage;
    await client.webhooks.register({ postUrl: `${receiver.url}/old`, networkIds: [1], events: ['LatePayment'] });
    await using tab = await Tab.open(browser, stage);
    await tab.signIn('/webhooks');
    await tab.page.getByRole('button', { name: /^Edit LatePayment/ }).click();
    await tab.page.getByLabel('Endpoint URL').fill(`${receiver.url}/new`);
    await tab.page.getByRole('button', { name: 'Save' }).click();
    await until(
      'the row shows the new URL',
      async () => (await rows(tab.page).first().textContent())?.includes('/new') ?? false,
    );
    expect((await client.webhooks.list()).webhooks[0]?.postUrl).toBe(`${receiver.url}/new`);
    expect(tab.errors).toEqual([]);
  });

  test('a deletion can be undone for a moment and then happens', async () => {
    const { client, receiver } = stage;
    await client.webhooks.register({ postUrl: `${receiver.url}/x`, networkIds: [1, 10], events: ['LatePayment'] });
    await using tab = await Tab.open(browser, stage);
    const { page } = tab;
    await page.clock.install();
    await tab.signIn('/webhooks');
    await page.getByRole('button', { name: /^Delete LatePayment on network 1 / }).click();
    await page.getByRole('cell', { name: /Deleting in/ }).waitFor();
    expect(await page.evaluate('document.activeElement.textContent')).toContain('Undo');
    await page.keyboard.press('Enter');
    await page.clock.runFor(20_000);
    expect((await client.webhooks.list()).totalResults).toBe(2);

    await page.getByRole('button', { name: /^Delete LatePayment on network 1 / }).click();
    await page.clock.runFor(9_000);
    await until('the webhook is deleted', async () => (await client.webhooks.list()).totalResults === 1);
    await until('the row is gone', async () => (await rows(page).count()) === 1);
    expect(tab.errors).toEqual([]);
  });

  test('a deletion happens even if the tab is closed before its delay is over', async () => {
    const { client, receiver } = stage;
    await client.webhooks.register({ postUrl: `${receiver.url}/x`, networkIds: [1], events: ['LatePayment'] });
    await using tab = await Tab.open(browser, stage);
    await tab.signIn('/webhooks');
    await tab.page.getByRole('button', { name: /^Delete LatePayment/ }).click();
    await tab.page.goto('about:blank');
    // Throws if the webhook stays.
    await until('the webhook is deleted', async () => (await client.webhooks.list()).totalResults === 0);
  });
});

describe('the health of webhooks', () => {
  test('a test event is sent and its response is shown under the webhook', async () => {
    const { client, receiver } = stage;
    await client.webhooks.register({ postUrl: `${receiver.url}/x`, networkIds: [1], events: ['LatePayment'] });
    await using tab = await Tab.open(browser, stage);
    await tab.signIn('/webhooks');
    await tab.page.getByRole('button', { name: /^Send test event/ }).click();
    await tab.page.getByText('HTTP 200').waitFor();
    expect(receiver.received.map(({ body }) => JSON.parse(body))).toMatchObject([{ event: 'LatePayment', test: true }]);
    receiver.respondWith(503, 'closed for today');
    await tab.page.getByRole('button', { name: /^Send test event/ }).click();
    await tab.page.getByText('HTTP 503').waitFor();
    expect(await tab.page.locator('.test-response').textContent()).toBe('closed for today');
    expect(tab.errors).toEqual([]);
  });

  test('each webhook has its state, and a suspended one its reason, and can be resumed', async () => {
    const { client, receiver } = stage;
    await client.webhooks.register({ postUrl: `${receiver.url}/x`, networkIds: [1, 10], events: ['LatePayment'] });
    receiver.respondWith(410);
    await client.events.publish({ event: 'LatePayment', networkId: 1 });
    const suspended = async () =>
      (await client.webhooks.coverage()).networks[0]?.events.some((cell) => cell.suspended > 0) ?? false;
    await until('the webhook is suspended', suspended);
    receiver.respondWith(200);
    await using tab = await Tab.open(browser, stage);
    const { page } = tab;
    await tab.signIn('/webhooks');
    await page.getByText('1 webhook is suspended.').waitFor();
    await page.getByText('The endpoint responded with 410 Gone').waitFor();
    await shows(page.locator('tr.row-warning'), 1);
    const marked = (state: string) => rows(page).getByText(state, { exact: true });
    await until('the other is known to be active', async () => (await marked('Active').count()) === 1);
    await savePicture(page, 'webhooks with their state');
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.getByRole('button', { name: /^Resume LatePayment on network 1 / }).click();
    await until('the webhook is resumed', async () => !(await suspended()));
    await until('no row is marked', async () => (await page.locator('tr.row-warning').count()) === 0);
    await until('both are active', async () => (await marked('Active').count()) === 2);
    const { endpoints } = await client.endpoints.list();
    await client.endpoints.pause(endpoints[0]?.endpointId ?? '');
    await page.reload();
    await until('both are paused', async () => (await marked('Paused').count()) === 2);
    expect(await accessibilityViolations(page)).toEqual([]);
    expect(tab.errors).toEqual([]);
  });
});

test('a webhook is registered, tested and deleted by keyboard alone', async () => {
  const { client, receiver } = stage;
  await using tab = await Tab.open(browser, stage);
  const { page } = tab;
  const press = async (name: RegExp, key: string) => {
    await tab.tabTo(name);
    await page.keyboard.press(key);
  };
  await tab.signIn('/webhooks');
  await page.getByText('No webhooks yet').waitFor();
  await press(/^Register your first webhook$/, 'Enter');
  await page.locator('input:focus').waitFor();
  await page.keyboard.type(`${receiver.url}/hook`);
  await press(/^Base/, 'Space');
  await press(/^LatePayment$/, 'Space');
  await press(/^Register 1 webhook$/, 'Enter');
  await page.getByRole('button', { name: /^Send test event/ }).waitFor();
  await press(/^Send test event/, 'Enter');
  await page.getByText('HTTP 200').waitFor();
  await press(/^Delete LatePayment/, 'Enter');
  await page.locator('button:focus', { hasText: 'Undo' }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: /^Delete LatePayment/ }).waitFor();
  expect((await client.webhooks.list()).totalResults).toBe(1);
  expect(tab.errors).toEqual([]);
});

test('a read-only key shows the list and the name of the missing permission', async () => {
  const { client, receiver, credentials, url } = stage;
  const { Paybell } = await import('../../src/client/paybell.ts');
  await client.webhooks.register({ postUrl: `${receiver.url}/x`, networkIds: [1], events: ['LatePayment'] });
  const { apiKey } = await new Paybell({ url, apiKey: ADMIN_KEY }).admin.createKey({
    entityId: credentials.entityId,
    permissions: ['webhooks:read'],
  });
  await using tab = await Tab.open(browser, stage);
  await tab.signIn('/webhooks', { credentials: { entityId: credentials.entityId, apiKey } });
  await tab.page.getByText('This API key is missing webhooks:write').waitFor();
  expect(await tab.page.getByRole('button', { name: /^Send test event/ }).isDisabled()).toBe(true);
  expect(await tab.page.getByRole('button', { name: /^Delete LatePayment/ }).isDisabled()).toBe(true);
  expect(tab.errors).toEqual([]);
});

test('the list has no accessibility violation, in either theme and on a phone', async () => {
  await registerThirty();
  for (const look of [{ theme: 'light' }, { theme: 'dark' }, { theme: 'dark', width: 390, height: 844 }] as const) {
    await using tab = await Tab.open(browser, stage, look);
    await tab.signIn('/webhooks');
    await until('the list is shown', async () => (await rows(tab.page).count()) === 25);
    expect(await accessibilityViolations(tab.page)).toEqual([]);
    expect(await tab.page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    expect(tab.errors).toEqual([]);
  }
});

describe('the options of a webhook', () => {
  const FILTER = { amount: { min: '100', max: '999.99' }, token: ['USDC', 'DAI'] };

  test('have a filter that is shown in words, changed, and removed', async () => {
    const { client, receiver } = stage;
    const { webhooks } = await client.webhooks.register({
      postUrl: `${receiver.url}/hook`,
      networkIds: [1],
      events: ['LatePayment'],
      options: { filter: FILTER },
    });
    const webhookId = webhooks[0]?.webhookId ?? '';
    await using tab = await Tab.open(browser, stage);
    const { page } = tab;
    await tab.signIn('/webhooks');
    const dialog = page.getByRole('dialog', { name: 'Options' });
    const open = () => page.getByRole('button', { name: /^Options of LatePayment/ }).click();
    await open();
    await dialog.getByText('amount is from 100 to 999.99').waitFor();
    await dialog.getByText('token is USDC or DAI').waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);

    await dialog.getByLabel('Filter as JSON').fill('{"amount": {"min": "0.5"}}');
    await dialog.getByText('amount is at least 0.5').waitFor();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await client.webhooks.options(webhookId)).toEqual({ finality: 'seen', filter: { amount: { min: '0.5' } } });

    await open();
    await dialog.getByRole('button', { name: 'Remove filter' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await client.webhooks.options(webhookId)).toEqual({ finality: 'seen', filter: null });
    await open();
    await dialog.getByText('Receives these events with any payload.').waitFor();
    expect(tab.errors).toEqual([]);
  });

  test.each([390, 1440])(
    'have a finality, chosen at the registration and changed later, %i pixels wide',
    async (width) => {
      const { client, receiver } = stage;
      await using tab = await Tab.open(browser, stage, { width, height: 900 });
      const { page } = tab;
      await tab.signIn('/webhooks');
      await page.getByRole('button', { name: 'Register your first webhook' }).click();
      await page.getByLabel('Endpoint URL').fill(`${receiver.url}/hook`);
      await page.getByLabel('Ethereum').check();
      for (const event of ['TransferProcessed', 'TransferFinalized']) await page.getByLabel(event).check();
      await page.getByLabel('Finality', { exact: true }).selectOption({ label: 'Confirmations' });
      await page.getByLabel('Number of confirmations').fill('30');
      await page.getByRole('button', { name: 'Register 2 webhooks' }).click();
      await page.getByText('must be "final" for TransferFinalized').waitFor();
      expect(await accessibilityViolations(page)).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
      await page.getByLabel('TransferFinalized').uncheck();
      await page.getByRole('button', { name: 'Register 1 webhook' }).click();
      await until('the webhook is listed', async () => (await rows(page).count()) === 1);
      const { webhooks } = await client.webhooks.list();
      const webhookId = webhooks[0]?.webhookId ?? '';
      expect(await client.webhooks.options(webhookId)).toEqual({ finality: 30, filter: null });
      const shown = (text: string) =>
        until(`the row says ${text}`, async () => (await rows(page).innerText()).includes(text));
      await shown('Finality: 30 confirmations');
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);

      await page.getByRole('button', { name: /^Options of TransferProcessed/ }).click();
      const dialog = page.getByRole('dialog', { name: 'Options' });
      expect(await dialog.getByLabel('Number of confirmations').inputValue()).toBe('30');
      expect(await accessibilityViolations(page)).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
      await dialog.getByLabel('Finality', { exact: true }).selectOption('safe');
      await dialog.getByRole('button', { name: 'Save' }).click();
      await dialog.waitFor({ state: 'detached' });
      expect(await client.webhooks.options(webhookId)).toEqual({ finality: 'safe', filter: null });
      await shown('Finality: safe');
      expect(await accessibilityViolations(page)).toEqual([]);

      await page.getByRole('button', { name: /^Options of TransferProcessed/ }).click();
      await dialog.getByLabel('Finality', { exact: true }).selectOption('seen');
      await dialog.getByRole('button', { name: 'Save' }).click();
      await until('the default is not shown', async () => !(await rows(page).innerText()).includes('Finality'));
      expect(tab.errorsExcept(/status of 400/)).toEqual([]);
    },
  );

  test.each([390, 1440])('have a finality by amount, with rules in a form, %i pixels wide', async (width) => {
    const { client, receiver } = stage;
    const { webhooks } = await client.webhooks.register({
      ...{ postUrl: `${receiver.url}/hook`, networkIds: [1], events: ['TransferProcessed'] },
    });
    const webhookId = webhooks[0]?.webhookId ?? '';
    await using tab = await Tab.open(browser, stage, { width, height: 900 });
    const { page } = tab;
    await tab.signIn('/webhooks');
    await page.getByRole('button', { name: /^Options of TransferProcessed/ }).click();
    const dialog = page.getByRole('dialog', { name: 'Options' });
    await dialog.getByLabel('Finality', { exact: true }).selectOption({ label: 'By amount: small payments early' });
    expect(await dialog.getByLabel('Amount of rule 1 in US dollars').inputValue()).toBe('50');
    await dialog.getByRole('button', { name: 'Add a rule' }).click();
    await dialog.getByLabel('Amount of rule 2 in US dollars').fill('20');
    await dialog.getByLabel('Finality of rule 2').selectOption({ label: 'Confirmations' });
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText('must be more than the maxAmount before it').waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    await dialog.getByLabel('Amount of rule 2 in US dollars').fill('500');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    const rules: AmountRule[] = [
      { maxAmount: '50', tokens: ['usd'], finality: 'seen' },
      { maxAmount: '500', tokens: ['usd'], finality: 12 },
    ];
    expect(await client.webhooks.options(webhookId)).toEqual({ finality: { rules, otherwise: 'final' }, filter: null });
    await page
      .getByText('Finality: seen up to 50 USD, 12 confirmations up to 500 USD, otherwise final')
      .first()
      .waitFor({
        state: 'attached',
      });
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    await page.getByRole('button', { name: /^Options of TransferProcessed/ }).click();
    await dialog.getByRole('button', { name: 'Remove rule 1' }).click();
    await dialog.getByLabel('Finality of all other payments').selectOption('safe');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await client.webhooks.options(webhookId)).toEqual({
      ...{ finality: { rules: rules.slice(1), otherwise: 'safe' }, filter: null },
    });
    expect(tab.errorsExcept(/status of 400/)).toEqual([]);
  });

  test('with errors are not saved, and each error names its field', async () => {
    const { client, receiver } = stage;
    const webhookIds = await client.webhooks.register({
      postUrl: `${receiver.url}/hook`,
      networkIds: [1],
      events: ['LatePayment'],
    });
    await using tab = await Tab.open(browser, stage, { width: 390, height: 844 });
    const { page } = tab;
    await tab.signIn('/webhooks');
    await page.getByRole('button', { name: /^Options of LatePayment/ }).click();
    const dialog = page.getByRole('dialog', { name: 'Options' });
    const text = dialog.getByLabel('Filter as JSON');
    await text.fill('{"amount": ');
    await dialog.getByText('The filter is not valid JSON').waitFor();
    expect(await dialog.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true);
    await text.fill('{"amount": {"min": "ten", "max": 5}, "token": []}');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.locator('.error-line').first().waitFor();
    expect(await dialog.locator('.error-line').allTextContents()).toEqual([
      'amount.min must be a decimal as a string, such as "10.50"',
      'amount.max must be a decimal as a string, such as "10.50"',
      'token must have at least one value',
    ]);
    expect(await text.getAttribute('aria-invalid')).toBe('true');
    expect(await accessibilityViolations(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    expect(await client.webhooks.options(webhookIds.webhooks[0]?.webhookId ?? '')).toEqual({
      finality: 'seen',
      filter: null,
    });
    expect(tab.errorsExcept(/status of 400/)).toEqual([]);
  });
});
