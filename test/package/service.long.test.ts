import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { chmodSync, mkdirSync, readdirSync, renameSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import root from '../../package.json' with { type: 'json' };
import lock from '../../package-lock.json' with { type: 'json' };
import type { OtlpCollector } from '../support/otlp-collector.ts';
import { type Finished, runProgram, type Served, serveProgram } from '../support/paybell.ts';
import { createForeignFolder, testShippedProgram } from '../support/shipped-program.ts';
import { installedIn, type Packed, packFolder, packService } from './packed.ts';
import { type Registry, type RegistryPackage, startRegistry } from './registry.ts';

const ROOT = resolve(import.meta.dir, '../..');
const RUNTIMES: Readonly<Record<string, string>> = lock.packages['node_modules/bun'].optionalDependencies;
/** The package of Bun for this system, which npm chose when it installed this checkout. */
const [RUNTIME = ''] = readdirSync(join(ROOT, 'node_modules/@oven')).map((name) => `@oven/${name}`);

let packed: Packed;
let registry: Registry;

beforeAll(async () => {
  packed = await packService();
  registry = startRegistry(await runtimePackages());
});
afterAll(async () => {
  await registry.stop();
  packed.remove();
});

/** Bun's packages as the registry has them; the one for this system has a script that starts the Bun of this checkout. */
async function runtimePackages(): Promise<RegistryPackage[]> {
  const locked: Readonly<Record<string, object>> = lock.packages;
  const manifests = Object.entries(RUNTIMES).map(([name, version]) => ({
    ...locked[`node_modules/${name}`],
    name,
    version,
  }));
  const folder = join(packed.folder, 'runtime');
  const program = join(folder, 'bin/bun');
  await Bun.write(program, `#!/bin/sh\nexec "${process.execPath}" "$@"\n`);
  chmodSync(program, 0o755);
  await Bun.write(join(folder, 'package.json'), JSON.stringify(manifests.find(({ name }) => name === RUNTIME)));
  const tarball = await Bun.file(await packFolder(folder, packed.folder)).bytes();
  return manifests.map((manifest) => ({ manifest, tarball: manifest.name === RUNTIME ? tarball : null }));
}

/** Installs the packed file into an empty folder. */
async function install(name: string, ...options: string[]): Promise<{ project: string; outcome: Finished }> {
  const project = join(packed.folder, name);
  mkdirSync(project);
  const args = ['install', ...options, '--no-audit', '--no-fund', `--registry=${registry.url}`, packed.tarball];
  return { project, outcome: await runProgram(['npm'], args, project) };
}

describe('the package paybell', () => {
  test('is faultless to publint', async () => {
    const { messages } = await publint({ pkgDir: packed.built, strict: true, pack: false });
    expect(messages).toEqual([]);
  });

  test('has types that are right for every way of resolving modules', async () => {
    const tarball = await Bun.file(packed.tarball).bytes();
    const result = await checkPackage(createPackageFromTarballData(tarball));
    if (result.types === false) throw new Error('there are no types');
    expect(Object.keys(result.entrypoints)).toEqual(['./client', './verify', './package.json']);
    expect(result.problems).toEqual([]);
  });

  test('depends on Bun for each system, in the version of this checkout, and on nothing else', async () => {
    const manifest = (await Bun.file(join(packed.built, 'package.json')).json()) as Record<string, unknown>;
    expect(Object.keys(manifest).filter((name) => /dependencies|scripts/i.test(name))).toEqual([
      'optionalDependencies',
    ]);
    expect(manifest.optionalDependencies).toEqual(RUNTIMES);
    expect(new Set(Object.values(RUNTIMES))).toEqual(new Set([root.dependencies.bun]));
  });

  test('has the licence of every package that its bundle contains', async () => {
    const text = await Bun.file(join(packed.built, 'THIRD-PARTY-LICENCES.txt')).text();
    for (const name of ['viem', 'zod', 'preact', 'swagger-ui-dist', 'commander']) {
      expect(text).toMatch(new RegExp(`^${name} \\d[\\s\\S]{10,300}(Copyright|Licen[cs]e)`, 'm'));
    }
  });
});

describe('a project that installs paybell', () => {
  let project: string;
  let outcome: Finished;
  let served: Served;
  let collector: OtlpCollector;
  const program = () => [join(project, 'node_modules/.bin/paybell')];
  const elsewhere = () => join(project, 'elsewhere');

  beforeAll(async () => {
    ({ project, outcome } = await install('shop', '--ignore-scripts'));
    collector = createForeignFolder(elsewhere());
    served = await serveProgram(program(), elsewhere());
  });
  afterAll(async () => {
    await served?.stop();
    await collector?.[Symbol.asyncDispose]();
  });

  test('gets it quietly, with Bun for its own system alone', () => {
    expect(outcome).toEqual({
      exitCode: 0,
      stdout: expect.stringMatching(/^\s*added 2 packages in \S+\s*$/),
      stderr: '',
    });
    expect(installedIn(project)).toEqual([RUNTIME, 'paybell']);
  });

  testShippedProgram(() => ({ program: program(), folder: elsewhere(), settings: {}, served, collector }));

  test('starts it with npx, and is told to go on with npx', async () => {
    const { stdout, stderr } = await runProgram(['npx'], ['paybell', 'webhooks', 'list', '--help'], project);
    expect({ stderr, stdout }).toEqual({
      stderr: '',
      stdout: expect.stringMatching(/^Usage: npx paybell webhooks list/),
    });
  });

  test('starts it without a POSIX shell, with the same exit codes', async () => {
    const script = ['node', join(project, 'node_modules/.bin/paybell-node')];
    expect(await runProgram(script, ['--version'], project)).toEqual({
      exitCode: 0,
      stdout: `${root.version}\n`,
      stderr: '',
    });
    expect((await runProgram(script, ['nonsense'], project)).exitCode).toBe(2);
  });

  test('imports and requires the client and the verifier', async () => {
    const check = "typeof new Paybell({ url: 'http://127.0.0.1', apiKey: 'x' }).events.publish + typeof verify";
    await Bun.write(
      join(project, 'modern.mjs'),
      `import { Paybell } from 'paybell/client'; import { verify } from 'paybell/verify'; console.log(${check});`,
    );
    await Bun.write(
      join(project, 'older.cjs'),
      `const { Paybell } = require('paybell/client'); const { verify } = require('paybell/verify'); console.log(${check});`,
    );
    for (const file of ['modern.mjs', 'older.cjs']) {
      expect(await runProgram(['node'], [file], project)).toMatchObject({ stdout: 'functionfunction\n', stderr: '' });
    }
  });

  test('stops it with a signal, which no shell keeps from it', async () => {
    expect((await served.stop()).exitCode).toBe(0);
  });

  test('starts it also after the package bun has moved the file', async () => {
    mkdirSync(join(project, 'node_modules/bun/bin'), { recursive: true });
    renameSync(join(project, 'node_modules', RUNTIME, 'bin/bun'), join(project, 'node_modules/bun/bin/bun.exe'));
    await Bun.write(join(project, 'node_modules/bun/package.json'), '{ "name": "bun" }');
    for (const name of ['paybell', 'paybell-node']) {
      const { stdout } = await runProgram([join(project, 'node_modules/.bin', name)], ['--version'], project);
      expect(stdout).toBe(`${root.version}\n`);
    }
  });
});

test('without optional dependencies, the command says what is missing and how to get it', async () => {
  const { project } = await install('without-bun', '--omit=optional');
  for (const name of ['paybell', 'paybell-node']) {
    expect(await runProgram([join(project, 'node_modules/.bin', name)], ['serve'], project)).toEqual({
      exitCode: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^error: Bun is not installed for this system: the package @oven\/bun-\S+ is missing\.\n.*--include=optional paybell\n$/,
      ),
    });
  }
});
