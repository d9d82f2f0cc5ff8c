import { expect, test } from 'bun:test';
import { DASHBOARD_HEADERS } from '../../../src/api/dashboard/headers.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { call, testApp } from '../../support/api.ts';
import { expectProblem } from '../../support/problems.ts';

/** A path that does not exist is not looked for in the store. */
const NO_STORE = undefined as unknown as Database;
const app = testApp(NO_STORE);
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8';
const ask = (path: string, accept: string | null, options: Parameters<typeof call>[3] = {}) =>
  call(app, null, path, { ...options, headers: { ...(accept === null ? {} : { accept }), ...options.headers } });

test('a mistyped address is a page in a browser, with links that work and the headers of the dashboard', async () => {
  const response = await ask('/deliverys', BROWSER);
  expect(response.status).toBe(404);
  expect(Object.fromEntries(response.headers)).toMatchObject({
    ...DASHBOARD_HEADERS,
    'content-type': 'text/html; charset=utf-8',
    vary: 'accept',
    'x-request-id': expect.any(String),
  });
  const page = await response.text();
  expect(page).toContain('<code>/deliverys</code>');
  expect(page).not.toMatch(/<style|\sstyle=|<script/);
  const links = [...page.matchAll(/href="([^"]+)"/g)].map(([, href = '']) => href);
  expect(links.length).toBeGreaterThan(4);
  for (const href of links) expect([href, (await ask(href, BROWSER)).status]).toEqual([href, 200]);
});

test.each([null, '*/*', 'application/json', 'application/json, text/html', 'text/html;q=0, */*', 'text/htmlx'])(
  'a client that accepts %s gets a problem at the same address',
  async (accept) => {
    await expectProblem(await ask('/deliverys', accept), 'not_found');
  },
);

test.each(['/api', '/api/v1/crypto/webhook', '/api/v1/crypto/nothing/x', '/admin/v1/x'])(
  '%s is of programs: a problem, also for clients that ask for HTML wherever they call',
  async (path) => {
    await expectProblem(await ask(path, BROWSER), 'not_found');
  },
);

test('a request that changes something or has a key gets a problem, and HEAD the head of the page', async () => {
  await expectProblem(await ask('/deliverys', BROWSER, { method: 'POST' }), 'not_found');
  await expectProblem(await ask('/deliverys', BROWSER, { headers: { 'api-key': 'x' } }), 'not_found');
  const head = await ask('/deliverys', BROWSER, { method: 'HEAD' });
  expect([head.status, head.headers.get('content-type'), await head.text()]).toEqual([
    404,
    'text/html; charset=utf-8',
    '',
  ]);
});

test('what was typed is shown as text and cut where it is long', async () => {
  const typed = `/<script>alert(1)</script>${'x'.repeat(3_000)}`;
  const page = await (await ask(typed.replaceAll('<', '%3C'), BROWSER)).text();
  expect(page).not.toContain('<script');
  expect(page.length).toBeLessThan(2_000);
});

test('an instance without the API has no dashboard to link to, and sends a problem', async () => {
  const delivery = testApp(NO_STORE, {
    ROLE: 'delivery',
    DATABASE_URL: 'postgres://localhost/x',
    SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
  });
  await expectProblem(await call(delivery, null, '/deliverys', { headers: { accept: BROWSER } }), 'not_found');
});
