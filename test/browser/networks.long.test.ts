import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Browser, Page } from 'playwright-core';
import { Paybell } from '../../src/client/paybell.ts';
import type { NodeHealth } from '../../src/store/chain/network-store.ts';
import { SILENT_NODE } from '../support/chain/steps.ts';
import { until } from '../support/until.ts';
import { accessibilityViolations } from './support/axe.ts';
import { launchChromium } from './support/chromium.ts';
import { ADMIN_KEY } from './support/fresh-stage.ts';
import { LOOKS } from './support/looks.ts';
import { NetworkWriter } from './support/network-data.ts';
import { savePicture } from './support/pictures.ts';
import { shows } from './support/shown.ts';
import { type Stage, startStage } from './support/stage.ts';
import { Tab } from './support/tab.ts';

/** The networks on the overview. The service only serves the API, so that it follows nothing and the test writes all of it. */

const NODE = 'http://127.0.0.1:9';
const SETTINGS = {
  ADMIN_KEY,
  ROLE: 'api',
  CHAIN_RPC: [8453, 1, 137, 10, 42161].map((networkId) => `${networkId}=${NODE}`).join(),
};
const REASON = 'Block 38,213,900 was final and is gone.';

let browser: Browser;
let stage: Stage;

beforeAll(async () => {
  browser = await launchChromium();
  stage = await startStage(SETTINGS);
  await using base = await NetworkWriter.open(stage, 8453);
  await base.step(38_214_507, [], { safe: 38_214_450, final: 38_213_900, nodes: [node('8453#1', 'ok')] });
  // However slow the machine is, it was read a moment ago.
  await base.age(-600);
  await using ethereum = await NetworkWriter.open(stage, 1);
  const behind = { number: 23_810_000, hash: `0x${'b'.repeat(64)}` };
  const nodes = [node('1#1', 'failing', 'timeout'), node('1#2', 'ok'), node('1#3', 'wrong_chain', 'wrong_chain')];
  await ethereum.step(23_811_280, [], { tip: behind, anchors: [behind], safe: 23_811_248, nodes });
  await using polygon = await NetworkWriter.open(stage, 137);
  await polygon.step(79_000_000, [], { final: 78_999_900 });
  await polygon.halt(REASON);
  await polygon.age(7_200);
  await using arbitrum = await NetworkWriter.open(stage, 42161);
  await arbitrum.step(402_000_000, [], { safe: 401_999_000, final: 401_990_000 });
  await arbitrum.age(95);
});

afterAll(async () => {
  await browser?.close();
  await stage?.[Symbol.asyncDispose]();
});

function node(name: string, state: NodeHealth['state'], lastError: string | null = null): NodeHealth {
  return { ...SILENT_NODE, name, state, lastError, lastOkAtMs: Date.now() - 180_000 };
}

const strip = (page: Page, name: string) => page.locator('.network-strip', { hasText: name });
const fits = (page: Page) =>
  page.evaluate(`document.documentElement.scrollWidth <= innerWidth &&
    [...document.querySelectorAll('.network-strips')].every(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)`);
const PROBLEM = { type: 'about:blank', requestId: 'req_1', errors: [] };

test.each(Object.keys(LOOKS))('a strip for each network says how far it is read and how it is, %s', async (look) => {
  await using tab = await Tab.open(browser, stage, LOOKS[look]);
  const { page } = tab;
  await tab.signIn('/');
  await page.getByRole('heading', { name: 'Networks' }).waitFor();
  expect(await page.locator('.network-strip h3').allInnerTexts()).toEqual([
    'Base 8453',
    'Ethereum 1',
    'Polygon 137',
    'OP Mainnet 10',
    'Arbitrum One 42161',
  ]);
  const figures = (name: string) => strip(page, name).locator('dd').allTextContents();
  expect((await figures('Base')).slice(0, 4)).toEqual(['38,214,507', '38,214,450', '38,213,900', '0 blocks']);
  expect((await figures('Ethereum')).slice(0, 4)).toEqual(['23,811,280', '23,811,248', '–', '1,280 blocks']);
  expect(await figures('OP Mainnet')).toEqual(['–', '–', '–', '–', 'never']);
  expect((await figures('Polygon')).at(-1)).toBe('2 h ago');
  const state = (name: string) => strip(page, name).locator('.badge').innerText();
  expect(await Promise.all(['Base', 'Ethereum', 'Polygon', 'OP Mainnet'].map(state))).toEqual([
    'Following',
    'Behind',
    'Halted',
    'Starting',
  ]);
  const ethereum = await strip(page, 'Ethereum').innerText();
  expect(ethereum).toContain('Node 1#1 is failing: Timed out');
  expect(ethereum).toContain('Node 1#3 is on another network');
  expect(ethereum).not.toContain('1#2');
  expect(ethereum).not.toContain('not read yet');
  expect(await state('Arbitrum One')).toBe('Behind');
  expect(await strip(page, 'Arbitrum One').innerText()).toMatch(/The last poll was \d+ seconds ago/);
  expect(await strip(page, 'Base').innerText()).not.toContain('Node');
  const halted = strip(page, 'Polygon');
  expect(await halted.getByRole('alert').innerText()).toContain(REASON);
  expect(await halted.locator('pre').innerText()).toBe('paybell chain resume --network 137 --from <block>');
  expect(await page.content()).not.toContain(NODE);
  expect(await fits(page)).toBe(true);
  await savePicture(page, `networks ${look}`);
  expect(await accessibilityViolations(page)).toEqual([]);
  expect(tab.errors).toEqual([]);
});

