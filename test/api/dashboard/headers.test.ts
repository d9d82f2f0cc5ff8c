import { describe, expect, test } from 'bun:test';
import { ASSET_HEADERS, DASHBOARD_HEADERS, REFERENCE_HEADERS } from '../../../src/api/dashboard/headers.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { call, testApp } from '../../support/api.ts';

/** Neither document reads from the store. */
const app = testApp(undefined as unknown as Database);

const headersOf = async (path: string) => Object.fromEntries((await call(app, null, path)).headers);

describe.each([
  ['/', DASHBOARD_HEADERS],
  ['/docs', REFERENCE_HEADERS],
])('the document at %s', (path, expected) => {
  const policy = expected['content-security-policy'];
  const directives = new Map(
    policy.split('; ').map((directive) => {
      const [name = '', ...sources] = directive.split(' ');
      return [name, sources.join(' ')];
    }),
  );

  test('is served with its headers, as HTML', async () => {
    expect(await headersOf(path)).toMatchObject({ 'content-type': 'text/html; charset=utf-8', ...expected });
  });

  test('allows nothing that its policy does not name', () => {
    expect(directives.get('default-src')).toBe("'none'");
  });

  test.each(['script-src', 'style-src', 'connect-src'])('allows only its own origin as %s', (name) => {
    expect(directives.get(name)).toBe("'self'");
  });

  test.each(['base-uri', 'form-action', 'frame-ancestors'])('forbids every %s', (name) => {
    expect(directives.get(name)).toBe("'none'");
  });

  test('names no other host, nothing inline and no eval', () => {
    expect(policy).not.toMatch(/https?:|\*|unsafe|blob:/);
  });

  test('has nothing inline that the policy would break', async () => {
    const html = await (await call(app, null, path)).text();
    expect(html).not.toMatch(/<style|\sstyle=|\son\w+=|<script>|javascript:/i);
  });

  test('loads only assets that keep their type and cannot be loaded by other origins', async () => {
    const html = await (await call(app, null, path)).text();
    const assets = [...html.matchAll(/(?:src|<link[^>]*href)="([^"]+)"/g)].map(([, asset = '']) => asset);
    expect(assets.length).toBeGreaterThan(1);
    for (const asset of assets) expect(await headersOf(asset)).toMatchObject(ASSET_HEADERS);
  });
});

test('the dashboard takes no HTML from strings', () => {
  expect(DASHBOARD_HEADERS['content-security-policy']).toContain(
    "require-trusted-types-for 'script'; trusted-types 'none'",
  );
});
