import { describe, expect, test } from 'bun:test';
import type { Browser, Locator, Page } from 'playwright-core';
import { Paybell } from '../../src/client/paybell.ts';
import type { FoundFact } from '../../src/domain/chain/facts.ts';
import { CONFIRMED } from '../support/chain/steps.ts';
import { until } from '../support/until.ts';
import { accessibilityViolations } from './support/axe.ts';
import { ADMIN_KEY, withFreshStage } from './support/fresh-stage.ts';
import { LOOKS } from './support/looks.ts';
import { inBlock, NetworkWriter } from './support/network-data.ts';
import { savePicture } from './support/pictures.ts';
import { shows } from './support/shown.ts';
import type { Stage } from './support/stage.ts';
import { Tab } from './support/tab.ts';

/** Payments: the list, one payment, and the way from a transaction hash to it. */

let browser: Browser;
let stage: Stage;

withFreshStage({ RETRY_SCHEDULE: '0s,1h' }, (newBrowser, newStage) => {
  [browser, stage] = [newBrowser, newStage];
});

const USDC = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913';
const FAKE = `0x${'5'.repeat(40)}`;
const PAYER = '0x71C7656EC7ab88b098defB751B7401B5f6d8976F';
const SHOP = '0x52908400098527886E0F7030069857D2E4169EE7';
const HEAD = 38_214_500;

const rows = (page: Page) => page.locator('table.payments tbody tr');
const fits = (page: Page) => page.evaluate('document.documentElement.scrollWidth <= innerWidth');
const answer = (page: Page, question: string) =>
  page.locator('.answer', { hasText: question }).locator('.answer-short').innerText();

/** One payment of each kind: final, waiting for finality, retracted, and one of a network without a webhook. */
async function payAll(): Promise<Record<'final' | 'seen' | 'retracted' | 'unwanted', FoundFact>> {
  const { client, receiver } = stage;
  const events = ['TransferProcessed', 'TransferFinalized'];
  await client.webhooks.register({ postUrl: `${receiver.url}/hook`, networkIds: [8453], events });
  await using base = await NetworkWriter.open(stage, 8453);
  await using ethereum = await NetworkWriter.open(stage, 1);
  const make = (writer: NetworkWriter, letter: string, amount: string, block: number, token = USDC): FoundFact => ({
    ...writer.transfer(letter, { ...inBlock(block, 'a'), blockS: Math.floor(Date.now() / 1000) - 4 }),
    fields: { payer: PAYER, payee: SHOP, token, amount, amountBase: `${amount.replace('.', '')}0000` },
  });
  const all = {
    final: make(base, 'a', '1234567.89', HEAD),
    seen: make(base, 'b', '25', HEAD + 150),
    retracted: make(base, 'c', '7.5', HEAD + 151, FAKE),
    unwanted: make(ethereum, 'd', '0.000001', 23_811_280),
  };
  const found = (fact: FoundFact) => ({ change: 'seen', fact, evidence: CONFIRMED }) as const;
  await base.step(HEAD + 10, [found(all.final)]);
  await base.step(HEAD + 160, [found(all.seen), found(all.retracted)], { final: HEAD + 60, finalLagMs: 184_000 });
  await ethereum.step(23_811_280, [found(all.unwanted)]);
  const deliveries = async () => (await client.deliveries.list({ status: 'delivered' })).totalResults;
  await until('the first events are delivered', async () => (await deliveries()) === 4);
  const { retracted } = all;
  await base.step(HEAD + 161, [{ change: 'lost', ...retracted, lostAtHead: HEAD + 161 }], { finalLagMs: 184_000 });
  await base.step(HEAD + 162, [{ change: 'retracted', ...retracted }], { finalLagMs: 184_000 });
  return all;
}

/** One payment that a webhook for payments that are seen wants. */
async function payOne(amounts: object, more: Partial<FoundFact> = {}, letter = 'd'): Promise<FoundFact> {
  const { client, receiver } = stage;
  await client.webhooks.register({
    postUrl: `${receiver.url}/hook`,
    networkIds: [8453],
    events: ['TransferProcessed'],
  });
  await using base = await NetworkWriter.open(stage, 8453);
  const fact: FoundFact = {
    ...base.transfer(letter, inBlock(HEAD, 'a')),
    fields: { payer: PAYER, payee: SHOP, token: USDC, ...amounts },
    ...more,
  };
  await base.step(HEAD + 1, [{ change: 'seen', fact, evidence: CONFIRMED }]);
  return fact;
}

