import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { buildExecutable } from '../../build/executable.ts';
import type { OtlpCollector } from '../support/otlp-collector.ts';
import { type Served, serveProgram, tempFolder } from '../support/paybell.ts';
import { createForeignFolder, testShippedProgram } from '../support/shipped-program.ts';

/** `dist/paybell` on a machine without Node and Bun: its PATH is a folder with nothing in it. */

const { path: folder, remove } = tempFolder();
const elsewhere = join(folder, 'elsewhere');
const executable = join(folder, process.platform === 'win32' ? 'paybell.exe' : 'paybell');
const settings = { PATH: join(folder, 'nothing') };
let served: Served;
let collector: OtlpCollector;

beforeAll(async () => {
  mkdirSync(settings.PATH);
  collector = createForeignFolder(elsewhere);
  await buildExecutable(executable);
  served = await serveProgram([executable], elsewhere, settings);
});

afterAll(async () => {
  await served?.stop();
  await collector?.[Symbol.asyncDispose]();
  remove();
});

describe('the executable, with neither Node nor Bun on its PATH', () => {
  testShippedProgram(() => ({ program: [executable], folder: elsewhere, settings, served, collector }));
});

test('a target that does not exist is rejected before anything is built', async () => {
  const main = join(import.meta.dir, '../../build/main.ts');
  const build = Bun.spawn([process.execPath, main, 'bun-nowhere'], { cwd: folder, stdout: 'pipe', stderr: 'pipe' });
  const [stdout, stderr, exitCode] = await Promise.all([build.stdout.text(), build.stderr.text(), build.exited]);
  expect({ exitCode, stdout, stderr }).toEqual({
    exitCode: 2,
    stdout: '',
    stderr: 'error: bun-nowhere is not a target; give one such as bun-linux-arm64\n',
  });
});