test('the strips follow the networks, with the other figures of the overview', async () => {
  await using tab = await Tab.open(browser, stage);
  const { page } = tab;
  await tab.signIn('/');
  await strip(page, 'Base').waitFor();
  await using base = await NetworkWriter.open(stage, 8453);
  await base.step(38_214_600, [], { safe: 38_214_520 });
  await until('the new head is shown', async () => (await strip(page, 'Base').innerText()).includes('38,214,600'));
  expect(tab.errors).toEqual([]);
});

test('of a server that follows no network nothing is shown, and it is asked once', async () => {
  await using plain = await startStage();
  await using tab = await Tab.open(browser, plain);
  const { page } = tab;
  const asked: string[] = [];
  page.on('request', (request) => asked.push(new URL(request.url()).pathname.split('/').at(-1) ?? ''));
  await tab.signIn('/');
  await page.getByRole('heading', { name: 'No activity in this period' }).waitFor();
  await until('the statistics were polled', () => asked.filter((path) => path === 'stats').length >= 3);
  await page.getByRole('link', { name: 'Last 24 hours' }).click();
  await until('another range was asked for', () => asked.filter((path) => path === 'stats').length >= 4);
  expect(asked.filter((path) => path === 'chains')).toHaveLength(1);
  expect(await page.getByRole('main').getByText('Networks').count()).toBe(0);
  expect(tab.errors).toEqual([]);
});

test('a failing request is reported beside the other figures, once, and ends with the next that succeeds', async () => {
  await using tab = await Tab.open(browser, stage);
  const { page } = tab;
  const body = JSON.stringify({
    ...PROBLEM,
    code: 'internal_error',
    title: 'Internal error',
    detail: 'Broken.',
    status: 500,
  });
  await page.route('**/chains', (route) =>
    route.fulfill({ status: 500, contentType: 'application/problem+json', body }),
  );
  await tab.signIn('/');
  await page.locator('.networks').getByRole('alert').waitFor();
  expect(await page.locator('.networks').innerText()).toContain('Internal error');
  await shows(page.locator('.tile'), 6);
  expect(await accessibilityViolations(page)).toEqual([]);
  await page.unroute('**/chains');
  await strip(page, 'Base').waitFor();
  expect(await page.locator('.networks > .alert').count()).toBe(0);
  expect(tab.errorsExcept(/status of 500/)).toEqual([]);
});

test.each(Object.keys(LOOKS))('a key that may not read them is told so in their place, %s', async (look) => {
  await using tab = await Tab.open(browser, stage, LOOKS[look]);
  const { page } = tab;
  const body = JSON.stringify({
    ...PROBLEM,
    ...{ code: 'missing_permission', title: 'Missing permission', detail: 'The key needs it.', status: 403 },
    permission: 'deliveries:read',
  });
  const asked: string[] = [];
  await page.route('**/chains', (route) => {
    asked.push(route.request().url());
    return route.fulfill({ status: 403, contentType: 'application/problem+json', body });
  });
  await tab.signIn('/');
  await page.getByText('The networks that the server follows are not shown').waitFor();
  expect(await page.locator('.network-strip').count()).toBe(0);
  expect(await page.locator('.networks').getByRole('alert').count()).toBe(0);
  await shows(page.locator('.tile'), 6);
  expect(await fits(page)).toBe(true);
  await savePicture(page, `networks without permission ${look}`);
  expect(await accessibilityViolations(page)).toEqual([]);
  expect(asked).toHaveLength(1);
  expect(tab.errorsExcept(/status of 403/)).toEqual([]);
});

test('a key that may not read deliveries sees the permission of the whole view, and no networks', async () => {
  await using tab = await Tab.open(browser, stage);
  const { page } = tab;
  const { entityId } = stage.credentials;
  const operator = new Paybell({ url: stage.url, apiKey: ADMIN_KEY });
  const { apiKey } = await operator.admin.createKey({ entityId, permissions: ['webhooks:read'] });
  await tab.signIn('/', { credentials: { entityId, apiKey } });
  await page.getByRole('heading', { name: 'Permission required' }).waitFor();
  expect(await page.locator('main').innerText()).not.toContain('Networks');
  expect(await page.locator('main').innerText()).toContain('deliveries:read');
  expect(tab.errorsExcept(/status of 403/)).toEqual([]);
});
