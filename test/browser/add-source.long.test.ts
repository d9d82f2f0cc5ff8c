import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Browser } from 'playwright-core';
import { RpcFailure } from '../../src/chain/rpc/failures.ts';
import { FakeNetwork } from '../support/chain/fake-network.ts';
import { CONTRACT, PAYEE, PAYER, presetLog } from '../support/chain/logs.ts';
import { accessibilityViolations } from './support/axe.ts';
import { launchChromium } from './support/chromium.ts';
import { LOOKS } from './support/looks.ts';
import { NetworkWriter } from './support/network-data.ts';
import { savePicture } from './support/pictures.ts';
import { shows } from './support/shown.ts';
import { type Stage, startStage } from './support/stage.ts';
import { Tab } from './support/tab.ts';

/** The set-up of a source, on a node that answers over HTTP. The service does not follow the network. */

type RpcRequest = { readonly id: number; readonly method: string; readonly params: readonly unknown[] };

const network = new FakeNetwork();
let browser: Browser;
let stage: Stage;

async function answer({ id, method, params }: RpcRequest): Promise<object> {
  try {
    const result = method === 'eth_chainId' ? '0x2105' : await network.call(8453, method, params);
    return { jsonrpc: '2.0', id, result };
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    return { jsonrpc: '2.0', id, error: { code: error.code ?? -32000, message: 'no' } };
  }
}

const node = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  async fetch(request) {
    const body = (await request.json()) as RpcRequest | RpcRequest[];
    return Response.json(Array.isArray(body) ? await Promise.all(body.map(answer)) : await answer(body));
  },
});

beforeAll(async () => {
  browser = await launchChromium();
  stage = await startStage({ ROLE: 'api', CHAIN_RPC: `8453=http://127.0.0.1:${node.port}` });
  await using base = await NetworkWriter.open(stage, 8453);
  await base.step(1_000, [], { final: 990 });
});

afterAll(async () => {
  await browser?.close();
  await stage?.[Symbol.asyncDispose]();
  await node.stop(true);
});

/** Payments of 25 USDC to the shop in the last blocks. */
function pay(count: number): void {
  for (let paid = 0; paid < count; paid++) {
    const place = {
      blockNumber: network.head - paid,
      blockHash: `0x${String(paid).padStart(64, 'b')}`,
      blockS: nowS(),
    };
    const hash = `0x${String(paid).padStart(64, 'a')}`;
    network.addTransaction(hash, [presetLog('erc20', [PAYER, PAYEE, 25_000_000n], place)]);
  }
}

const nowS = () => Math.floor(Date.now() / 1000) - 120;

test.each(Object.keys(LOOKS))('previews the payments that the source would have reported, %s', async (look) => {
  await using tab = await Tab.open(browser, stage, LOOKS[look]);
  const { page } = tab;
  await tab.signIn('/payments');
  await page.locator('.state').getByRole('button', { name: 'Add addresses' }).click();
  const dialog = page.getByRole('dialog', { name: 'Add addresses' });
  const preview = dialog.getByRole('region', { name: 'Latest payments to these addresses' });
  const addresses = dialog.getByLabel('3. Receiving addresses');
  await addresses.fill(PAYER);
  await preview.getByText('No payments in the last 1,001 blocks.').waitFor();
  pay(3);
  await addresses.fill(PAYEE);
  await shows(preview.locator('.recent-list > li'), 3);
  const [first] = await preview.locator('.recent-list > li').allInnerTexts();
  expect(first?.replaceAll(/\s+/g, ' ')).toMatch(/^25 USDC from 0x71C7…976F .*ago$/);
  await preview.getByText('All 3 payments in the last 1,001 blocks.').waitFor();
  await savePicture(page, `add source preview ${look}`);
  expect(await accessibilityViolations(page)).toEqual([]);
  pay(12);
  await addresses.fill(`${PAYEE}\n${PAYER}`);
  await preview.getByText('The newest 10 of 12 payments').waitFor();
  network.mostBlocks = 0;
  await addresses.fill(`${PAYEE} ${CONTRACT}`);
  await preview.getByText('refuse to return logs, even of few blocks').waitFor();
  await savePicture(page, `add source refused ${look}`);
  expect(await accessibilityViolations(page)).toEqual([]);
  network.mostBlocks = Number.POSITIVE_INFINITY;
  network.clear();
  expect((await stage.client.sources.list()).totalResults).toBe(0);
  expect(tab.errorsExcept(/status of 503/)).toEqual([]);
});

test.each(Object.keys(LOOKS))('names what is wrong, and adds a source in three steps, %s', async (look) => {
  await using tab = await Tab.open(browser, stage, LOOKS[look]);
  const { page } = tab;
  await tab.signIn('/payments');
  await page.getByRole('heading', { name: 'No payments yet' }).waitFor();
  await page.locator('.state').getByRole('button', { name: 'Add addresses' }).click();
  const dialog = page.getByRole('dialog', { name: 'Add addresses' });
  expect(await dialog.getByLabel('1. Network').inputValue()).toBe('8453');
  expect(await dialog.getByLabel('2. Token').inputValue()).toBe(CONTRACT);
  await dialog.getByLabel('3. Receiving addresses').fill('0x12');
  await dialog.getByRole('button', { name: 'Add addresses' }).click();
  await dialog.locator('.error-text').waitFor();
  await dialog.getByText('No poll has ended yet.').waitFor();
  await savePicture(page, `add source ${look}`);
  expect(await accessibilityViolations(page)).toEqual([]);
  await dialog.getByLabel('3. Receiving addresses').fill(PAYEE);
  await dialog.getByRole('button', { name: 'Add addresses' }).click();
  await dialog.waitFor({ state: 'detached' });
  const { sources } = await stage.client.sources.list();
  expect(sources).toMatchObject([{ networkId: 8453, preset: 'erc20', contract: CONTRACT, where: { to: [PAYEE] } }]);
  await stage.client.sources.delete(sources[0]?.sourceId ?? '');
  expect(tab.errorsExcept(/status of 400/)).toEqual([]);
});
