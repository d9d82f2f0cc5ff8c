import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Browser, Page } from 'playwright-core';
import { openSqlite } from '../../src/store/database/sqlite/open.ts';
import { until } from '../support/until.ts';
import { accessibilityViolations } from './support/axe.ts';
import { launchChromium } from './support/chromium.ts';
import { LOOKS } from './support/looks.ts';
import { NetworkWriter } from './support/network-data.ts';
import { savePicture } from './support/pictures.ts';
import { shows } from './support/shown.ts';
import { type Stage, startStage } from './support/stage.ts';
import { Tab } from './support/tab.ts';

/**
 * What the overview says about deliveries that are late, about storage, networks and sources. The service only serves the
 * API: it sends nothing and reads no network, so that everything stays as the test has written it.
 */

const SETTINGS = { ROLE: 'api', CHAIN_RPC: '137=http://127.0.0.1:9', ENTITY_STORAGE_LIMIT: '1MiB' };
const HALTED = 'Block 78,999,900 was final and is gone.';
const PAUSED = 'The contract has more logs in block 79,000,000 than can be read.';
const OVERDUE_MS = 2 * 3_600_000;

let browser: Browser;
let stage: Stage;
let sourceId: string;
let overdueId: string;

beforeAll(async () => {
  browser = await launchChromium();
  stage = await startStage(SETTINGS);
  await using polygon = await NetworkWriter.open(stage, 137);
  await polygon.step(79_000_000);
  sourceId = await polygon.addPausedSource(PAUSED);
  const { client, receiver } = stage;
  await polygon.halt(HALTED);
  await client.webhooks.register({ postUrl: `${receiver.url}/hook`, networkIds: [1], events: ['LatePayment'] });
  for (let sent = 0; sent < 5; sent++) {
    await client.events.publish({ event: 'LatePayment', networkId: 1, filling: 'x'.repeat(180_000) });
  }
  overdueId = await makeOverdue();
});

afterAll(async () => {
  await browser?.close();
  await stage?.[Symbol.asyncDispose]();
});

/** As if the third of the five had been due hours ago. */
async function makeOverdue(): Promise<string> {
  const { deliveries } = await stage.client.deliveries.list();
  const deliveryId = deliveries[2]?.deliveryId ?? '';
  const db = await openSqlite(stage.databaseFile);
  const sql = `update queue set due_ms = due_ms - $1 where id = (select id from queue order by id limit 1 offset 2)`;
  expect(await db.transaction((queries) => queries.run(sql, [OVERDUE_MS]))).toBe(1);
  await db.close();
  return deliveryId;
}

const item = (page: Page, text: string | RegExp) => page.locator('.attention-item', { hasText: text });

test.each(Object.keys(LOOKS))('each is a sentence with what to do about it, %s', async (look) => {
  await using tab = await Tab.open(browser, stage, LOOKS[look]);
  const { page } = tab;
  await tab.signIn('/');
  await item(page, `Polygon is halted. Paybell delivers no payments from it: ${HALTED}`).waitFor();
  await item(
    page,
    `The source ${sourceId} on Polygon is paused. Paybell does not read its contract: ${PAUSED}`,
  ).waitFor();
  await item(page, /The oldest waiting delivery is 2 h( \d+ min)? overdue\./).waitFor();
  await item(page, /The storage is at 8\d% of its limit: 8\d\d(\.\d)? KiB of 1 MiB\./).waitFor();
  await shows(page.locator('.attention-item'), 4);
  expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
  await savePicture(page, `attention capacity ${look}`);
  expect(await accessibilityViolations(page)).toEqual([]);
  expect(tab.errors).toEqual([]);
});

test('the delivery that is overdue for longest is opened', async () => {
  await using tab = await Tab.open(browser, stage);
  const { page } = tab;
  await tab.signIn('/');
  const action = item(page, 'overdue').getByRole('link', { name: 'Show overdue deliveries' });
  await until('the delivery is known', async () => (await action.getAttribute('href'))?.includes(overdueId) ?? false);
  await action.click();
  await page.getByRole('complementary', { name: 'Delivery details' }).getByText(overdueId).first().waitFor();
  expect(tab.errors).toEqual([]);
});

test('a halted network leads to what the operator has to do, and storage to the oldest deliveries', async () => {
  await using tab = await Tab.open(browser, stage, { width: 1280, height: 500 });
  const { page } = tab;
  // The tiles and charts above the networks are loaded after the click.
  const clicked = Promise.withResolvers<void>();
  await page.route('**/stats?**', async (route) => {
    await clicked.promise;
    await route.continue();
  });
  await tab.signIn('/');
  await item(page, 'is halted').getByRole('link', { name: 'Show what to do' }).click();
  clicked.resolve();
  const command = page.locator('#network-137 pre');
  expect(await command.innerText()).toBe('paybell chain resume --network 137 --from <block>');
  await until('it is on the screen', async () => {
    const box = await command.boundingBox();
    return box !== null && box.y >= 0 && box.y + box.height <= 500;
  });
  await item(page, 'The storage is at').getByRole('link', { name: 'Show oldest deliveries' }).click();
  await until('they are listed', async () => (await page.locator('.pager strong').textContent()) === '5');
  expect(page.url()).toEndWith('/deliveries?sortDir=asc');
  expect(tab.errors).toEqual([]);
});

test('a paused source gives the command that shows it', async () => {
  await using tab = await Tab.open(browser, stage);
  const { page } = tab;
  await tab.context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await tab.signIn('/');
  await item(page, 'is paused').getByRole('button', { name: 'Copy command' }).click();
  await until('it is copied', async () => {
    const copied = await page.evaluate('navigator.clipboard.readText()');
    return copied === `paybell sources show ${sourceId}`;
  });
  expect(tab.errors).toEqual([]);
});
