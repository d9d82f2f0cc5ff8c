import { afterAll, describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runSecretKeyCommand } from '../../src/config/secret-key.ts';
import { loadConfig } from '../../src/config.ts';
import { commandLine } from '../support/command-line.ts';
import { tempFolder } from '../support/paybell.ts';
import { errorsOf } from '../support/setting-errors.ts';

const KEY = new Uint8Array(32).fill(7);
const TEXT = Buffer.from(KEY).toString('base64');
const POSTGRES = { DATABASE_URL: 'postgres://u:p@db/paybell' };

const { path: folder, remove } = tempFolder();
const file = join(folder, 'secret.key');

afterAll(remove);

describe('the secret key', () => {
  test('is read from a file or printed by a command, which PostgreSQL takes for SECRET_KEY', () => {
    writeFileSync(file, `${TEXT}\n`);
    expect(loadConfig({ ...POSTGRES, SECRET_KEY_FILE: file }).SECRET_KEY).toEqual(KEY);
    expect(loadConfig({ ...POSTGRES, SECRET_KEY_COMMAND: `echo ${TEXT}` }).SECRET_KEY).toEqual(KEY);
  });

  test('is given in one way alone', () => {
    writeFileSync(file, TEXT);
    for (const second of [{ SECRET_KEY_FILE: file }, { SECRET_KEY_COMMAND: `echo ${TEXT}` }]) {
      expect(errorsOf({ SECRET_KEY: TEXT, ...second }).SECRET_KEY).toStartWith('must be given in one way alone');
    }
  });

  test.each(['', 'hunter2', Buffer.alloc(31).toString('base64')])('is not what a file has that contains %p', (text) => {
    writeFileSync(file, text);
    const { SECRET_KEY_FILE = '' } = errorsOf({ SECRET_KEY_FILE: file });
    expect(SECRET_KEY_FILE).toContain('base64 of exactly 32 bytes');
    expect(SECRET_KEY_FILE).not.toContain('hunter2');
  });

  test.each([
    ['exit 3', 'ended with 3'],
    ['true', 'printed nothing'],
    ['echo hunter2', 'prints base64 of exactly 32 bytes'],
    [`echo ${TEXT}; echo ${TEXT}`, 'prints base64 of exactly 32 bytes'],
    ['no-such-command-of-paybell 2> /dev/null', 'ended with 127'],
    ['head -c 100000 /dev/zero', 'at most 4096 bytes'],
  ])('is asked for by %p in vain, which says why', (command, message) => {
    const { SECRET_KEY_COMMAND = '' } = errorsOf({ SECRET_KEY_COMMAND: command });
    expect(SECRET_KEY_COMMAND).toStartWith('must be a command that ');
    expect(SECRET_KEY_COMMAND).toContain(message);
    expect(SECRET_KEY_COMMAND).not.toContain('hunter2');
  });

  test('is not waited for without end', () => {
    expect(runSecretKeyCommand('sleep 2', 50)).toBe('must be a command that ends within 0.05 s');
    // A child of the command that keeps its output open is not waited for either.
    expect(runSecretKeyCommand('sleep 2 & sleep 2', 50)).toBe('must be a command that ends within 0.05 s');
  });

  test('is not asked for by a health check', async () => {
    const { stderr } = await commandLine({ PORT: '1', SECRET_KEY_COMMAND: `touch ${folder}/asked` })(['ready']);
    expect(stderr).toContain('no response from http://');
    expect(await Bun.file(join(folder, 'asked')).exists()).toBe(false);
  });
});
