import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join, resolve } from 'node:path';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { run } from '../support/programs.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { createTarget } from '../support/stores.ts';
import { installedIn, type Packed, packClient } from './packed.ts';

const ROOT = resolve(import.meta.dir, '../..');
const TSC = join(ROOT, 'node_modules/.bin/tsc');

let packed: Packed;
beforeAll(async () => {
  packed = await packClient();
});
afterAll(() => packed.remove());

describe('@paybell/client', () => {
  test('is faultless to publint', async () => {
    const { messages } = await publint({ pkgDir: packed.built, strict: true, pack: false });
    expect(messages).toEqual([]);
  });

  test('has types that are right for every way of resolving modules', async () => {
    const tarball = new Uint8Array(await Bun.file(packed.tarball).arrayBuffer());
    const result = await checkPackage(createPackageFromTarballData(tarball));
    if (result.types === false) throw new Error('there are no types');
    expect(Object.keys(result.entrypoints)).toEqual(['.', './verify', './package.json']);
    expect(result.problems).toEqual([]);
  });

  test('depends on nothing, and holds nothing but its two modules', async () => {
    const manifest = (await Bun.file(join(packed.built, 'package.json')).json()) as Record<string, unknown>;
    expect(Object.keys(manifest).filter((name) => /dependencies/i.test(name))).toEqual([]);
    for (const entry of ['client', 'verify']) {
      for (const kind of ['js', 'cjs', 'd.ts', 'd.cts']) {
        const text = await Bun.file(join(packed.built, `${entry}.${kind}`)).text();
        // At the start of a line, `import(` declares the method of that name.
        expect(text).not.toMatch(/\bfrom ['"]|\brequire\(|\S.*\bimport\(|\bBun\.|\bprocess\.|\bBuffer\b/);
      }
    }
  });

  test('declares for the wire exactly what the schemas say', async () => {
    const sources = [...new Bun.Glob('src/client/*.ts').scanSync(ROOT)].filter((file) => !/schema-types/.test(file));
    const texts = await Promise.all(sources.map((file) => Bun.file(join(ROOT, file)).text()));
    const names = texts.flatMap((text) =>
      [...text.matchAll(/^export type (\w+) = (?:\w+\.)?\w+<typeof|^export type (\w+) = keyof/gm)].map(
        (match) => match[1] ?? match[2] ?? '',
      ),
    );
    expect(names.length).toBeGreaterThan(35);
    const check = [
      `import type * as Inferred from '${join(ROOT, 'src/client/package.ts')}';`,
      `import type { InputError } from '${join(ROOT, 'src/contract/problems.ts')}';`,
      `import type * as Declared from './client/client.js';`,
      'type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;',
      'declare function same<A, B>(is: Same<A, B>): void;',
      ...names.map((name) => `same<Inferred.${name}, Declared.${name}>(true);`),
      'same<InputError, Declared.Fault>(true);',
      // What shows that the check can fail.
      'same<Inferred.Webhook, Declared.Event>(false);',
    ].join('\n');
    await Bun.write(join(packed.folder, 'same.ts'), check);
    const options = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--allowImportingTsExtensions'];
    const target = ['--target', 'esnext', '--module', 'esnext', '--moduleResolution', 'bundler', '--skipLibCheck'];
    const bunTypes = ['--types', 'bun', '--typeRoots', join(ROOT, 'node_modules/@types')];
    expect(await run([TSC, ...options, ...target, ...bunTypes, 'same.ts'], packed.folder)).toBe('');
  });
});

/** A kind of event that an operator has added, told to the types of the package. */
const AUGMENTED = `
import type { PaybellEvent } from '@paybell/client/verify';

declare module '@paybell/client/verify' {
  interface EventsByKind {
    RefundIssued: { event: 'RefundIssued'; networkId: number; refundId: string };
  }
}

export function refundOf(event: PaybellEvent): string | null {
  return event.event === 'RefundIssued' ? event.refundId : null;
}
`;

const VERIFIED = { daysLate: '3.0', found: true, code: 'not_found' };

describe('a project that installs the packed tarball', () => {
  let service: TestService;
  let remove: () => void;
  let project: string;

  beforeAll(async () => {
    const { url, remove: removeStore } = await createTarget('sqlite');
    remove = removeStore;
    service = await startTestService(url);
    project = join(packed.folder, 'project');
    await Bun.write(join(project, 'package.json'), JSON.stringify({ name: 'shop', private: true, type: 'module' }));
    await Bun.write(join(project, 'integrator.ts'), Bun.file(join(import.meta.dir, 'integrator.ts')));
    await Bun.write(join(project, 'augmented.ts'), AUGMENTED);
    await run(['npm', 'install', '--offline', '--no-audit', '--no-fund', packed.tarball], project);
  });
  afterAll(async () => {
    await service[Symbol.asyncDispose]();
    remove();
  });

  const settings = () => ({
    URL: service.client().url,
    ENTITY_ID: service.first.entityId,
    API_KEY: service.first.apiKey,
  });

  test('gets one package and no other', () => {
    expect(installedIn(project)).toEqual(['@paybell/client']);
  });

  test.each([
    ['nodenext', 'nodenext'],
    ['esnext', 'bundler'],
  ])('compiles strictly against its types, with %s modules', async (module, resolution) => {
    const strict = [
      '--strict',
      '--exactOptionalPropertyTypes',
      '--noUncheckedIndexedAccess',
      '--skipLibCheck',
      'false',
    ];
    const kind = ['--target', 'esnext', '--module', module, '--moduleResolution', resolution];
    const node = ['--types', 'node', '--typeRoots', join(ROOT, 'node_modules/@types'), '--lib', 'esnext'];
    const outDir = ['--outDir', join(project, `out-${module}`)];
    expect(await run([TSC, ...strict, ...kind, ...node, ...outDir, 'integrator.ts', 'augmented.ts'], project)).toBe('');
  });

  test('runs on Node', async () => {
    const output = await run(['node', 'out-nodenext/integrator.js'], project, settings());
    expect(JSON.parse(output)).toEqual(VERIFIED);
  });

  test('runs on Bun', async () => {
    const output = await run([process.execPath, 'integrator.ts'], project, settings());
    expect(JSON.parse(output)).toEqual(VERIFIED);
  });

  test('is required by a project that is older than ES modules', async () => {
    await Bun.write(
      join(project, 'older.cjs'),
      `const { Paybell } = require('@paybell/client'); const { verify } = require('@paybell/client/verify');
       new Paybell({ url: 'http://127.0.0.1', apiKey: 'x' });
       verify('{}', {}, 'whsec_').catch((error) => console.log(error.name, error.reason));`,
    );
    expect(await run(['node', 'older.cjs'], project)).toBe('VerificationError malformed_key\n');
  });
});
