import { Database as Connection } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CommandLine, commandLine, OTHER_SECRET_KEY, TEST_SECRET_KEY } from '../../support/command-line.ts';
import { shellBlocksUnder } from '../../support/document-blocks.ts';
import { firstCredentials, servePaybell, tempFolder } from '../../support/paybell.ts';
import { createReader } from '../../support/reader.ts';
import { eventIds, sendAll } from '../../support/sending.ts';
import { Client } from '../../support/service.ts';
import { until } from '../../support/until.ts';

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
    expect(stderr).toContain('SECRET_KEY is not in the backup');
    expect(existsSync(to('pg.dump'))).toBe(false);
  });
});

describe('a backup taken under load', () => {
  const serving = tempFolder();
  const elsewhere = tempFolder();
  const settings = {
    ALLOW_INSECURE_TARGETS: 'true',
    RATE_LIMIT: 'off',
    EVENT_RATE_LIMIT: 'off',
    RETRY_SCHEDULE: `0s${',2s'.repeat(45)}`,
  };
  const received = new Set<string>();
  let receiverIsWell = false;
  const receiver = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch(request) {
      if (receiverIsWell) received.add(request.headers.get('paybell-event-id') ?? '');
      return new Response(null, { status: receiverIsWell ? 204 : 500 });
    },
  });

  afterAll(async () => {
    await receiver.stop(true);
    serving.remove();
    elsewhere.remove();
  });

  test('is restored elsewhere as docs/operations.md says: nothing is missing, and what was waiting goes on', async () => {
    const [backUp, restore] = await shellBlocksUnder('docs/operations.md', 'Backup and restore');
    if (backUp === undefined || restore === undefined) throw new Error('the page has other blocks now');
    const first = await servePaybell(serving.path, settings);
    const credentials = firstCredentials(first.stdout()) ?? { entityId: '', apiKey: '' };
    const client = new Client(first.url, credentials);
    await client.register(`http://127.0.0.1:${receiver.port}/`);
    const sending = sendAll([client], eventIds(2_000));
    await until('some were accepted', () => sending.acknowledged.size >= 200);
    const before = [...sending.acknowledged];
    await createReader({}, { folder: serving.path }).run(backUp);
    const during = sending.acknowledged.size;
    await sending.done;
    await first.stop();
    expect(during).toBeGreaterThan(before.length);
    expect(sending.acknowledged.size).toBe(2_000);

    cpSync(join(serving.path, 'backups'), join(elsewhere.path, 'backups'), { recursive: true });
    expect(await createReader({}, { folder: elsewhere.path }).run(restore)).toContain('ok       secret key');
    const copy = contentsOf(join(elsewhere.path, 'backups/paybell.db'));
    expect(copy.eventsWithoutAllDeliveries).toBe(0);
    expect(before.filter((id) => !copy.events.has(id))).toEqual([]);

    receiverIsWell = true;
    const second = await servePaybell(elsewhere.path, settings);
    const restoredClient = new Client(second.url, credentials);
    const total = async (path: string) =>
      ((await (await restoredClient.request('GET', path)).json()) as { totalResults: number }).totalResults;
    expect(await total('/events')).toBe(copy.events.size);
    expect(await total('/deliveries')).toBe(copy.events.size);
    await until('all was delivered', async () => (await total('/deliveries?status=delivered')) === copy.events.size);
    expect(received).toEqual(copy.events);
    await second.stop();
  });
});

function contentsOf(file: string): { events: Set<string>; eventsWithoutAllDeliveries: number } {
  using copy = new Connection(file, { readonly: true });
  const events = copy.query('select event_id as id from events').all() as { id: string }[];
  const { broken } = copy
    .query(
      `select count(*) as broken from events e where deliveries <>
         (select count(*) from (select entity_id, id from queue union all select entity_id, id from deliveries) d
          where d.entity_id = e.entity_id and substr(d.id, 1, 14) = substr(e.no, 1, 14))`,
    )
    .get() as { broken: number };
  return { events: new Set(events.map(({ id }) => id)), eventsWithoutAllDeliveries: broken };
}
