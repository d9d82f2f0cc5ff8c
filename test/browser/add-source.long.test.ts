import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Browser } from 'playwright-core';
import { FakeNetwork } from '../support/chain/fake-network.ts';
import { CONTRACT, PAYEE } from '../support/chain/logs.ts';
import { accessibilityViolations } from './support/axe.ts';
import { launchChromium } from './support/chromium.ts';
import { LOOKS } from './support/looks.ts';
import { NetworkWriter } from './support/network-data.ts';
import { savePicture } from './support/pictures.ts';
import { type Stage, startStage } from './support/stage.ts';
import { Tab } from './support/tab.ts';

/** The set-up of a source, on a node that answers over HTTP. The service does not follow the network. */

type RpcRequest = { readonly id: number; readonly method: string; readonly params: readonly unknown[] };

const network = new FakeNetwork();
let browser: Browser;
let stage: Stage;

async function answer({ id, method, params }: RpcRequest): Promise<object> {
  const result = method === 'eth_chainId' ? '0x2105' : await network.call(8453, method, params);
  return { jsonrpc: '2.0', id, result };
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

test.each(Object.keys(LOOKS))('names what is wrong, and adds a source in three steps, %s', async (look) => {
  await using tab = await Tab.open(browser, stage, LOOKS[look]);
  const { page } = tab;
  await tab.signIn('/payments');
  await page.getByRole('heading', { name: 'No payments yet' }).waitFor();
  await page.locator('.state').getByRole('button', { name: 'Add an address' }).click();
  const dialog = page.getByRole('dialog', { name: 'Receive payments' });
  expect(await dialog.getByLabel('1. Network').inputValue()).toBe('8453');
  expect(await dialog.getByLabel('2. Token').inputValue()).toBe(CONTRACT);
  await dialog.getByLabel('3. Receiving addresses').fill('0x12');
  await dialog.getByRole('button', { name: 'Add source' }).click();
  await dialog.locator('.error-text').waitFor();
  await dialog.getByText('No poll has ended yet.').waitFor();
  await savePicture(page, `add source ${look}`);
  expect(await accessibilityViolations(page)).toEqual([]);
  await dialog.getByLabel('3. Receiving addresses').fill(PAYEE);
  await dialog.getByRole('button', { name: 'Add source' }).click();
  await dialog.waitFor({ state: 'detached' });
  const { sources } = await stage.client.sources.list();
  expect(sources).toMatchObject([{ networkId: 8453, preset: 'erc20', contract: CONTRACT, where: { to: [PAYEE] } }]);
  await stage.client.sources.delete(sources[0]?.sourceId ?? '');
  expect(tab.errorsExcept(/status of 400/)).toEqual([]);
});
