import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { launchChromium } from '../test/browser/support/chromium.ts';

/**
 * `npm run docs:site`: opens every page of the built site in Chromium, light and dark, on a desktop and on a phone. It fails on a
 * request to another host, on one that fails, on an error of a script, and on a page that is wider than its window. With a folder
 * as an argument, it saves a picture of the pages that have tables, images, code and search results.
 */

const SITE = resolve(import.meta.dir, '../dist/site');
const LOOKS = [
  { name: 'desktop', width: 1280, height: 800 },
  { name: 'phone', width: 390, height: 844 },
].flatMap((look) => (['light', 'dark'] as const).map((colorScheme) => ({ ...look, colorScheme })));
const PICTURED = ['index.html', 'tours/integrator.html', 'dashboard.html', 'deploy.html', 'changelog.html'];

type Look = (typeof LOOKS)[number];

const pages = [...new Bun.Glob('**/*.html').scanSync(SITE)].filter((page) => page !== '404.html').sort();
if (pages.length === 0) fail('dist/site has no pages: build it with npm run docs');
const [pictures] = process.argv.slice(2);

function fail(text: string): never {
  process.stderr.write(`error: ${text}\n`);
  process.exit(1);
}

/** Everything that a page should not do, as it happens. */
function watch(page: Page, origin: string, found: string[]): void {
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(origin) && !url.startsWith('data:')) found.push(`${page.url()} requests ${url}`);
  });
  page.on('response', (response) => {
    if (response.status() >= 400) found.push(`${page.url()}: ${response.status()} for ${response.url()}`);
  });
  page.on('pageerror', (error) => found.push(`${page.url()}: ${error.message}`));
  page.on('console', (message) => {
    if (message.type() === 'error') found.push(`${page.url()}: ${message.text()}`);
  });
}

async function look(browser: Browser, origin: string, { name, width, height, colorScheme }: Look): Promise<string[]> {
  const found: string[] = [];
  const context = await browser.newContext({ viewport: { width, height }, colorScheme, reducedMotion: 'reduce' });
  const page = await context.newPage();
  watch(page, origin, found);
  const save = (picture: string) =>
    pictures === undefined
      ? Promise.resolve()
      : page.screenshot({ path: join(pictures, `${picture.replace('/', '-')}-${name}-${colorScheme}.png`) });
  for (const path of pages) {
    await page.goto(`${origin}/${path}`, { waitUntil: 'networkidle' });
    const wide = Number(await page.evaluate('document.documentElement.scrollWidth - innerWidth'));
    if (wide > 0) found.push(`${path} is ${wide} px wider than ${width} px`);
    const isDark = await page.evaluate("document.documentElement.classList.contains('dark')");
    if (isDark !== (colorScheme === 'dark')) found.push(`${path} is not ${colorScheme}`);
    if (PICTURED.includes(path)) await save(path.replace('.html', ''));
  }
  await search(page, found);
  await save('search');
  await context.close();
  return found;
}

/** The index of the search is loaded when it is opened. */
async function search(page: Page, found: string[]): Promise<void> {
  await page.locator('.DocSearch-Button').first().click();
  await page.locator('.VPLocalSearchBox input').fill('Citus');
  const first = page.locator('.VPLocalSearchBox .result').first();
  await first.waitFor();
  if (!(await first.innerText()).includes('Citus')) found.push('the search does not find Citus');
}

const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch: async (request) => {
    const { pathname } = new URL(request.url);
    const file = Bun.file(join(SITE, pathname.endsWith('/') ? `${pathname}index.html` : pathname));
    return (await file.exists()) ? new Response(file) : new Response('Not found\n', { status: 404 });
  },
});
if (pictures !== undefined) mkdirSync(pictures, { recursive: true });
const browser = await launchChromium();
const found: string[] = [];
for (const each of LOOKS) found.push(...(await look(browser, server.url.origin, each)));
await browser.close();
await server.stop(true);
if (found.length > 0)
  fail(`the site is not as it should be:\n${[...new Set(found)].map((each) => `  ${each}`).join('\n')}`);
process.stdout.write(
  `${pages.length} pages in ${LOOKS.length} looks: no external request, no failed request, no error.\n`,
);
