import { Database as Connection } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CommandLine, commandLine, OTHER_SECRET_KEY, TEST_SECRET_KEY } from '../../support/command-line.ts';
import { tempFolder } from '../../support/paybell.ts';

describe('paybell backup', () => {
  const folder = tempFolder();
  const file = join(folder.path, 'data', 'paybell.db');
  const to = (name: string) => join(folder.path, name);
  const withSettings = (settings: Record<string, string> = {}): CommandLine =>
    commandLine({ DATABASE_URL: `sqlite:${file}`, ...settings });
  let entityId: string;

  beforeAll(async () => {
    const made = await withSettings()(['entities', 'create', '--name', 'Acme', '--json']);
    entityId = JSON.parse(made.stdout).entityId;
  });

  afterAll(() => folder.remove());

  const secretsIn = (store: string) =>
    commandLine({ DATABASE_URL: `sqlite:${store}` })(['store', 'secrets', 'show', '--entity', entityId]);

  test('writes a whole store and its key, both for their owner alone, and says how to guard the key', async () => {
    const { exitCode, stdout } = await withSettings()(['backup', to('whole.db')]);
    expect(exitCode).toBe(0);
    expect(stdout).toContain(`The key is in ${to('whole.db.key')}. Keep it apart from the backup`);
    for (const name of ['whole.db', 'whole.db.key']) expect(statSync(to(name)).mode & 0o777).toBe(0o600);
    expect(readFileSync(to('whole.db.key'), 'utf8')).toContain('Keep it apart from the backup');
    expect(await secretsIn(to('whole.db'))).toEqual(await secretsIn(file));
    expect(readdirSync(folder.path).filter((name) => name.endsWith('.part'))).toEqual([]);
  });

  test('a copy can shrink like the store that it is of', async () => {
    await withSettings()(['backup', to('shrinks.db')]);
    using copy = new Connection(to('shrinks.db'), { readonly: true });
    expect(copy.query('pragma auto_vacuum').get()).toEqual({ auto_vacuum: 2 });
  });

  test('--json says what was written', async () => {
    const { stdout } = await withSettings()(['backup', to('json.db'), '--json']);
    const { size } = statSync(to('json.db'));
    expect(JSON.parse(stdout)).toEqual({ file: to('json.db'), bytes: size, keyFile: to('json.db.key') });
  });

  test('--without-key leaves the key out, and says what that means', async () => {
    const { exitCode, stdout } = await withSettings()(['backup', to('keyless.db'), '--without-key']);
    expect(exitCode).toBe(0);
    expect(stdout).toContain('without SECRET_KEY the signing secrets in the backup cannot be read');
    expect(existsSync(to('keyless.db.key'))).toBe(false);
  });

  test.each(['taken.db', 'taken.db.key'])('never writes over a %s that is there', async (name) => {
    writeFileSync(to(name), 'mine');
    const { exitCode, stderr } = await withSettings()(['backup', to('taken.db')]);
    expect(exitCode).toBe(1);
    expect(stderr).toContain(`${to(name)} exists already`);
    expect(readFileSync(to(name), 'utf8')).toBe('mine');
    rmSync(to(name));
    expect(readdirSync(folder.path).filter((found) => found.startsWith('taken'))).toEqual([]);
  });

  test.each([
    ['a store that is not there', { DATABASE_URL: 'sqlite:/nonexistent/paybell.db' }, 'there is no store at'],
    ['a key that does not open it', { SECRET_KEY: OTHER_SECRET_KEY }, 'do not open with the current SECRET_KEY'],
  ])('of %s fails and leaves nothing behind', async (_, settings, message) => {
    const { exitCode, stderr } = await withSettings(settings)(['backup', to('failed.db')]);
    expect(exitCode).toBe(1);
    expect(stderr).toContain(message);
    expect(readdirSync(folder.path).filter((name) => name.startsWith('failed'))).toEqual([]);
  });

  test('into a folder that is not there fails in a sentence', async () => {
    const { exitCode, stderr } = await withSettings()(['backup', to('no/such/folder.db')]);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^error: .+folder\.db cannot be written \(ENOENT\)\n$/);
  });

  test('of a store with an older schema copies it as it is', async () => {
    const old = to('old.db');
    const connection = new Connection(old);
    connection.exec('create table schema_migrations (version bigint primary key, name text, applied_at bigint)');
    connection.exec(`insert into schema_migrations values (1, 'old', 1)`);
    connection.close();
    const { exitCode } = await commandLine({ DATABASE_URL: `sqlite:${old}` })(['backup', to('old-copy.db')]);
    expect(exitCode).toBe(0);
    using copy = new Connection(to('old-copy.db'), { readonly: true });
    expect(copy.query('select max(version) as version from schema_migrations').get()).toEqual({ version: 1 });
  });

  test('of PostgreSQL fails and names its tools and the key', async () => {
    const settings = { DATABASE_URL: 'postgres://paybell@127.0.0.1:1/paybell', SECRET_KEY: TEST_SECRET_KEY };
    const { exitCode, stderr } = await commandLine(settings)(['backup', to('pg.dump')]);
    expect(exitCode).toBe(1);
    expect(stderr).toContain(`pg_dump --format=custom --file=${to('pg.dump')} "$DATABASE_URL"`);
    expect(stderr).toContain('pg_restore');
    expect(stderr).toContain('Store SECRET_KEY elsewhere');
    expect(existsSync(to('pg.dump'))).toBe(false);
  });
});
