import { expect, test } from 'bun:test';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { OtlpCollector } from './otlp-collector.ts';
import { firstCredentials, runProgram, type Served, type Settings } from './paybell.ts';
import { until } from './until.ts';

/** Paybell in a form that people install, started in a folder that belongs to another project. */
export type ShippedProgram = {
  readonly program: readonly string[];
  readonly folder: string;
  readonly settings: Settings;
  readonly served: Served;
  /** The one that the settings name. */
  readonly collector: OtlpCollector;
};

/**
 * A folder with settings for Paybell, and with code that is of another project as far as Paybell is concerned. Returns the collector
 * that the settings name.
 */
export function createForeignFolder(folder: string): OtlpCollector {
  const collector = new OtlpCollector();
  mkdirSync(folder);
  writeFileSync(join(folder, 'bunfig.toml'), 'preload = ["./of-another-project.ts"]\n');
  writeFileSync(join(folder, 'of-another-project.ts'), `console.log('of another project');\n`);
  const settings = { PROCESSOR: 'by-env-file', ...collector.settings };
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`);
  writeFileSync(join(folder, '.env'), lines.join(''));
  return collector;
}

/** What every form has to do, tested inside of a `describe` that names it. */
export function testShippedProgram(running: () => ShippedProgram): void {
  const get = (path: string) => fetch(`${running().served.url}${path}`);

  test('serves the list of webhooks, under the processor that an env file names', async () => {
    const { entityId, apiKey } = firstCredentials(running().served.stdout()) ?? { entityId: '', apiKey: '' };
    const headers = { 'api-key': apiKey, 'entity-id': entityId };
    const answer = await fetch(`${running().served.url}/api/v1/by-env-file/webhooks/classic`, { headers });
    expect(await answer.json()).toEqual({ totalResults: 0, webhooks: [] });
  });

  test('sends traces and metrics to a collector, for which nothing else has to be installed', async () => {
    const { collector } = running();
    await get('/api/v1/by-env-file/webhooks/classic');
    await until('the collector has both', () => collector.spans.length > 0 && collector.metrics.size > 0);
    expect(collector.spans[0]?.name).toBe('GET /api/v1/by-env-file/webhooks/classic');
  });

  test('reads a list on a thread, whose program is in the executable too', async () => {
    const { entityId, apiKey } = firstCredentials(running().served.stdout()) ?? { entityId: '', apiKey: '' };
    const headers = { 'api-key': apiKey, 'entity-id': entityId };
    const answer = await fetch(`${running().served.url}/api/v1/by-env-file/deliveries`, { headers });
    expect(await answer.json()).toEqual({ totalResults: 0, deliveries: [], searched: null });
  });

  test('finds nothing wrong with itself', async () => {
    const { program, folder, settings } = running();
    const { exitCode, stdout, stderr } = await runProgram(program, ['doctor', '--json'], folder, settings);
    expect(stderr).toBe('');
    const { ok, checks } = JSON.parse(stdout) as { ok: boolean; checks: { check: string; state: string }[] };
    expect({ exitCode, ok }).toEqual({ exitCode: 0, ok: true });
    expect(checks.find(({ check }) => check === 'loopback delivery')?.state).toBe('ok');
  });

  test('has the reference page, the API document and everything that they load', async () => {
    for (const path of [
      '/openapi.json',
      '/docs',
      '/docs/start.js',
      '/docs/reference.css',
      '/docs/swagger-ui.css',
      '/docs/swagger-ui-bundle.js',
    ]) {
      const answer = await get(path);
      expect({ path, status: answer.status }).toEqual({ path, status: 200 });
      expect((await answer.bytes()).length).toBeGreaterThan(100);
    }
  });

  test('has the dashboard with its scripts and styles', async () => {
    const html = await (await get('/')).text();
    const files = [...html.matchAll(/(?:src|href)="(\/[^"]+\.(?:js|css|svg))"/g)].map(([, path = '']) => path);
    expect(files.map((path) => path.replace(/.*\./, '')).sort()).toEqual(['css', 'js', 'svg']);
    for (const path of files) {
      const answer = await get(path);
      expect({ path, status: answer.status }).toEqual({ path, status: 200 });
      expect((await answer.text()).length).toBeGreaterThan(100);
    }
  });

  test('runs no code of the folder that it is started in', () => {
    expect(running().served.stdout()).not.toContain('of another project');
  });
}
