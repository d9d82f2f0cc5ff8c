import { expect, test } from 'bun:test';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { longerPause, Supervisor } from '../../../src/cli/operator/workers/supervisor.ts';
import { createLogger } from '../../../src/log.ts';
import { tempFolder } from '../../support/paybell.ts';
import { until } from '../../support/until.ts';

/** A worker that says what it is told to, and writes down the port that it was given. */
const WORKER = `
process.on('SIGTERM', () => process.exit(0));
process.on('message', () => undefined);
process.send({ type: 'started', url: 'http://127.0.0.1/', firstEntity: null });
await Bun.write(process.env.FOLDER + '/' + process.env.PAYBELL_WORKER + '.port', process.env.PORT ?? '');
setInterval(() => undefined, 1_000);
`;

test('the other workers listen on the port of the first, also where its URL does not name it', async () => {
  const folder = tempFolder();
  const script = join(folder.path, 'worker.ts');
  await Bun.write(script, WORKER);
  const supervisor = new Supervisor({
    workers: 2,
    command: [process.execPath, script],
    environment: { PATH: process.env.PATH, FOLDER: folder.path },
    log: createLogger('silent'),
    longestStopMs: 60_000,
  });
  expect(await supervisor.start()).toMatchObject({ url: 'http://127.0.0.1/' });
  const portOfSecond = () => readFile(join(folder.path, '2.port'), 'utf8').catch(() => '');
  await until('the second has started', async () => (await portOfSecond()) !== '');
  expect(await portOfSecond()).toBe('80');
  expect(await supervisor.stop()).toBe(true);
  folder.remove();
});

test('a worker that keeps ending is started again after a pause that doubles, up to half a minute', async () => {
  const folder = tempFolder();
  const script = join(folder.path, 'worker.ts');
  await Bun.write(
    script,
    `process.send({ type: 'started', url: 'http://127.0.0.1/', firstEntity: null }); process.exit(3);`,
  );
  const lines: { inMs?: number; exitCode?: number }[] = [];
  const supervisor = new Supervisor({
    workers: 1,
    command: [process.execPath, script],
    environment: { PATH: process.env.PATH },
    log: createLogger('error', { write: (line: string) => void lines.push(JSON.parse(line)) }),
    longestStopMs: 60_000,
  });
  expect(await supervisor.start()).not.toBeNull();
  await until('it has ended three times', () => lines.length >= 3);
  expect(lines.slice(0, 3)).toMatchObject([500, 1_000, 2_000].map((inMs) => ({ inMs, exitCode: 3 })));
  await supervisor.stop();
  expect([2_000, 16_000, 30_000].map(longerPause)).toEqual([4_000, 30_000, 30_000]);
  folder.remove();
});
