import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Browser } from 'playwright-core';
import { DASHBOARD_PATHS, invoicePath, networkPath } from '../../src/dashboard/paths.ts';
import { CONFIRMED, SILENT_NODE } from '../support/chain/steps.ts';
import { launchChromium } from './support/chromium.ts';
import { addDemoData } from './support/demo-data.ts';
import { inBlock, NetworkWriter } from './support/network-data.ts';
import { type Stage, startStage } from './support/stage.ts';
import { Tab } from './support/tab.ts';

/** The main column takes what the others leave. Each list is as wide as a phone, a large screen and everything between. */
const WIDTHS_PX = Array.from({ length: 51 }, (_, step) => 320 + 20 * step);
const LEAST_PX = 120;
/** Of a time in the table of a chart. */
const LEAST_IN_CHART_PX = 60;
/** The least width of a column in the windows of ordinary laptops. */
const LEAST_OF_ANY_PX = 48;
const WINDOWS_PX = [1_024, 1_280];
const ETHEREUM = 1;

let browser: Browser;
let stage: Stage;
/** A service that follows networks and sends nothing. */
let chainStage: Stage;
let demoData: AsyncDisposable;
let chainPaths: readonly string[];

beforeAll(async () => {
  browser = await launchChromium();
  stage = await startStage();
  demoData = await addDemoData(stage, 0);
  chainStage = await startStage({ ROLE: 'api', CHAIN_RPC: `${ETHEREUM}=http://127.0.0.1:9` });
  chainPaths = await addChainData(chainStage);
}, 120_000);

afterAll(async () => {
  await browser?.close();
  await stage?.[Symbol.asyncDispose]();
  await chainStage?.[Symbol.asyncDispose]();
  await demoData?.[Symbol.asyncDispose]();
});

/** Returns the paths with lists of the nodes, the sources, the payments and the invoices of a network. */
async function addChainData(of: Stage): Promise<string[]> {
  await using network = await NetworkWriter.open(of, ETHEREUM);
  const silent = { ...SILENT_NODE, name: '1#1', state: 'failing', lastOkAtMs: Date.now() } as const;
  const nodes = [{ ...silent, lastError: 'http_status', head: 23_811_280, finalized: 23_811_216 }];
  const payment = network.transfer('a', { ...inBlock(23_811_280, 'a'), blockS: Math.floor(Date.now() / 1000) });
  const fields = { payer: `0x${'7'.repeat(40)}`, payee: `0x${'8'.repeat(40)}`, token: `0x${'9'.repeat(40)}` };
  const fact = { ...payment, fields: { ...fields, amount: '1234567.123456', amountBase: '1234567123456' } };
  await network.step(23_811_270, [], { nodes });
  await network.addPausedSource('It brought 12,000 logs in block 23,811,270.');
  const invoiceId = await network.addInvoice({ address: `0x${'8'.repeat(40)}`, amount: '25', reference: 'order 8412' });
  await network.step(23_811_280, [{ change: 'seen', fact, evidence: CONFIRMED }], { nodes });
  return [networkPath(ETHEREUM), DASHBOARD_PATHS.payments, DASHBOARD_PATHS.invoices, invoicePath(invoiceId)];
}

/** Each main column that is narrower than `LEAST_PX`, with the width of its list. */
const TIGHT = `[...document.querySelectorAll('.data-table-frame')].flatMap((frame) => {
  const main = [...frame.querySelectorAll('th')].find(({ style }) => style.getPropertyValue('--width') === '');
  return ${JSON.stringify(WIDTHS_PX)}.flatMap((width) => {
    frame.style.width = width + 'px';
    const least = frame.closest('.chart-table') === null ? ${LEAST_PX} : ${LEAST_IN_CHART_PX};
    const left = Math.round(main.getBoundingClientRect().width);
    return left < least ? [frame.querySelector('caption').textContent + ': ' + left + ' of ' + width] : [];
  });
})`;

/** Each shown column that is too narrow or has a heading that reaches into the next one. */
const CROWDED = `[...document.querySelectorAll('main table')].flatMap((table) =>
  [...table.querySelectorAll('thead th')].flatMap((head) => {
    const width = Math.round(head.getBoundingClientRect().width);
    const isCrowded = width < ${LEAST_OF_ANY_PX} || head.scrollWidth > head.clientWidth + 1;
    return width > 0 && isCrowded
      ? [innerWidth + ' pixels, ' + table.caption.textContent + ', ' + head.textContent + ': ' + width]
      : [];
  }),
)`;

/** Evaluates the expression on the page of each path. Returns what it found, and the number of lists it saw. */
async function inEachList(tab: Tab, paths: readonly string[], expression: string) {
  let lists = 0;
  const found: string[] = [];
  for (const path of paths) {
    await tab.page.goto(path);
    await tab.page.locator('main h1').waitFor();
    await tab.page.locator('.loading').first().waitFor({ state: 'detached' });
    lists += await tab.page.locator('.data-table-frame').count();
    found.push(...((await tab.page.evaluate(expression)) as string[]));
  }
  return { found, lists };
}

const DATA = {
  'with deliveries': () => ({ stage, paths: Object.values(DASHBOARD_PATHS), least: 6 }),
  'with a network': () => ({ stage: chainStage, paths: chainPaths, least: 4 }),
} as const;
const CASES = Object.entries(DATA);

test.each(CASES)('every list leaves room for its main column, %s', async (_, data) => {
  const { stage: shown, paths, least } = data();
  await using tab = await Tab.open(browser, shown, { theme: 'light', width: 1_440, height: 1_200 });
  await tab.signIn('/');
  const { found, lists } = await inEachList(tab, paths, TIGHT);
  expect(found).toEqual([]);
  expect(lists).toBeGreaterThanOrEqual(least);
});

test.each(CASES)('every column of a table has room in the window of a laptop, %s', async (_, data) => {
  const { stage: shown, paths } = data();
  for (const width of WINDOWS_PX) {
    await using tab = await Tab.open(browser, shown, { theme: 'light', width, height: 800 });
    await tab.signIn('/');
    expect((await inEachList(tab, paths, CROWDED)).found).toEqual([]);
  }
});
