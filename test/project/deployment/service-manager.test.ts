import { describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { loadConfig } from '../../../src/config.ts';
import { longestStopMs } from '../../../src/service/stop-times.ts';
import { tempFolder } from '../../support/paybell.ts';
import { needs, SYSTEMD } from '../../support/requirements.ts';

const ROOT = resolve(import.meta.dir, '../../..');
const read = (path: string) => Bun.file(join(ROOT, path)).text();

describe('the systemd unit', () => {
  test('waits longer than a stop can take, which the documents state', async () => {
    const settings = { DELIVERY_TIMEOUT: 15_000, DATABASE_TIMEOUT: 5_000 };
    const besideTimeoutS = (longestStopMs(settings) - 15_000) / 1000;
    expect(await read('docs/deploy.md')).toContain(`above \`DELIVERY_TIMEOUT\` and ${besideTimeoutS} seconds`);
    for (const file of ['deploy/paybell.service', 'compose.yaml', 'deploy/kubernetes/api.yaml']) {
      expect(await read(file)).toContain(`DELIVERY_TIMEOUT and ${besideTimeoutS} s.`);
    }
    const [, seconds] = /^TimeoutStopSec=(\d+)$/m.exec(await read('deploy/paybell.service')) ?? [];
    expect(Number(seconds) * 1000).toBeGreaterThan(longestStopMs(loadConfig({})));
  });

  test('is not the only one: the containers get as long, where the documents stop one', async () => {
    for (const file of ['Dockerfile', 'docs/deploy.md']) {
      const timeouts = [...(await read(file)).matchAll(/docker stop --timeout (\d+)/g)].map(([, seconds]) =>
        Number(seconds),
      );
      expect(timeouts.length).toBeGreaterThan(0);
      for (const seconds of timeouts) expect(seconds * 1000).toBeGreaterThan(longestStopMs(loadConfig({})));
    }
  });

  test('has to wait longer for a slow database, whose last writes are not cut off', async () => {
    const stopS = (DATABASE_TIMEOUT: number) => longestStopMs({ DELIVERY_TIMEOUT: 15_000, DATABASE_TIMEOUT }) / 1000;
    expect(stopS(60_000) - stopS(59_000)).toBe(4);
    expect(await read('docs/scale.md')).toContain('for each second more, a stop may take four more');
  });

  test.skipIf(!SYSTEMD.isMet)(`passes systemd-analyze verify ${needs(SYSTEMD)}`, async () => {
    const folder = tempFolder();
    const unit = join(folder.path, 'paybell.service');
    // systemd-analyze checks that the program exists, and Paybell is not installed here.
    writeFileSync(unit, (await read('deploy/paybell.service')).replace('/usr/local/bin/paybell', process.execPath));
    const child = Bun.spawn(['systemd-analyze', 'verify', unit], { stdout: 'pipe', stderr: 'pipe' });
    expect({ stderr: await child.stderr.text(), exitCode: await child.exited }).toEqual({ stderr: '', exitCode: 0 });
    folder.remove();
  });
});
