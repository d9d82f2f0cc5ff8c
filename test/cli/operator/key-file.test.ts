import { afterEach, beforeEach, expect, test } from 'bun:test';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CommandLine, commandLine, OTHER_SECRET_KEY } from '../../support/command-line.ts';

/** The key in a file beside a SQLite store, for whom no setting gives one. */

let folder: string;
let keyFile: string;
let entityId: string;
let paybell: CommandLine;
const show = async () => paybell(['store', 'secrets', 'show', '--entity', entityId, '--json']);
const keyIn = (file: string) => readFileSync(file, 'utf8').trim();

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'paybell-key-'));
  const file = join(folder, 'paybell.db');
  keyFile = `${file}.key`;
  paybell = commandLine({ DATABASE_URL: `sqlite:${file}` });
  entityId = JSON.parse((await paybell(['entities', 'create', '--name', 'Acme', '--json'])).stdout).entityId;
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('a rekey makes a key of its own, readable by its owner alone, and keeps the former one', async () => {
  const before = await show();
  const former = keyIn(keyFile);
  expect((await paybell(['store', 'secrets', 'rekey'])).exitCode).toBe(0);
  expect(keyIn(keyFile)).not.toBe(former);
  expect(keyIn(`${keyFile}.old`)).toBe(former);
  for (const file of [keyFile, `${keyFile}.old`]) expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(existsSync(`${keyFile}.new`)).toBe(false);
  expect(await show()).toEqual(before);
});

test('a rekey to a given key puts that one into the file', async () => {
  const file = keyFile.replace(/\.key$/, '');
  const withNewKey = commandLine({ DATABASE_URL: `sqlite:${file}`, NEW_SECRET_KEY: OTHER_SECRET_KEY });
  expect((await withNewKey(['store', 'secrets', 'rekey'])).exitCode).toBe(0);
  expect(keyIn(keyFile)).toBe(OTHER_SECRET_KEY);
  expect((await show()).exitCode).toBe(0);
});

test('a rekey that died before it changed the file is finished by the next command', async () => {
  const before = await show();
  await paybell(['store', 'secrets', 'rekey']);
  const present = keyIn(keyFile);
  renameSync(keyFile, `${keyFile}.new`);
  renameSync(`${keyFile}.old`, keyFile);
  expect(await show()).toEqual(before);
  expect(keyIn(keyFile)).toBe(present);
  expect(existsSync(`${keyFile}.new`)).toBe(false);
});

test('a rekey that died before its commit leaves a key that is ignored, and the next rekey replaces it', async () => {
  const before = await show();
  const present = keyIn(keyFile);
  writeFileSync(`${keyFile}.new`, OTHER_SECRET_KEY);
  expect(await show()).toEqual(before);
  expect(keyIn(keyFile)).toBe(present);
  expect((await paybell(['store', 'secrets', 'rekey'])).exitCode).toBe(0);
  expect(keyIn(keyFile)).not.toBe(OTHER_SECRET_KEY);
  expect(await show()).toEqual(before);
});

test('a missing key file beside a store with secrets is told, and none is made in its place', async () => {
  rmSync(keyFile);
  for (const command of [['serve'], ['entities', 'list'], ['store', 'secrets', 'rekey']]) {
    const { exitCode, stderr } = await paybell(command);
    expect({ command, exitCode }).toEqual({ command, exitCode: 1 });
    expect(stderr).toContain(`the key file ${keyFile} is missing: restore it, or set SECRET_KEY`);
  }
  expect(existsSync(keyFile)).toBe(false);
});

test('a key file with anything else in it is named, and stays as it is', async () => {
  writeFileSync(keyFile, 'not a key');
  const { exitCode, stderr } = await show();
  expect(exitCode).toBe(1);
  expect(stderr).toContain(`the key file ${keyFile} must contain 32 bytes in base64`);
  expect(keyIn(keyFile)).toBe('not a key');
});
