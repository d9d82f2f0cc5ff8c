import { parseArgs } from 'node:util';
import type { Browser } from 'playwright-core';
import { Paybell } from '../../src/client/paybell.ts';
import { DASHBOARD_PATHS, endpointPath } from '../../src/dashboard/paths.ts';
import { launchChromium } from '../../test/browser/support/chromium.ts';
import { BENCH_SECRET_KEY, cleanUp, startPaybell } from '../harness/processes.ts';
import { median } from '../harness/rounds.ts';
import { callerOf } from '../store/seed.ts';
import { ENDPOINTS, seedSupportDesk, WEBHOOKS } from './support-desk.ts';

/**
 * Opens each view of a large entity in Chromium with an empty cache, and measures its first contentful paint, when its rows
 * are there, and its slowest request: `npx bun bench/dashboard/first-paint.ts --deliveries 1000000`
 */

const { values } = parseArgs({
  options: { deliveries: { type: 'string', default: '1000000' }, rounds: { type: 'string', default: '7' } },
});
const DELIVERIES = Number(values.deliveries);
const ROUNDS = Number(values.rounds);
const GOAL_MS = 1_000;

type View = { readonly name: string; readonly path: string; readonly rows: string };

function viewsOf(endpointId: string): readonly View[] {
  const rows = '.table[aria-busy=false] tbody tr';
  return [
    { name: 'overview', path: DASHBOARD_PATHS.overview, rows: '.destinations tbody tr' },
    { name: 'endpoints', path: DASHBOARD_PATHS.endpoints, rows },
    { name: 'one endpoint', path: endpointPath(endpointId), rows: '.endpoint-deliveries tbody tr' },
    { name: 'webhooks', path: DASHBOARD_PATHS.webhooks, rows },
    { name: 'events', path: DASHBOARD_PATHS.events, rows },
    { name: 'deliveries', path: DASHBOARD_PATHS.deliveries, rows },
  ];
}

/** Notes the first frame in which the rows are there. */
const watchFor = (rows: string) => `
  window.rowsShown = new Promise((resolve) => {
    const look = () => {
      if (document.querySelector(${JSON.stringify(rows)}) === null) requestAnimationFrame(look);
      else resolve(performance.now());
    };
    requestAnimationFrame(look);
  });`;

type Opened = { paintMs: number; rowsMs: number; requests: { path: string; tookMs: number }[] };

async function open(browser: Browser, url: string, { path, rows }: View): Promise<Opened> {
  const context = await browser.newContext({ baseURL: url, viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  await page.addInitScript(`sessionStorage.setItem('paybell-session', ${JSON.stringify(JSON.stringify(callerOf(0)))})`);
  await page.addInitScript(watchFor(rows));
  await page.goto(path);
  await page.locator(rows).first().waitFor();
  const opened = await page.evaluate(`rowsShown.then((rowsMs) => ({
    paintMs: performance.getEntriesByName('first-contentful-paint')[0].startTime,
    rowsMs,
    requests: performance.getEntriesByType('resource').filter(({ name }) => name.includes('/api/')).map((request) => ({
      path: request.name.slice(request.name.indexOf('/api/')), tookMs: request.responseEnd - request.requestStart,
    })),
  }))`);
  await context.close();
  return opened as Opened;
}

/** The request that took longest in the median round. */
function slowest(rounds: readonly Opened[]): string {
  const byPath = Map.groupBy(
    rounds.flatMap(({ requests }) => requests),
    ({ path }) => path.replace(/\/api\/v\d+\/crypto/, ''),
  );
  const medians = [...byPath].map(([path, requests]) => ({ path, ms: median(requests.map(({ tookMs }) => tookMs)) }));
  const [first] = medians.toSorted((a, b) => b.ms - a.ms);
  return first === undefined ? '' : `\`${first.path}\`, ${first.ms.toFixed(0)} ms`;
}

async function measure(): Promise<void> {
  const databaseUrl = await seedSupportDesk(DELIVERIES, (done) => process.stderr.write(`\r${done}   `));
  process.stderr.write('\n');
  // Without delivery: the URLs lead nowhere.
  const settings = { DATABASE_URL: databaseUrl, SECRET_KEY: BENCH_SECRET_KEY, ROLE: 'api' };
  const server = await startPaybell({ settings, place: 'anywhere' });
  const client = new Paybell({ url: server.url, ...callerOf(0) });
  const { endpoints } = await client.endpoints.list({ postUrl: 'https://hooks0.example.com/paybell' });
  const views = viewsOf(endpoints[0]?.endpointId ?? '');
  const browser = await launchChromium();
  // The first visit to a new process bundles the dashboard.
  await fetch(server.url).then((response) => response.text());
  console.log(`${WEBHOOKS} webhooks, ${ENDPOINTS} endpoints, ${DELIVERIES} deliveries, median of ${ROUNDS} rounds\n`);
  console.log('| view | first paint | rows shown | slowest request |\n|---|---|---|---|');
  let late = 0;
  for (const view of views) {
    const rounds: Opened[] = [];
    for (let round = 0; round < ROUNDS; round++) rounds.push(await open(browser, server.url, view));
    const paintMs = median(rounds.map((round) => round.paintMs));
    const rowsMs = median(rounds.map((round) => round.rowsMs));
    if (rowsMs > GOAL_MS) late++;
    console.log(`| ${view.name} | ${paintMs.toFixed(0)} ms | ${rowsMs.toFixed(0)} ms | ${slowest(rounds)} |`);
  }
  console.log(`\n${late} of ${views.length} views take longer than ${GOAL_MS} ms`);
  await browser.close();
  await server.stop();
}

try {
  await measure();
} finally {
  await cleanUp();
}