async function shownTexts(elements: Locator, count: number): Promise<string[]> {
  await shows(elements, count);
  return elements.allInnerTexts();
}

describe('the list of payments', () => {
  test.each(Object.keys(LOOKS))('shows the state, the exact amount and who has each payment, %s', async (look) => {
    await payAll();
    await using tab = await Tab.open(browser, stage, LOOKS[look]);
    const { page } = tab;
    await tab.signIn('/payments');
    await shows(rows(page), 4);
    const texts = (await rows(page).allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' '));
    const row = (amount: string) => texts.find((text) => text.includes(amount)) ?? '';
    expect(row('1,234,567.89 USDC')).toContain('Final');
    expect(row('1,234,567.89 USDC')).toContain('to 2 of 2');
    expect(row('25 USDC')).toContain('Seen');
    expect(row('25 USDC')).toContain('to 1 of 2');
    expect(row('7.5 0x5555…5555')).toContain('Retracted');
    expect(row('7.5 0x5555…5555')).not.toContain('to 1 of');
    expect(row('0.000001')).toContain('no webhook');
    expect(row('25 USDC')).toContain('0x71C7…976F');
    expect(await fits(page)).toBe(true);
    await savePicture(page, `payments ${look}`);
    expect(await accessibilityViolations(page)).toEqual([]);
    expect(tab.errors).toEqual([]);
  });

  test('is filtered by state and network, and empty with the way out', async () => {
    await payAll();
    await using tab = await Tab.open(browser, stage);
    const { page } = tab;
    await tab.signIn('/payments');
    await shows(rows(page), 4);
    await page.getByLabel('State').selectOption('retracted');
    await shows(rows(page), 1);
    await page.getByLabel('Network').selectOption('1');
    await page.getByRole('heading', { name: 'No matching payments' }).waitFor();
    await page.getByRole('button', { name: 'Show all payments' }).click();
    await shows(rows(page), 4);
    await page.locator('h1').focus();
    await page.keyboard.press('/');
    await page.keyboard.type('7.5');
    await page.keyboard.press('Enter');
    await shows(rows(page), 1);
    expect(tab.errors).toEqual([]);
  });

  test.each(Object.keys(LOOKS))('says what to do while there is none, %s', async (look) => {
    await using tab = await Tab.open(browser, stage, LOOKS[look]);
    const { page } = tab;
    await tab.signIn('/payments');
    await page.getByRole('heading', { name: 'No payments yet' }).waitFor();
    expect(await fits(page)).toBe(true);
    await savePicture(page, `payments empty ${look}`);
    expect(await accessibilityViolations(page)).toEqual([]);
    expect(tab.errors).toEqual([]);
  });

  test.each(Object.keys(LOOKS))('names the permission that a key is missing, and a failure, %s', async (look) => {
    const operator = new Paybell({ url: stage.url, entityId: stage.credentials.entityId, apiKey: ADMIN_KEY });
    const { apiKey } = await operator.keys.create({ name: 'Reader', permissions: ['deliveries:read'] });
    await using tab = await Tab.open(browser, stage, LOOKS[look]);
    const { page } = tab;
    await tab.signIn('/payments', { credentials: { ...stage.credentials, apiKey } });
    await page.getByRole('heading', { name: 'Permission required' }).waitFor();
    await savePicture(page, `payments forbidden ${look}`);
    expect(await accessibilityViolations(page)).toEqual([]);
    await using other = await Tab.open(browser, stage, LOOKS[look]);
    await other.page.route('**/payments?*', (route) => route.fulfill({ status: 500, body: 'no' }));
    await other.page.route('**/api/v1/crypto/payments', (route) => route.fulfill({ status: 500, body: 'no' }));
    await other.signIn('/payments');
    await other.page.getByRole('button', { name: 'Try again' }).waitFor();
    await savePicture(other.page, `payments failing ${look}`);
    expect(await accessibilityViolations(other.page)).toEqual([]);
  });
});

