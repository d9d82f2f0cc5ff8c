import type { Browser, Page } from 'playwright-core';
import { Paybell } from '../../src/client/paybell.ts';
import { launchChromium } from '../../test/browser/support/chromium.ts';
import { nextSubjects } from '../harness/event-bodies.ts';
import { BENCH_SECRET_KEY, cleanUp, startPaybell } from '../harness/processes.ts';
import { callerOf, ORDINARY, seedStore } from '../store/seed.ts';
import { type Span, traced } from './trace.ts';

/** Measures, by Chromium's tracing, how responsive the dashboard is while 10,000 deliveries arrive. */

const DELIVERIES = 10_000;
const BATCH = 250;
const EVERY_MS = 500;

type Scene = {
  readonly name: string;
  readonly path: string;
  readonly slowdown: number;
  readonly prepare?: (page: Page) => Promise<void>;
};

const SCENES: readonly Scene[] = [
  { name: '25 rows, newest on top', path: '/deliveries', slowdown: 1 },
  { name: '100 rows, newest on top', path: '/deliveries?limit=100', slowdown: 1 },
  { name: '100 rows, scrolled to the middle', path: '/deliveries?limit=100', slowdown: 1, prepare: scrollDown },
  { name: '100 rows, newest on top, CPU four times slower', path: '/deliveries?limit=100', slowdown: 4 },
];

async function scrollDown(page: Page): Promise<void> {
  await page.evaluate('scrollTo(0, 1500)');
}

/** Records the longest time between two animation frames. */
const WATCH_FRAMES = `
  window.longestGapMs = 0;
  let last = performance.now();
  const frame = (now) => { longestGapMs = Math.max(longestGapMs, now - last); last = now; requestAnimationFrame(frame); };
  requestAnimationFrame(frame);`;

type Result = Scene &
  Pick<Span, 'busyMs' | 'longestTaskMs' | 'longestWorkMs' | 'longTasks'> & { tookMs: number; gapMs: number };

async function measureScene(browser: Browser, client: Paybell, url: string, scene: Scene): Promise<Result> {
  const context = await browser.newContext({ baseURL: url, viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  await page.addInitScript(`sessionStorage.setItem('paybell-session', ${JSON.stringify(JSON.stringify(callerOf(0)))})`);
  await page.goto(scene.path);
  await page.locator('table.deliveries[aria-busy=false] tbody tr').nth(24).waitFor();
  await scene.prepare?.(page);
  const devTools = await context.newCDPSession(page);
  await devTools.send('Emulation.setCPUThrottlingRate', { rate: scene.slowdown });
  await page.evaluate(WATCH_FRAMES);
  const spans = await traced(browser, page, async () => {
    await page.evaluate(`performance.mark('stream start')`);
    await stream(client);
    await waitForTotal(page, client);
    await page.evaluate(`performance.mark('stream end')`);
  });
  const [span] = spans;
  if (span === undefined) throw new Error('the trace has no span');
  const gapMs = Number(await page.evaluate('longestGapMs'));
  await context.close();
  const { busyMs, longestTaskMs, longestWorkMs, longTasks, shownMs } = span;
  return { ...scene, busyMs, longestTaskMs, longestWorkMs, longTasks, tookMs: shownMs, gapMs };
}

const newEvent = () => ({ event: 'LatePayment', networkId: 1, ...nextSubjects() });

async function stream(client: Paybell): Promise<void> {
  for (let sent = 0; sent < DELIVERIES; sent += BATCH) {
    const nextAtMs = performance.now() + EVERY_MS;
    await client.events.publishBatch(
      Array.from({ length: BATCH }, (_, index) => ({ ...newEvent(), number: sent + index })),
    );
    await Bun.sleep(Math.max(0, nextAtMs - performance.now()));
  }
}

/** Waits until the dashboard shows the total of the service. */
async function waitForTotal(page: Page, client: Paybell): Promise<void> {
  const { totalResults } = await client.deliveries.list({ limit: 1 });
  const text = new Intl.NumberFormat('en-US').format(totalResults);
  await page.locator('.pager strong', { hasText: text }).waitFor();
}

async function measure(): Promise<void> {
  const receiver = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('ok') });
  const { databaseUrl } = await seedStore('sqlite', { entities: 1, webhooksEach: 1, rule: ORDINARY }, () => undefined);
  const settings = {
    DATABASE_URL: databaseUrl,
    SECRET_KEY: BENCH_SECRET_KEY,
    RATE_LIMIT: 'off',
    EVENT_RATE_LIMIT: 'off',
    ALLOW_INSECURE_TARGETS: 'true',
  };
  const server = await startPaybell({ settings, place: 'anywhere' });
  const client = new Paybell({ url: server.url, ...callerOf(0) });
  const postUrl = `http://127.0.0.1:${receiver.port}/hook`;
  await client.webhooks.register({ postUrl, networkIds: [1], events: ['LatePayment'] });
  await client.events.publishBatch(Array.from({ length: 200 }, newEvent));
  const browser = await launchChromium();
  const results: Result[] = [];
  for (const scene of SCENES) results.push(await measureScene(browser, client, server.url, scene));
  await browser.close();
  await server.stop();
  await receiver.stop(true);
  report(results);
}

function report(results: readonly Result[]): void {
  console.log(`${DELIVERIES} deliveries arrive, ${BATCH} every ${EVERY_MS} ms\n`);
  console.log(
    '| list | took | main thread busy | longest task | most CPU time of a task | tasks over 50 ms | longest gap between frames |',
  );
  console.log('|---|---|---|---|---|---|---|');
  for (const { name, tookMs, busyMs, longestTaskMs, longestWorkMs, longTasks, gapMs } of results) {
    const share = ((100 * busyMs) / tookMs).toFixed(1);
    const longest = [longestTaskMs, longestWorkMs].map((ms) => `${ms.toFixed(0)} ms`);
    const cells = [name, `${(tookMs / 1000).toFixed(1)} s`, `${share} %`, ...longest, longTasks];
    console.log(`| ${cells.join(' | ')} | ${gapMs.toFixed(0)} ms |`);
  }
}

try {
  await measure();
} finally {
  await cleanUp();
}
