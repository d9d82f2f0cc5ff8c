import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Browser, Page } from 'playwright-core';
import { until } from '../support/until.ts';
import { accessibilityViolations } from './support/axe.ts';
import { launchChromium } from './support/chromium.ts';
import { recordAnHour } from './support/history.ts';
import { type Stage, startStage } from './support/stage.ts';
import { Tab } from './support/tab.ts';

let browser: Browser;
let stage: Stage;

beforeAll(async () => {
  browser = await launchChromium();
  stage = await startStage();
});

afterAll(async () => {
  await browser?.close();
  await stage?.[Symbol.asyncDispose]();
});

const number = new Intl.NumberFormat('en-GB');

async function tile(page: Page, name: string): Promise<string> {
  return (await page.locator('.tile', { hasText: name }).locator('.tile-value').textContent()) ?? '';
}

/** The number of pixels of a chart that are not transparent. */
async function paintedPixels(page: Page, index: number): Promise<number> {
  return Number(
    await page.evaluate(`(() => {
      const canvas = document.querySelectorAll('.plot canvas')[${index}];
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      return data.filter((value, place) => place % 4 === 3 && value > 0).length;
    })()`),
  );
}

test('says how to start while there is no activity, and shows the first event automatically', async () => {
  await using tab = await Tab.open(browser, stage);
  const { page } = tab;
  await tab.signIn('/');
  await page.getByRole('heading', { name: 'No activity in this period' }).waitFor();
  expect(await page.locator('.state pre').textContent()).toContain(`${stage.url}/api/v1/crypto/events'`);
  const { client, receiver } = stage;
  await client.webhooks.register({ postUrl: `${receiver.url}/hook`, networkIds: [1], events: ['LatePayment'] });
  await client.events.publish({ event: 'LatePayment', networkId: 1 });
  await until('the delivery is counted', async () => (await tile(page, 'Delivered')) === '1');
  expect(await page.locator('.state').count()).toBe(0);
  expect(tab.errors).toEqual([]);
});

test('shows the statistics of the API as totals, charts and tables, for all destinations and for one', async () => {
  await recordAnHour(stage);
  await using tab = await Tab.open(browser, stage);
  const { page } = tab;
  await tab.signIn('/');
  await page.locator('.plot canvas').nth(3).waitFor();
  const stats = await stage.client.stats({ interval: 'minute' });
  expect(await tile(page, 'Accepted')).toBe(number.format(stats.total.accepted));
  expect(await tile(page, 'Success rate')).toMatch(/^99\.\d+%$/);
  for (const index of [0, 1, 2]) expect(await paintedPixels(page, index)).toBeGreaterThan(2_000);

  const chart = page.locator('figure', { hasText: 'Accepted and delivered per minute' });
  await chart.getByText('View as table').click();
  const busy = stats.intervals.filter(({ accepted, delivered }) => accepted + delivered > 0);
  expect(await chart.locator('tbody tr').count()).toBe(busy.length);
  expect(await chart.locator('tbody tr').nth(1).locator('td').nth(1).textContent()).toBe(
    number.format(busy.at(-2)?.accepted ?? -1),
  );
  expect(await accessibilityViolations(page)).toEqual([]);

  await chart.locator('.u-over').hover();
  await until('the legend shows the values under the pointer', async () =>
    /Delivered \d+/.test((await chart.locator('.chart-legend').textContent()) ?? ''),
  );

  await page.getByRole('link', { name: 'https://billing.example.com:443' }).click();
  await page.getByRole('heading', { name: 'Destination', exact: true }).waitFor();
  expect(page.url()).toEndWith(`/?destination=${encodeURIComponent('https://billing.example.com:443')}`);
  const one = await stage.client.stats({ interval: 'hour', destination: 'https://billing.example.com:443' });
  await until(
    'the statistics are those of the destination',
    async () => (await tile(page, 'Accepted')) === number.format(one.total.accepted),
  );
  expect(await page.getByRole('link', { name: 'Last hour' }).count()).toBe(0);
  await page.getByRole('heading', { name: 'Accepted and delivered per hour' }).waitFor();
  await page.getByRole('link', { name: 'Last 30 days' }).click();
  await page.getByRole('heading', { name: 'Accepted and delivered per day' }).waitFor();
  await page.getByRole('link', { name: 'Show all destinations' }).click();
  expect(page.url()).toEndWith('/?interval=day');
  expect(tab.errors).toEqual([]);
});

test('draws the charts in the colours of the theme, and again when the theme changes', async () => {
  await using tab = await Tab.open(browser, stage);
  const { page } = tab;
  await tab.signIn('/');
  await page.locator('.plot canvas').nth(3).waitFor();
  const before = await page.locator('.plot').first().screenshot();
  await page.emulateMedia({ colorScheme: 'dark' });
  await until('the chart is drawn again', async () => !before.equals(await page.locator('.plot').first().screenshot()));
  await page.locator('.plot canvas').nth(3).waitFor();
  expect(await accessibilityViolations(page)).toEqual([]);
  expect(tab.errors).toEqual([]);
});

test('loads the plotting library with the first chart only', async () => {
  await using tab = await Tab.open(browser, stage);
  const { page } = tab;
  const requested: string[] = [];
  page.on('request', (request) => requested.push(new URL(request.url()).pathname));
  await tab.signIn('/secrets');
  await page.getByRole('button', { name: 'Show' }).waitFor();
  expect(requested.filter((path) => path.startsWith('/assets/plot'))).toEqual([]);
  await page.getByRole('link', { name: 'Overview', exact: true }).click();
  await page.locator('.plot canvas').first().waitFor();
  expect(requested.filter((path) => path.startsWith('/assets/plot'))).toHaveLength(1);
});