describe('a payment', () => {
  const CASES = [
    ['final', ['Yes', 'No', '2 of 2 webhooks'], 'Every webhook that wants this payment has it.'],
    ['seen', ['Yes', 'Yes, by a reorg', '1 of 2 webhooks'], '1 webhook waits'],
    ['retracted', ['No', 'It was undone', '1 webhook had it'], 'Paybell has retracted it'],
    ['unwanted', ['Yes', 'Yes, by a reorg', 'None'], 'No webhook wants this payment.'],
  ] as const;

  test.each(CASES)('that is %s answers the three questions one click from the start', async (kind, answers, words) => {
    const facts = await payAll();
    for (const look of Object.keys(LOOKS)) {
      await using tab = await Tab.open(browser, stage, LOOKS[look]);
      const { page } = tab;
      await tab.signIn('/');
      await page.getByLabel('Find', { exact: true }).fill(facts[kind].transactionHash);
      await page.getByRole('button', { name: 'Find' }).click();
      await page.locator('.answers').waitFor();
      expect([
        await answer(page, 'Was it paid?'),
        await answer(page, 'Can it still be undone?'),
        await answer(page, 'Which webhooks have it?'),
      ]).toEqual([...answers]);
      expect(await page.locator('main').innerText()).toContain(words);
      expect(await fits(page)).toBe(true);
      await savePicture(page, `payment ${kind} ${look}`);
      expect(await accessibilityViolations(page)).toEqual([]);
      expect(tab.errors).toEqual([]);
    }
  });

  test('has a timeline, a status with a reason for each webhook, its raw record and a link to an explorer', async () => {
    const { seen, retracted } = await payAll();
    await using tab = await Tab.open(browser, stage);
    const { page } = tab;
    await tab.signIn(`/payments/pay_${seen.factId.slice(4)}`);
    await page.getByRole('heading', { name: '25 USDC from 0x71C7…976F', level: 1 }).waitFor();
    expect(await page.locator('.payment-sentence p').innerText()).toMatch(/^Final in about 3 min; 1 webhook waits\.$/);
    const steps = await page.getByRole('list', { name: 'Steps of the payment' }).locator('strong').allInnerTexts();
    expect(steps[0]?.trim()).toBe(`Seen in block ${(HEAD + 150).toLocaleString('en-GB')}`);
    expect(steps.map((text) => text.trim())).toContain('TransferProcessed delivered');
    expect(steps.at(-1)).toMatch(/^Final in about/);
    const webhooks = await page.locator('.payment-webhooks > li').allInnerTexts();
    expect(webhooks.map((text) => text.split('\n')[0]?.trim())).toEqual(['Delivered', 'Waits']);
    expect(webhooks[1]).toContain('does not have the finality final yet');
    expect(await page.getByRole('link', { name: 'Show in explorer' }).getAttribute('href')).toBe(
      `https://basescan.org/tx/${seen.transactionHash}`,
    );
    await page.getByText('Raw record').click();
    await page.locator('.json-text', { hasText: 'transactionHash' }).waitFor();
    await page.getByRole('button', { name: 'Copy transaction' }).click();
    await page.getByText('Copied').first().waitFor({ state: 'attached' });

    await page.goto(`/payments/pay_${retracted.factId.slice(4)}`);
    await page.locator('.answers').waitFor();
    expect(await page.locator('.payment-webhooks').innerText()).toContain('Retracted');
    await page.goto(`/payments/pay_${'z'.repeat(26)}`);
    await page.getByText('There is no payment with this id.').waitFor();
    expect(tab.errorsExcept(/404/)).toEqual([]);
  });

  test.each(Object.keys(LOOKS))('names the webhook whose delivery fails, and the reason, %s', async (look) => {
    stage.receiver.respondWith(503, 'closed');
    const fact = await payOne({ amount: '25', amountBase: '25000000' });
    const retrying = async () => (await stage.client.deliveries.list({ status: 'retrying' })).totalResults === 1;
    await until('the first attempt has failed', retrying);
    await using tab = await Tab.open(browser, stage, LOOKS[look]);
    const { page } = tab;
    await tab.signIn(`/payments/pay_${fact.factId.slice(4)}`);
    const [webhook] = await shownTexts(page.locator('.payment-webhooks > li'), 1);
    expect(webhook).toContain('Retrying');
    expect(webhook).toContain('503');
    expect(await answer(page, 'Which webhooks have it?')).toBe('0 of 1 webhook');
    await page
      .locator('.answers')
      .getByText('The last attempt to 1 webhook failed, and another one follows.')
      .waitFor();
    await savePicture(page, `payment failing delivery ${look}`);
    expect(await accessibilityViolations(page)).toEqual([]);
    expect(tab.errors).toEqual([]);
  });

  test.each(Object.keys(LOOKS))('of the amount 0 and dust have a label and were not paid, %s', async (look) => {
    const zero = await payOne({ amount: '0', amountBase: '0' }, { isDust: true, isSilent: true });
    const dust = await payOne({ amount: '0.000001', amountBase: '1' }, { isDust: true, isSilent: true }, 'e');
    await using tab = await Tab.open(browser, stage, LOOKS[look]);
    const { page } = tab;
    await tab.signIn('/payments');
    await shows(rows(page), 2);
    const texts = await rows(page).allInnerTexts();
    expect(texts.filter((text) => text.includes('Zero amount'))).toHaveLength(1);
    expect(texts.filter((text) => text.includes('Dust'))).toHaveLength(1);
    await savePicture(page, `payments poison ${look}`);
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.goto(`/payments/pay_${zero.factId.slice(4)}`);
    await page.getByText('Anyone can create such a transfer for any address').waitFor();
    expect(await answer(page, 'Was it paid?')).toBe('No');
    await savePicture(page, `payment zero ${look}`);
    await page.goto(`/payments/pay_${dust.factId.slice(4)}`);
    await page.getByText('Below the minimum amount of its source. Paybell delivers nothing for it.').waitFor();
    expect(await answer(page, 'Which webhooks have it?')).toBe('None');
    expect(await fits(page)).toBe(true);
    expect(tab.errors).toEqual([]);
  });

  test('follows the network while it is open', async () => {
    const { seen } = await payAll();
    await using tab = await Tab.open(browser, stage);
    const { page } = tab;
    await tab.signIn(`/payments/pay_${seen.factId.slice(4)}`);
    await page.locator('.payment-sentence', { hasText: 'Seen' }).waitFor();
    await using base = await NetworkWriter.open(stage, 8453);
    await base.step(HEAD + 400, [], { final: HEAD + 300 });
    await page.locator('.payment-sentence', { hasText: 'Every webhook that wants this payment has it.' }).waitFor();
    expect(await answer(page, 'Can it still be undone?')).toBe('No');
  });
});

