import { Database as Connection } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { copyFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openDatabase } from '../../../src/store/database/open.ts';
import { commandLine, OTHER_SECRET_KEY, startServe } from '../../support/command-line.ts';
import { startPaybell, tempFolder } from '../../support/paybell.ts';
import { createPostgresDatabase, databaseSettings, TEST_DEADLINE_MS } from '../../support/postgres.ts';
import { until } from '../../support/until.ts';

/** Enough for a copy of some seconds. */
const MANY_ROWS = 300_000;

describe('paybell copy', () => {
  const folder = tempFolder();
  const file = join(folder.path, 'data', 'paybell.db');
  const from = `sqlite:${file}`;
  const paybell = commandLine({});
  let to: string;

  beforeAll(async () => {
    await commandLine({ DATABASE_URL: from })(['entities', 'create', '--name', 'Acme', '--json']);
    to = await createPostgresDatabase();
  });

  afterAll(() => folder.remove());

  const keyIn = (store: string) => readFileSync(`${store}.key`, 'utf8').trim();

  /** Copied by SQLite, because the last rows may still be in the write-ahead log. */
  function copyOfSource(name: string): string {
    const store = join(folder.path, name);
    using source = new Connection(file);
    source.exec(`vacuum into '${store}'`);
    copyFileSync(`${file}.key`, `${store}.key`);
    return store;
  }

  test.each([
    [[], '--from <url>'],
    [['--from', from], '--to <url>'],
    [['--from', 'postgres://paybell@127.0.0.1/paybell', '--to', from], 'Give sqlite:<file>'],
    [['--from', from, '--to', from], 'Give postgres://user:password@host:port/database'],
    [['--from', 'sqlite:', '--to', 'postgres://paybell@127.0.0.1/paybell'], 'Give sqlite:<file>'],
  ])('with the wrong arguments %j is wrong usage', async (args, message) => {
    const { exitCode, stdout, stderr } = await paybell(['copy', ...args]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toContain(message);
  });

  test('of a file that is not there creates none', async () => {
    const missing = join(folder.path, 'missing.db');
    const { exitCode, stderr } = await paybell(['copy', '--from', `sqlite:${missing}`, '--to', to]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: `error: there is no store at ${missing}\n` });
    expect(existsSync(missing)).toBe(false);
  });

  test('of a file that is no store says so', async () => {
    const other = join(folder.path, 'other.db');
    const connection = new Connection(other);
    connection.exec('create table notes (text text)');
    connection.close();
    const { exitCode, stderr } = await paybell(['copy', '--from', `sqlite:${other}`, '--to', to]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: `error: ${other} is not a store of Paybell\n` });
  });

  test('into a database that is down names it without its password, and says that the copy goes on', async () => {
    const down = 'postgres://paybell:hidden-word@127.0.0.1:1/paybell';
    const { exitCode, stderr } = await paybell(['copy', '--from', from, '--to', down]);
    expect(exitCode).toBe(1);
    expect(stderr).toContain('postgres://127.0.0.1:1/paybell or');
    expect(stderr).toContain('a copy that has begun continues where it stopped');
    expect(stderr).not.toContain('hidden-word');
  });

  test('while a server uses the source is refused, with what to do', async () => {
    const served = await startServe({ DATABASE_URL: from });
    const { exitCode, stderr } = await paybell(['copy', '--from', from, '--to', to]);
    await served.stop();
    expect(exitCode).toBe(1);
    expect(stderr).toContain('another server uses the store');
    expect(stderr).toContain(`Stop it first: nothing may change in ${file} during the copy.`);
  });

  test('with a key that does not open the secrets leaves the target as it was', async () => {
    const args = ['copy', '--from', from, '--to', to];
    const { exitCode, stderr } = await commandLine({ SECRET_KEY: OTHER_SECRET_KEY })(args);
    expect(exitCode).toBe(1);
    expect(stderr).toContain('do not open with the current SECRET_KEY');
    const db = await openDatabase({ engine: 'postgres', url: to, deadlineMs: TEST_DEADLINE_MS });
    expect(await db.get(db.dialect.findTable, ['entities'])).toBeUndefined();
    await db.close();
  });

  test('says what to set for the first start, and a second copy into the same database is refused', async () => {
    const args = ['copy', '--from', from, '--to', to];
    const { exitCode, stdout } = await paybell(args);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^Copied \d+ rows of \d+ tables to postgres:\/\/[\d.:]+\/\w+ in .+\.\n/);
    expect(stdout).toContain('The counts and checksums of both stores are equal.');
    expect(stdout).toContain(`SECRET_KEY    the key in ${file}.key`);
    expect(stdout).not.toContain(keyIn(file));
    const again = await paybell([...args, '--json']);
    expect(again.exitCode).toBe(1);
    expect(JSON.parse(again.stderr)).toMatchObject({
      error: { message: expect.stringContaining('the target is not empty: its table entities has rows') },
    });
    const settings = { DATABASE_URL: to, SECRET_KEY: keyIn(file) };
    const entities = await commandLine(settings)(['entities', 'list', '--json']);
    expect(JSON.parse(entities.stdout)).toMatchObject({ totalResults: 1, entities: [{ name: 'Acme' }] });
  });

  test('that is killed goes on with the next command, and no server starts on the target meanwhile', async () => {
    const store = copyOfSource('large.db');
    const connection = new Connection(store);
    connection.exec(
      `with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${MANY_ROWS})
       insert into chain_anchors (network_id, number, hash) select 1, n, 'hash ' || n from numbers`,
    );
    connection.close();
    const url = await createPostgresDatabase();
    const db = await openDatabase({ engine: 'postgres', url, deadlineMs: TEST_DEADLINE_MS });
    const rowsCopied = async () => {
      if ((await db.get(db.dialect.findTable, ['store_copy'])) === undefined) return 0;
      return Number((await db.get<{ copied: string }>('select copied from store_copy'))?.copied ?? 0);
    };
    const args = ['copy', '--from', `sqlite:${store}`, '--to', url];
    const child = startPaybell(args, folder.path);
    await until('some batches are copied', async () => (await rowsCopied()) > 0);
    child.kill('SIGKILL');
    await child.exited;
    const settings = { DATABASE_URL: url, SECRET_KEY: keyIn(store), ...databaseSettings(url) };
    const served = await commandLine({ ...settings, PORT: '0' })(['serve']);
    expect(served.exitCode).toBe(1);
    expect(served.stderr).toContain('a copy into this store has not ended');
    const doctor = await commandLine(settings)(['doctor', '--json']);
    expect(doctor.stdout).toContain('a copy into this store has not ended');
    const resumed = await paybell([...args, '--json']);
    const result = JSON.parse(resumed.stdout);
    expect(result).toMatchObject({ resumed: true, durationMs: expect.any(Number) });
    expect(result.tables).toContainEqual({
      table: 'chain_anchors',
      rows: MANY_ROWS,
      checksum: expect.stringMatching(/^[0-9a-f]{16}$/),
    });
    expect((await commandLine(settings)(['entities', 'list', '--json'])).exitCode).toBe(0);
    await db.close();
  });
});
