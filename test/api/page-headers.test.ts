import { describe, expect, test } from 'bun:test';
import { ASSET_HEADERS, PAGE_HEADERS } from '../../src/api/page-headers.ts';
import type { Database } from '../../src/store/database.ts';
import { call, testApp } from '../support/api.ts';

/** No page looks into the store. */
const app = testApp(undefined as unknown as Database);

const headersOf = async (path: string) => Object.fromEntries((await call(app, null, path)).headers);

describe('the policy of every page', () => {
  const directives = new Map(
    PAGE_HEADERS['content-security-policy'].split('; ').map((directive) => {
      const [name = '', ...sources] = directive.split(' ');
      return [name, sources.join(' ')];
    }),
  );

  test('allows nothing that it does not name', () => {
    expect(directives.get('default-src')).toBe("'none'");
  });

  test.each(['script-src', 'style-src', 'connect-src', 'font-src'])('takes %s from this process alone', (name) => {
    expect(directives.get(name)).toBe("'self'");
  });

  test.each(['base-uri', 'form-action', 'frame-ancestors'])('forbids every %s', (name) => {
    expect(directives.get(name)).toBe("'none'");
  });

  test('names no other host, nothing inline and no eval', () => {
    expect(PAGE_HEADERS['content-security-policy']).not.toMatch(/https?:|\*|unsafe|blob:/);
  });
});

describe('what a browser shows', () => {
  test('is served with the headers of a page where it is one', async () => {
    const pages = await Promise.all(['/docs', '/'].map(headersOf));
    const html = pages.filter((headers) => headers['content-type']?.startsWith('text/html'));
    expect(html.length).toBeGreaterThan(0);
    for (const headers of html) expect(headers).toMatchObject(PAGE_HEADERS);
  });

  test.each(['/docs/start.js', '/docs/swagger-ui.css', '/docs/swagger-ui-bundle.js'])(
    '%s keeps its type and is no part of anybody else’s page',
    async (path) => {
      expect(await headersOf(path)).toMatchObject(ASSET_HEADERS);
    },
  );

  test('has nothing inline that the policy would break', async () => {
    const page = await (await call(app, null, '/docs')).text();
    expect(page).not.toMatch(/<style|\sstyle=|\son\w+=|<script>|javascript:/i);
  });
});