describe('a transaction hash in another search box', () => {
  test.each(['/deliveries', '/events'])('leads to the payment from %s, and names events and facts', async (path) => {
    const { seen } = await payAll();
    await using tab = await Tab.open(browser, stage);
    const { page } = tab;
    await tab.signIn(path);
    await page.getByLabel('Search').fill(seen.transactionHash);
    await page.keyboard.press('Enter');
    const notice = page.locator('.transaction-notice');
    await notice.waitFor();
    expect(await notice.innerText()).toContain('paybell facts');
    await shows(page.locator('main table tbody tr'), 1);
    await savePicture(page, `transaction in ${path}`);
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.getByRole('link', { name: 'Show the payment' }).click();
    await page.getByRole('heading', { name: '25 USDC from 0x71C7…976F', level: 1 }).waitFor();
    expect(tab.errors).toEqual([]);
  });

  test.each([
    ['/endpoints', 'URL begins with'],
    ['/webhooks', 'Webhook ID'],
  ])('leads to the payment from %s', async (path, label) => {
    const { seen } = await payAll();
    await using tab = await Tab.open(browser, stage);
    const { page } = tab;
    await tab.signIn(path);
    await page.getByLabel(label, { exact: true }).fill(seen.transactionHash);
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'Show the payment' }).click();
    await page.locator('.answers').waitFor();
    expect(tab.errors).toEqual([]);
  });
});
