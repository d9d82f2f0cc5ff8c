import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Browser, Page } from 'playwright-core';
import { Paybell } from '../../src/client/paybell.ts';
import type { NodeHealth } from '../../src/store/chain/network-store.ts';
import { SILENT_NODE } from '../support/chain/steps.ts';
import { accessibilityViolations } from './support/axe.ts';
import { launchChromium } from './support/chromium.ts';
import { ADMIN_KEY } from './support/fresh-stage.ts';
import { LOOKS } from './support/looks.ts';
import { NetworkWriter } from './support/network-data.ts';
import { savePicture } from './support/pictures.ts';
import { shows } from './support/shown.ts';
import { type Stage, startStage } from './support/stage.ts';
import { Tab } from './support/tab.ts';

/** The page of one network. The service follows nothing, and the test writes what nodes say. */

const REASON = 'Block 78,999,900 was final and is gone.';
let browser: Browser;
let stage: Stage;

beforeAll(async () => {
  browser = await launchChromium();
  const CHAIN_RPC = [1, 137].map((networkId) => `${networkId}=http://127.0.0.1:9`).join();
  stage = await startStage({ ADMIN_KEY, ROLE: 'api', CHAIN_RPC });
  await using ethereum = await NetworkWriter.open(stage, 1);
  const nodes = [
    node('1#1', 'ok', { head: 23_811_280, behindBlocks: 0, finalized: 23_811_216, calls: callsOf(1_001) }),
    node('1#2', 'behind', { head: 23_811_240, behindBlocks: 40, finalized: 23_811_216 }),
    node('1#3', 'failing', { lastError: 'timeout' }),
  ];
  await ethereum.step(23_811_280, [], { safe: 23_811_248, final: 23_811_216, finalLagMs: 768_000, nodes });
  await ethereum.addPausedSource('It brought 12,000 logs in block 23,811,270.');
  await using polygon = await NetworkWriter.open(stage, 137);
  await polygon.step(79_000_000, [], { final: 78_999_900 });
  await polygon.halt(REASON);
});

afterAll(async () => {
  await browser?.close();
  await stage?.[Symbol.asyncDispose]();
});

/** Half of them now, and half of them half an hour ago. */
function callsOf(calls: number): NodeHealth['calls'] {
  const minute = Math.floor(Date.now() / 60_000);
  const half = Math.floor(calls / 2);
  return [
    { minute: minute - 30, calls: half },
    { minute, calls: calls - half },
  ];
}

function node(name: string, state: NodeHealth['state'], more: Partial<NodeHealth>): NodeHealth {
  return { ...SILENT_NODE, lastError: null, ...more, name, state, lastOkAtMs: Date.now() - 180_000 };
}

const fits = (page: Page) => page.evaluate('document.documentElement.scrollWidth <= innerWidth');

test.each(Object.keys(LOOKS))('shows its nodes side by side, and its sources, %s', async (look) => {
  await using tab = await Tab.open(browser, stage, LOOKS[look]);
  const { page } = tab;
  await tab.signIn('/networks');
  await shows(page.locator('.network-strip'), 2);
  await savePicture(page, `networks ${look}`);
  expect(await accessibilityViolations(page)).toEqual([]);
  await page.locator('.network-strip').getByRole('link', { name: 'Ethereum' }).click();
  await page.getByRole('heading', { name: 'Ethereum', level: 1 }).waitFor();
  const rows = page.locator('table.nodes tbody tr');
  await shows(rows, 3);
  const texts = (await rows.allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' '));
  expect(texts[0]).toContain('Healthy');
  expect(texts[0]).toContain('23,811,280');
  expect(texts[0]).toContain('1,001');
  expect(texts[1]).toContain('Behind');
  expect(texts[1]).toContain('40');
  expect(texts[2]).toContain('Timed out');
  expect(await page.locator('.network-figures').innerText()).toContain('13 min');
  await page.locator('table.sources', { hasText: '12,000 logs' }).waitFor();
  expect(await fits(page)).toBe(true);
  await savePicture(page, `network ${look}`);
  expect(await accessibilityViolations(page)).toEqual([]);
  expect(tab.errors).toEqual([]);
});

test.each(Object.keys(LOOKS))('says what the operator has to do for a halted network, %s', async (look) => {
  await using tab = await Tab.open(browser, stage, LOOKS[look]);
  const { page } = tab;
  await tab.signIn('/networks/137');
  await page.getByRole('alert').getByText(REASON).waitFor();
  await page.getByText('No source reads payments from this network.').waitFor();
  expect(await fits(page)).toBe(true);
  await savePicture(page, `network halted ${look}`);
  expect(await accessibilityViolations(page)).toEqual([]);
  await page.goto('/networks/10');
  await page.getByRole('heading', { name: 'Paybell does not follow OP Mainnet' }).waitFor();
  await savePicture(page, `network not followed ${look}`);
  expect(await accessibilityViolations(page)).toEqual([]);
  expect(tab.errors).toEqual([]);
});

test('names the permissions that a key is missing', async () => {
  const operator = new Paybell({ url: stage.url, entityId: stage.credentials.entityId, apiKey: ADMIN_KEY });
  const { apiKey } = await operator.keys.create({ name: 'Reader', permissions: ['deliveries:read'] });
  await using tab = await Tab.open(browser, stage);
  const { page } = tab;
  await tab.signIn('/networks/1', { credentials: { ...stage.credentials, apiKey } });
  await page.getByText('Sources are not shown').waitFor();
  expect(await accessibilityViolations(page)).toEqual([]);
  const { apiKey: other } = await operator.keys.create({ name: 'Payments', permissions: ['payments:read'] });
  await using second = await Tab.open(browser, stage);
  await second.signIn('/networks/1', { credentials: { ...stage.credentials, apiKey: other } });
  await second.page.getByRole('heading', { name: 'Permission required' }).waitFor();
});
