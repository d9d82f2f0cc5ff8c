import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { bundleDashboard } from '../../../src/api/dashboard/bundle.ts';
import { embedDashboard } from '../../../src/api/dashboard/embedding.ts';
import { DASHBOARD_PATHS, endpointPath, networkPath, paymentPath } from '../../../src/dashboard/paths.ts';
import { call, testApp } from '../../support/api.ts';
import { tempFolder } from '../../support/paybell.ts';
import { onSuiteEngine } from '../../support/stores.ts';

const MAX_FIRST_LOAD_BYTES = 100_000;
const GZIP = { headers: { 'accept-encoding': 'gzip, deflate, br' } };

function assetsOf(html: string): string[] {
  return [...html.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path = '']) => path);
}

onSuiteEngine('the dashboard', (store) => {
  test('is one document at every path', async () => {
    const app = testApp(store.db);
    const paths = [
      ...Object.values(DASHBOARD_PATHS),
      endpointPath('ep_0f9c2a6e0b17d3'),
      paymentPath('pay_1'),
      networkPath(8453),
    ];
    const documents = await Promise.all(paths.map((path) => call(app, null, path)));
    for (const response of documents) {
      expect(response.status).toBe(200);
      expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(response.headers.get('cache-control')).toBe('no-cache');
    }
    expect(new Set(await Promise.all(documents.map((response) => response.text()))).size).toBe(1);
  });

  test('says in practice mode that payments are made up, and otherwise nothing of it', async () => {
    const html = async (settings: Record<string, string>) =>
      (await call(testApp(store.db, settings), null, '/')).text();
    const mark = '<meta name="paybell-practice" content="true">';
    expect(await html({ CHAIN_RPC: 'practice' })).toContain(mark);
    for (const settings of [{}, { CHAIN_RPC: '8453=https://node.example' }] as Record<string, string>[]) {
      expect(await html(settings)).not.toContain('practice');
    }
  });

  test('forbids other hosts, inline scripts and styles, and frames', async () => {
    const { headers } = await call(testApp(store.db), null, '/');
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).toContain("require-trusted-types-for 'script'");
    expect(policy).not.toMatch(/https?:|\*|unsafe/);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
  });

  test('names no other host and contains nothing inline', async () => {
    const html = await (await call(testApp(store.db), null, '/')).text();
    expect(html).not.toMatch(/(https?:)?\/\/[\w-]+\./);
    expect(html).not.toMatch(/<style|style=|<script(?![^>]*src=)|\son\w+=/);
    expect(html.match(/<script /g)).toHaveLength(1);
  });

  test('has a first load under 100 KB compressed, from files that are cached forever', async () => {
    const app = testApp(store.db);
    const html = await call(app, null, '/', GZIP);
    const paths = assetsOf(new TextDecoder().decode(Bun.gunzipSync(await html.clone().arrayBuffer())));
    const responses = await Promise.all(paths.map((path) => call(app, null, path, GZIP)));
    let bytes = (await html.bytes()).length;
    for (const response of responses) {
      expect(response.status).toBe(200);
      expect(response.headers.get('content-encoding')).toBe('gzip');
      expect(response.headers.get('vary')).toBe('accept-encoding');
      bytes += (await response.bytes()).length;
    }
    expect(paths.filter((path) => /-[a-z0-9]{8}\.(js|css)$/.test(path))).toHaveLength(2);
    const immutable = responses.filter((response) => response.headers.get('cache-control')?.endsWith('immutable'));
    expect(immutable).toHaveLength(2);
    expect(bytes).toBeLessThan(MAX_FIRST_LOAD_BYTES);
  });

  test.each(['', 'br', 'gzip;q=0', 'deflate, gzip; q=0.0'])(
    'is not compressed for accept-encoding %p',
    async (accepted) => {
      const response = await call(testApp(store.db), null, '/', { headers: { 'accept-encoding': accepted } });
      expect(response.headers.get('content-encoding')).toBeNull();
      expect(await response.text()).toStartWith('<!doctype html>');
    },
  );

  test('knows the path of the API when the processor has another name', async () => {
    const html = await (await call(testApp(store.db, { PROCESSOR: 'chain' }), null, '/')).text();
    expect(html).toContain('<meta name="paybell-processor" content="chain">');
  });

  test('is 404 for an unknown file, and 405 for another method', async () => {
    const app = testApp(store.db);
    expect((await call(app, null, '/assets/main-00000000.js')).status).toBe(404);
    expect((await call(app, null, '/assets/..%2fmain.tsx')).status).toBe(404);
    expect((await call(app, null, '/webhooks', { method: 'POST' })).status).toBe(405);
    expect((await call(app, null, '/', { method: 'HEAD' })).status).toBe(200);
  });

  test('is absent on an instance that only delivers', async () => {
    expect((await call(testApp(store.db, { ROLE: 'delivery' }), null, '/')).status).toBe(404);
  });
});

test('the dashboard bundle contains none of the zod schemas of the server', async () => {
  for (const { text } of await bundleDashboard()) expect(text).not.toMatch(/ZodType|zod/i);
});

test('an executable contains the bundled dashboard and needs no sources', async () => {
  const folder = tempFolder();
  try {
    const entry = join(folder.path, 'entry.ts');
    const module = join(import.meta.dir, '../../../src/api/dashboard/bundle.ts');
    await Bun.write(
      entry,
      `import { bundleDashboard } from ${JSON.stringify(module)};\nconsole.log(JSON.stringify(await bundleDashboard()));\n`,
    );
    await Bun.build({ entrypoints: [entry], target: 'bun', outdir: folder.path, plugins: [await embedDashboard()] });
    expect(await Bun.file(join(folder.path, 'entry.js')).text()).not.toContain('Bun.build');
    const run = Bun.spawn([process.execPath, join(folder.path, 'entry.js')], { stdout: 'pipe' });
    expect(JSON.parse(await run.stdout.text())).toEqual(await bundleDashboard());
  } finally {
    folder.remove();
  }
});
