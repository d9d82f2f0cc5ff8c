import { describe, expect, test } from 'bun:test';
import type { Browser, Page } from 'playwright-core';
import type { FoundFact } from '../../src/domain/chain/facts.ts';
import { CONFIRMED } from '../support/chain/steps.ts';
import { accessibilityViolations } from './support/axe.ts';
import { withFreshStage } from './support/fresh-stage.ts';
import { LOOKS } from './support/looks.ts';
import { inBlock, NetworkWriter } from './support/network-data.ts';
import { savePicture } from './support/pictures.ts';
import { shows } from './support/shown.ts';
import type { Stage } from './support/stage.ts';
import { Tab } from './support/tab.ts';

/** Invoices: the list, one invoice with its address to scan, and the form of a new one. */

let browser: Browser;
let stage: Stage;

withFreshStage({ CHAIN_RPC: 'practice' }, (newBrowser, newStage) => {
  [browser, stage] = [newBrowser, newStage];
});

const USDC = '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913';
const SHOP = '0x52908400098527886E0F7030069857D2E4169EE7';
const HEAD = 38_214_500;
const addressOf = (digit: string) => `0x${digit.repeat(40)}`;

const rows = (page: Page) => page.locator('table.invoices tbody tr');
const fits = (page: Page) => page.evaluate('document.documentElement.scrollWidth <= innerWidth');
const sum = (page: Page, name: string) =>
  page
    .locator('.answer', { has: page.getByText(name, { exact: true }) })
    .locator('.answer-short')
    .innerText();

async function addInvoices() {
  await using base = await NetworkWriter.open(stage, 8453);
  const pay = (letter: string, address: string, amount: string, block: number): FoundFact => ({
    ...base.transfer(letter, inBlock(block, 'a')),
    fields: { payer: addressOf('7'), payee: address, token: USDC, amount, amountBase: `${amount}000000` },
    expected: { token: USDC, address: address.toLowerCase(), base: `${amount}000000` },
  });
  const found = (fact: FoundFact) => ({ change: 'seen', fact, evidence: CONFIRMED }) as const;
  await base.step(HEAD);
  const paid = await base.addInvoice({ address: addressOf('1'), amount: '25', reference: 'order 8412' });
  const parts = await base.addInvoice({
    address: SHOP,
    amount: '1250.5',
    reference: 'order 8413, two seats and a very long name',
  });
  const tooMuch = await base.addInvoice({ address: addressOf('4'), amount: '1000.75', reference: 'order 8415' });
  const hidden = await base.addInvoice({ address: addressOf('3'), amount: '0.25', reference: 'order 8414' }, true);
  await base.step(
    HEAD + 10,
    [
      found(pay('a', addressOf('1'), '25', HEAD + 1)),
      found(pay('b', SHOP, '1000', HEAD + 10)),
      found(pay('c', addressOf('4'), '1002', HEAD + 10)),
    ],
    {
      final: HEAD + 2,
    },
  );
  await base.noteUnexplained(hidden, '250000000000000000');
  return { paid, parts, tooMuch, hidden };
}

