import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checksumsOf } from '../../../build/release/files.ts';
import { checkIntegrity } from '../../../build/release/runtime.ts';
import { machineOf, TARGETS } from '../../../build/release/targets.ts';
import lock from '../../../package-lock.json' with { type: 'json' };
import { tempFolder } from '../../support/paybell.ts';
import { run } from '../../support/programs.ts';
import { LINUX, needs, SHA256SUM } from '../../support/requirements.ts';

const { path: folder, remove } = tempFolder();
afterAll(remove);

describe('the files of a release', () => {
  beforeAll(() => {
    writeFileSync(join(folder, 'b.tgz'), 'two');
    writeFileSync(join(folder, 'a.tgz'), 'one');
  });

  test('have checksums, and the list of these has none', async () => {
    const sums = await checksumsOf(folder);
    writeFileSync(join(folder, 'SHA256SUMS'), sums);
    expect(await checksumsOf(folder)).toBe(sums);
    expect(sums).toMatch(/^[0-9a-f]{64} {2}a\.tgz\n[0-9a-f]{64} {2}b\.tgz\n$/);
  });

  test.skipIf(!SHA256SUM.isMet)(`have checksums in the form that sha256sum checks ${needs(SHA256SUM)}`, async () => {
    writeFileSync(join(folder, 'SHA256SUMS'), await checksumsOf(folder));
    expect(await run(['sha256sum', '--check', '--strict', 'SHA256SUMS'], folder)).toBe('a.tgz: OK\nb.tgz: OK\n');
  });

  test('are built with the Bun of the lock file, and with no other file of that name', () => {
    const bytes = new TextEncoder().encode('bun');
    const integrity = `sha512-${new Bun.CryptoHasher('sha512').update(bytes).digest('base64')}`;
    expect(() => checkIntegrity('@oven/bun-linux-x64', bytes, integrity)).not.toThrow();
    const other = new TextEncoder().encode('another');
    expect(() => checkIntegrity('@oven/bun-linux-x64', other, integrity)).toThrow('is not the file that package-lock');
    for (const { runtime } of TARGETS) expect(lock.packages).toHaveProperty([`node_modules/${runtime}`, 'integrity']);
  });

  test.skipIf(!LINUX.isMet)(`are for the processor that their name says, by their header ${needs(LINUX)}`, async () => {
    const expected = process.arch === 'arm64' ? 'linux-arm64' : 'linux-x64';
    const target = TARGETS.find(({ name }) => name === expected);
    expect(await machineOf(process.execPath)).toBe(target?.machine ?? 0);
  });

  test('have no processor if they are not programs', async () => {
    expect(await machineOf(join(folder, 'a.tgz'))).toBeNull();
  });
});
