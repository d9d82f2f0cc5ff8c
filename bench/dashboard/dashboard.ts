import type { Browser, Page } from 'playwright-core';
import { launchChromium } from '../../test/browser/support/chromium.ts';
import { BENCH_SECRET_KEY, cleanUp, startPaybell } from '../harness/processes.ts';
import { median } from '../harness/rounds.ts';
import { callerOf, ORDINARY, seedStore } from '../store/seed.ts';
import { type Span, traced } from './trace.ts';

/** Measures the dashboard in Chromium: its first load, and paging, sorting and filtering a list of 100,000 webhooks. */

const WEBHOOKS = 100_000;
const ROUNDS = 7;

/** Each step starts where the previous one ended; the first starts at the list as it opens. */
const STEPS: readonly { name: string; act: (page: Page) => Promise<void> }[] = [
  { name: 'next page', act: (page) => page.getByRole('button', { name: 'Next page' }).click() },
  { name: 'last page (4,000)', act: (page) => page.getByRole('button', { name: 'Last page' }).click() },
  { name: 'page 2,000, typed', act: typePage },
  { name: 'sort by URL', act: (page) => page.getByRole('button', { name: 'Endpoint URL' }).click() },
  { name: 'reverse the order', act: (page) => page.getByRole('button', { name: 'Endpoint URL' }).click() },
  { name: 'filter by event', act: (page) => choose(page, 'Event', 'LatePayment') },
  { name: 'and by network', act: (page) => choose(page, 'Network', '8453') },
  { name: '100 rows per page', act: showHundred },
  { name: 'clear the filters', act: (page) => page.getByRole('button', { name: 'Clear' }).click() },
];

async function choose(page: Page, label: string, value: string): Promise<void> {
  await page.getByLabel(label, { exact: true }).selectOption(value);
}

async function showHundred(page: Page): Promise<void> {
  await page.locator('.pager select').selectOption('100');
}

async function typePage(page: Page): Promise<void> {
  await page.locator('.pager input').fill('2000');
  await page.keyboard.press('Enter');
}

/** Marks the arrival of the input, and the first frame in which the list has changed and is not loading. */
const WATCH = `
  window.watchStep = (name) => {
    const shown = () => document.querySelector('.pager')?.textContent + document.querySelector('table tbody')?.textContent;
    const before = shown();
    let started = false;
    const start = () => { if (!started) { started = true; performance.mark(name + ' start'); } };
    for (const type of ['pointerdown', 'keydown', 'change']) addEventListener(type, start, { capture: true, once: true });
    window.stepDone = new Promise((resolve) => {
      const look = () => {
        const done = started && document.querySelector('table')?.getAttribute('aria-busy') === 'false' && shown() !== before;
        if (!done) return requestAnimationFrame(look);
        performance.mark(name + ' end');
        resolve();
      };
      requestAnimationFrame(look);
    });
  };`;

async function signedIn(browser: Browser, url: string, path: string): Promise<Page> {
  const context = await browser.newContext({ baseURL: url, viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  await page.addInitScript(`sessionStorage.setItem('paybell-session', ${JSON.stringify(JSON.stringify(callerOf(0)))})`);
  await page.goto(path);
  await page.locator('table[aria-busy=false]').waitFor();
  return page;
}

async function measureSteps(browser: Browser, url: string): Promise<Span[]> {
  const page = await signedIn(browser, url, '/webhooks');
  await page.evaluate(WATCH);
  const spans = await traced(browser, page, async () => {
    for (const { name, act } of STEPS) {
      await page.evaluate(`watchStep(${JSON.stringify(name)})`);
      await act(page);
      await page.evaluate('stepDone');
    }
  });
  await page.context().close();
  return spans;
}

type Load = { bytes: number; files: number; firstPaintMs: number; listShownMs: number };

/** With an empty browser cache. */
async function measureLoad(browser: Browser, url: string): Promise<Load> {
  const page = await signedIn(browser, url, '/webhooks');
  const load = await page.evaluate(`(() => {
    const own = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
      .filter(({ name }) => !name.includes('/api/'));
    return {
      bytes: own.reduce((sum, { transferSize }) => sum + transferSize, 0),
      files: own.length,
      firstPaintMs: performance.getEntriesByName('first-contentful-paint')[0].startTime,
      listShownMs: performance.now(),
    };
  })()`);
  await page.context().close();
  return load as Load;
}

async function measure(): Promise<void> {
  const plan = { entities: 1, webhooksEach: WEBHOOKS, rule: ORDINARY };
  const { databaseUrl } = await seedStore('sqlite', plan, () => undefined);
  const settings = {
    DATABASE_URL: databaseUrl,
    SECRET_KEY: BENCH_SECRET_KEY,
    RATE_LIMIT: 'off',
    EVENT_RATE_LIMIT: 'off',
  };
  const server = await startPaybell({ settings, place: 'anywhere' });
  const browser = await launchChromium();
  const bundledMs = await timed(() => fetch(server.url).then((response) => response.text()));
  const loads: Load[] = [];
  const spans: Span[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    loads.push(await measureLoad(browser, server.url));
    spans.push(...(await measureSteps(browser, server.url)));
  }
  await browser.close();
  await server.stop();
  report(bundledMs, loads, spans);
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAtMs = performance.now();
  await work();
  return performance.now() - startedAtMs;
}

function report(bundledMs: number, loads: readonly Load[], spans: readonly Span[]): void {
  const of = (values: readonly number[]) => median(values).toFixed(0);
  console.log(`first request to a new process, which bundles the dashboard: ${bundledMs.toFixed(0)} ms`);
  console.log(
    `first load: ${of(loads.map((load) => load.bytes))} bytes in ${loads[0]?.files} files, first paint after ` +
      `${of(loads.map((load) => load.firstPaintMs))} ms, the first 25 webhooks after ` +
      `${of(loads.map((load) => load.listShownMs))} ms`,
  );
  console.log('\n| step | shown after | main thread busy | longest task |\n|---|---|---|---|');
  for (const { name } of STEPS) {
    const same = spans.filter((span) => span.name === name);
    const [shown, busy, longest] = [
      same.map((span) => span.shownMs),
      same.map((span) => span.busyMs),
      same.map((span) => span.longestTaskMs),
    ];
    console.log(`| ${name} | ${of(shown)} ms | ${of(busy)} ms | ${of(longest)} ms |`);
  }
}

try {
  await measure();
} finally {
  await cleanUp();
}