describe('the list of invoices', () => {
  test.each(Object.keys(LOOKS))('shows what was received of each, %s', async (look) => {
    await addInvoices();
    await using tab = await Tab.open(browser, stage, LOOKS[look]);
    const { page } = tab;
    await tab.signIn('/invoices');
    await shows(rows(page), 4);
    const texts = (await rows(page).allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' '));
    const row = (text: string) => texts.find((each) => each.includes(text)) ?? '';
    expect(row('25 USDC')).toContain('Paid');
    expect(row('25 USDC')).toContain('Final');
    expect(row('1,250.5 USDC')).toContain('Underpaid');
    expect(row('1,250.5 USDC')).toContain('250.5 missing');
    expect(row('1,000.75 USDC')).toContain('1.25 too much');
    expect(row('0.25 ETH')).toContain('Open');
    expect(await fits(page)).toBe(true);
    await savePicture(page, `invoices ${look}`);
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.getByRole('searchbox').first().fill('order 8412');
    await shows(rows(page), 1);
    expect(tab.errors).toEqual([]);
  });

  test('begins with the form, which creates an invoice and opens it', async () => {
    await using tab = await Tab.open(browser, stage);
    const { page } = tab;
    await tab.signIn('/invoices');
    await page.getByRole('heading', { name: 'No invoices yet' }).waitFor();
    await page.getByRole('button', { name: 'New invoice' }).last().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Amount').fill('25.1234567');
    await dialog.getByLabel('Receiving address').fill(SHOP);
    await dialog.getByLabel('Reference (optional)').fill('order 1');
    await dialog.getByRole('button', { name: 'Create invoice' }).click();
    await dialog.getByText('has 7 decimals').waitFor();
    await dialog.getByLabel('Amount').fill('25');
    await savePicture(page, 'invoice form');
    expect(await accessibilityViolations(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Create invoice' }).click();
    await page.getByRole('heading', { name: '25 practice USDC for order 1' }).waitFor();
    await page.getByRole('button', { name: 'Cancel invoice' }).click();
    await dialog.getByRole('button', { name: 'Cancel invoice' }).click();
    await page.getByText('A request cancelled it.').waitFor();
    expect(tab.errors).toEqual([expect.stringContaining('400 (Bad Request)')]);
  });
});

describe('an invoice', () => {
  test.each(Object.keys(LOOKS))(
    'shows the address to scan, what was received and what is missing, %s',
    async (look) => {
      const { parts } = await addInvoices();
      await using tab = await Tab.open(browser, stage, LOOKS[look]);
      const { page } = tab;
      await tab.signIn(`/invoices/${parts}`);
      await page.getByRole('heading', { name: '1,250.5 USDC' }).waitFor();
      expect(await sum(page, 'Expected')).toBe('1,250.5 USDC');
      expect(await sum(page, 'Received')).toBe('1,000 USDC');
      expect(await sum(page, 'Missing')).toBe('250.5 USDC');
      await page.getByText('1,000 USDC received, 250.5 USDC missing.').waitFor();
      await page.getByRole('img', { name: `QR code of the address ${SHOP}` }).waitFor();
      await shows(page.locator('table.payments tbody tr'), 1);
      expect(await fits(page)).toBe(true);
      await savePicture(page, `invoice ${look}`);
      expect(await accessibilityViolations(page)).toEqual([]);
      expect(tab.errors).toEqual([]);
    },
  );

  test('that is overpaid says by how much', async () => {
    const { tooMuch } = await addInvoices();
    await using tab = await Tab.open(browser, stage);
    const { page } = tab;
    await tab.signIn(`/invoices/${tooMuch}`);
    await page.getByText('1,002 USDC received, 1.25 USDC more than expected.').waitFor();
    expect(await sum(page, 'Overpaid by')).toBe('1.25 USDC');
    await savePicture(page, 'invoice overpaid');
    expect(tab.errors).toEqual([]);
  });

  test('is found by its reference, among the deliveries and by the overview', async () => {
    await addInvoices();
    await using tab = await Tab.open(browser, stage);
    const { page } = tab;
    await tab.signIn('/deliveries?q=order+8412');
    await page.getByRole('link', { name: 'Show the invoice' }).waitFor();
    await savePicture(page, 'search finds an invoice');
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.goto('/');
    await page.getByLabel('Find', { exact: true }).fill('order 8412');
    await page.getByRole('button', { name: 'Find' }).click();
    await page.getByRole('heading', { name: '25 USDC for order 8412' }).waitFor();
    expect(tab.errors).toEqual([]);
  });

  test('in the coin names what Paybell cannot see, and the balance that nothing explains', async () => {
    const { hidden } = await addInvoices();
    await using tab = await Tab.open(browser, stage);
    const { page } = tab;
    await tab.signIn(`/invoices/${hidden}`);
    await page.getByText('It does not see a transfer inside a contract call').waitFor();
    await page.getByText('0.25 ETH that no payment of this invoice explains').waitFor();
    await savePicture(page, 'invoice coin');
    expect(tab.errors).toEqual([]);
  });
});
