import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Browser } from 'playwright-core';
import { DASHBOARD_PATHS } from '../../src/dashboard/paths.ts';
import { launchChromium } from './support/chromium.ts';
import { addDemoData } from './support/demo-data.ts';
import { type Stage, startStage } from './support/stage.ts';
import { Tab } from './support/tab.ts';

/** The main column takes what the others leave. Each list is as wide as a phone, a large screen and everything between. */
const WIDTHS_PX = Array.from({ length: 51 }, (_, step) => 320 + 20 * step);
const LEAST_PX = 120;
/** Of a time in the table of a chart. */
const LEAST_IN_CHART_PX = 60;

let browser: Browser;
let stage: Stage;
let demoData: AsyncDisposable;

beforeAll(async () => {
  browser = await launchChromium();
  stage = await startStage();
  demoData = await addDemoData(stage, 0);
}, 120_000);

afterAll(async () => {
  await browser?.close();
  await stage?.[Symbol.asyncDispose]();
  await demoData?.[Symbol.asyncDispose]();
});

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

test('every list leaves room for its main column', async () => {
  await using tab = await Tab.open(browser, stage, { theme: 'light', width: 1_440, height: 1_200 });
  await tab.signIn('/');
  let lists = 0;
  const tight: string[] = [];
  for (const path of Object.values(DASHBOARD_PATHS)) {
    await tab.page.goto(path);
    await tab.page.locator('main h1').waitFor();
    await tab.page.locator('.loading').first().waitFor({ state: 'detached' });
    lists += await tab.page.locator('.data-table-frame').count();
    tight.push(...((await tab.page.evaluate(TIGHT)) as string[]));
  }
  expect(tight).toEqual([]);
  expect(lists).toBeGreaterThanOrEqual(6);
});
