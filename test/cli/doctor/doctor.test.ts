import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { chmodSync, existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkFollowing } from '../../../src/cli/doctor/attention.ts';
import { checkDisk } from '../../../src/cli/doctor/disk.ts';
import type { Finding } from '../../../src/cli/doctor/finding.ts';
import { checkInstances, checkWorkers } from '../../../src/cli/doctor/instances.ts';
import { checkOpenFiles } from '../../../src/cli/doctor/open-files.ts';
import { assessClock } from '../../../src/cli/doctor/store.ts';
import { loadConfig } from '../../../src/config.ts';
import { renewInstance } from '../../../src/store/instances.ts';
import { seedAged } from '../../support/aged-deliveries.ts';
import { createTenant } from '../../support/api.ts';
import { type CommandLine, commandLine, OTHER_SECRET_KEY, TEST_SECRET_KEY } from '../../support/command-line.ts';
import { dumpRows } from '../../support/dump.ts';
import { freePort } from '../../support/free-port.ts';
import { onlyOn } from '../../support/only-on.ts';
import { tempFolder } from '../../support/paybell.ts';
import { CITUS } from '../../support/requirements.ts';
import { onSuiteEngine } from '../../support/stores.ts';
import { newEntity } from '../../support/webhooks.ts';

type Report = { ok: boolean; checks: Finding[] };

async function examine(paybell: CommandLine): Promise<Report & { exitCode: number }> {
  const { exitCode, stdout } = await paybell(['doctor', '--json']);
  return { exitCode, ...(JSON.parse(stdout) as Report) };
}

/** The names in the first column of the table in docs/operations.md. */
async function documentedChecks(): Promise<string[]> {
  const page = await Bun.file(join(import.meta.dir, '../../../docs/operations.md')).text();
  const [, table = ''] = /\| Check \| What it covers \|\n((?:\|.*\n)+)/.exec(page) ?? [];
  return table.split('\n').flatMap((row) => (row.split('|')[1] ?? '').split(',').map((name) => name.trim()));
}

const only = (report: Report, check: string) => report.checks.filter((finding) => finding.check === check);

onSuiteEngine('paybell doctor', (store) => {
  const withSettings = (settings: Record<string, string> = {}) =>
    commandLine({ DATABASE_URL: store.url, SECRET_KEY: TEST_SECRET_KEY, ...settings });

  test('finds nothing wrong with a healthy store, says so in a line for each check, and changes nothing', async () => {
    await createTenant(store.db);
    const before = await dumpRows(store);
    const { exitCode, stdout, stderr } = await withSettings()(['doctor']);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    const everywhere =
      'settings,disk,open files,loopback delivery,store,schema,clock,secret key,instances,workers,backlog,entities,retention,space';
    const checks = [...everywhere.split(','), ...(store.engine === 'postgres' && CITUS.isMet ? ['citus'] : [])];
    const all = `${checks.length} checks`;
    const lines = stdout.trimEnd().split('\n');
    expect(lines.splice(-2)).toEqual([
      '',
      expect.stringMatching(new RegExp(`^(Nothing needs attention: ${all}, all ok|${all}: 1 warning)\\.$`)),
    ]);
    const nameIn = (line: string) => line.slice(9, 26).trim();
    // A store that is slow to respond, as on a busy machine, is a warning with a line of advice that has no name.
    const named = lines.filter((line) => nameIn(line) !== '');
    expect(named.map(nameIn)).toEqual(checks);
    const documented = await documentedChecks();
    expect(checks.filter((name) => !documented.includes(name))).toEqual([]);
    for (const line of named.filter((each) => nameIn(each) !== 'store')) expect(line).toStartWith('ok       ');
    expect(await examine(withSettings())).toMatchObject({ exitCode: 0 });
    expect(await dumpRows(store)).toBe(before);
  });

  test('a SECRET_KEY that does not decrypt the stored secrets is an error', async () => {
    await createTenant(store.db);
    const report = await examine(withSettings({ SECRET_KEY: OTHER_SECRET_KEY }));
    expect(report).toMatchObject({ exitCode: 1, ok: false });
    expect(only(report, 'secret key')).toMatchObject([{ state: 'error', fix: expect.stringContaining('SECRET_KEY') }]);
    expect(only(report, 'backlog')).toMatchObject([{ state: 'ok' }]);
  });

  test('an overdue backlog and events past their retention are warnings', async () => {
    const entityId = await newEntity(store.db);
    const hoursAgoMs = (hours: number) => Date.now() - hours * 3_600_000;
    await seedAged(store.db, entityId, [
      { name: 'late', status: 'pending', createdAtMs: hoursAgoMs(3) },
      { name: 'done', status: 'delivered', createdAtMs: hoursAgoMs(50) },
    ]);
    const report = await examine(withSettings({ RETENTION: '1d' }));
    expect(report).toMatchObject({ exitCode: 0, ok: true });
    expect(only(report, 'backlog')).toMatchObject([
      { state: 'warning', found: '1 waiting, the oldest 3 h overdue', fix: expect.stringContaining('ROLE') },
    ]);
    expect(only(report, 'retention')).toMatchObject([
      { state: 'warning', fix: expect.stringContaining('paybell prune') },
    ]);
    const longer = await examine(withSettings({ RETENTION: '2d' }));
    expect(only(longer, 'retention')).toMatchObject([{ state: 'ok' }]);
  });
});

onSuiteEngine('the check of entities', (store) => {
  test('names each entity that needs attention with the next command, and counts the others', async () => {
    const paybell = commandLine({ DATABASE_URL: store.url, SECRET_KEY: TEST_SECRET_KEY });
    const late = { name: 'late', status: 'pending', createdAtMs: Date.now() - 3 * 3_600_000 } as const;
    const entityId = await newEntity(store.db);
    await seedAged(store.db, entityId, [late]);
    expect(only(await examine(paybell), 'entities')).toEqual([
      {
        ...{ check: 'entities', state: 'warning' },
        found: `Test (${entityId}): 1 delivery waiting, the oldest 3 h overdue`,
        fix: expect.stringMatching(new RegExp(`deliveries list .* --entity ${entityId}$`)),
      },
    ]);
    for (let others = 0; others < 6; others++) await seedAged(store.db, await newEntity(store.db), [late]);
    const findings = only(await examine(paybell), 'entities');
    expect(findings).toHaveLength(6);
    expect(findings.at(-1)).toMatchObject({
      found: '2 more entities need attention',
      fix: expect.stringContaining('attention --all'),
    });
  });

  test('a halted network is an error that names the command, and one that is not read for long a warning', async () => {
    const config = loadConfig({ CHAIN_RPC: '1=http://127.0.0.1:9,10=http://127.0.0.1:9' });
    expect(await checkFollowing(store.db, config)).toMatchObject([{ state: 'ok' }, { state: 'ok' }]);
    await store.db.transaction(async (queries) => {
      await queries.run(`insert into chains (network_id, halted_at_ms, halted_reason) values (1, 1, 'a deep reorg')`);
      await queries.run('insert into chains (network_id, polled_at_ms) values (10, 1)');
    });
    expect(await checkFollowing(store.db, config)).toMatchObject([
      {
        state: 'error',
        found: 'Ethereum is halted: a deep reorg',
        fix: expect.stringContaining('chain resume --network 1'),
      },
      {
        state: 'warning',
        found: expect.stringContaining('OP Mainnet is behind'),
        fix: expect.stringContaining('chain status'),
      },
    ]);
  });
});

onSuiteEngine('the checks of the instances', (store) => {
  const config = (cap: number) => loadConfig({ DESTINATION_CONCURRENCY: String(cap) });
  const report = (instanceId: string, role: 'all' | 'api', problem: string | null = null) =>
    renewInstance(store.db, { instanceId, role, host: `host of ${instanceId}`, problem });

  test('count those that run, and say what each has of DESTINATION_CONCURRENCY', async () => {
    expect(await checkInstances(store.db, config(4))).toMatchObject({ state: 'ok', found: 'none is running' });
    await report('one', 'all');
    expect(await checkInstances(store.db, config(4))).toMatchObject({
      state: 'ok',
      found: '1 running, 1 of them deliver, each with at most 4 concurrent attempts to one destination',
    });
  });

  // One process alone serves a SQLite file.
  onlyOn('postgres', store)('divide DESTINATION_CONCURRENCY by those that deliver', async () => {
    await report('one', 'all');
    await report('two', 'all');
    await report('three', 'api');
    expect(await checkInstances(store.db, config(4))).toMatchObject({
      state: 'ok',
      found: '3 running, 2 of them deliver, each with at most 2 concurrent attempts to one destination',
    });
    expect(await checkInstances(store.db, config(1))).toMatchObject({
      state: 'warning',
      fix: expect.stringContaining('DESTINATION_CONCURRENCY (1)'),
    });
  });

  test('warn when none of those that run delivers', async () => {
    await store.db.transaction((queries) => queries.run('delete from instances'));
    await report('three', 'api');
    expect(await checkInstances(store.db, config(4))).toMatchObject({
      state: 'warning',
      fix: expect.stringContaining('ROLE'),
    });
  });

  test('name the worker that keeps failing and its instance', async () => {
    expect(await checkWorkers(store.db)).toMatchObject({ state: 'ok' });
    await report('four', 'all', 'claims (9 failures): Error: no room');
    expect(await checkWorkers(store.db)).toMatchObject({
      state: 'error',
      found: 'host of four: claims (9 failures): Error: no room',
      fix: expect.stringContaining('/readyz'),
    });
  });
});

describe('the check of the open files', () => {
  const config = loadConfig({ DELIVERY_CONCURRENCY: '2000' });

  test('warns if the limit allows fewer requests at a time than DELIVERY_CONCURRENCY, and says how to fix it', () => {
    expect(checkOpenFiles(config, 3_467)).toMatchObject({ state: 'ok' });
    expect(checkOpenFiles(config, 1_024)).toMatchObject({
      state: 'warning',
      found: 'at most 1024, enough for 535 requests at a time instead of DELIVERY_CONCURRENCY=2000',
      fix: expect.stringContaining('LimitNOFILE'),
    });
  });

  test('says so where the system does not tell the limit', () => {
    expect(checkOpenFiles(config, null)).toMatchObject({ state: 'ok', found: expect.stringContaining('not checked') });
  });
});

describe('the check of the clock', () => {
  const NOW_MS = 1_763_168_400_000;

  test.each([
    [1_000, 'ok'],
    [-30_000, 'warning'],
    [90_000, 'error'],
  ] as const)('of a database that is %i ms off is %p', (offMs, state) => {
    const readings = { nowMs: NOW_MS, databaseMs: NOW_MS + offMs, migratedAtMs: NOW_MS - 1 };
    expect(assessClock(readings)).toMatchObject({ state });
  });

  test('is an error when this machine is behind the last migration', () => {
    const readings = { nowMs: NOW_MS, databaseMs: NOW_MS, migratedAtMs: NOW_MS + 86_400_000 };
    expect(assessClock(readings)).toMatchObject({ state: 'error', found: expect.stringContaining('1 d behind') });
  });
});

describe('paybell doctor', () => {
  let folder: { path: string; remove: () => void };
  let file: string;
  const withSettings = (settings: Record<string, string> = {}) =>
    commandLine({ DATABASE_URL: `sqlite:${file}`, ...settings });

  beforeEach(() => {
    folder = tempFolder();
    file = join(folder.path, 'data', 'paybell.db');
  });

  afterEach(() => folder.remove());

  test('names every invalid setting with its rule, exits with 1, and runs no other check', async () => {
    const { exitCode, stdout } = await withSettings({ PORT: '99999', RETENTION: 'soon' })(['doctor']);
    expect(exitCode).toBe(1);
    expect(stdout).toContain('error    settings           PORT is invalid\n');
    expect(stdout).toContain('→ PORT must be a whole number from 0 to 65535');
    expect(stdout).toContain('→ RETENTION must be a duration greater than zero');
    expect(existsSync(join(folder.path, 'data'))).toBe(false);
    expect(await examine(withSettings({ PORT: '99999' }))).toMatchObject({ exitCode: 1, checks: [{ state: 'error' }] });
  });

  test('creates no store', async () => {
    const report = await examine(withSettings());
    expect(report).toMatchObject({ exitCode: 0, ok: true });
    expect(only(report, 'store')).toMatchObject([
      { state: 'warning', found: expect.stringContaining('does not exist yet') },
    ]);
    expect(readdirSync(folder.path)).toEqual([]);
  });

  test('a store that cannot be opened is an error', async () => {
    file = join(folder.path, 'paybell.db');
    writeFileSync(file, 'this is no database, but it is long enough to be taken for one by its size '.repeat(20));
    const report = await examine(withSettings());
    expect(report.exitCode).toBe(1);
    const fix = 'Check that DATABASE_URL names a server that is running, or a file that is an SQLite database.';
    expect(only(report, 'store')).toMatchObject([{ state: 'error', fix }]);
  });

  test('a PostgreSQL that cannot be reached is an error', async () => {
    const url = `postgres://user:nothing@127.0.0.1:${freePort()}/none`;
    const report = await examine(commandLine({ DATABASE_URL: url, SECRET_KEY: TEST_SECRET_KEY }));
    expect(report.exitCode).toBe(1);
    expect(only(report, 'store')).toMatchObject([{ state: 'error' }]);
    expect(JSON.stringify(report)).not.toContain('nothing');
  });

  test('a missing key file is an error, and one that others can read a warning', async () => {
    await withSettings()(['entities', 'create', '--name', 'Acme']);
    chmodSync(`${file}.key`, 0o644);
    expect(only(await examine(withSettings()), 'secret key')).toMatchObject([
      { state: 'warning', fix: `chmod 600 ${file}.key` },
    ]);
    rmSync(`${file}.key`);
    const report = await examine(withSettings());
    expect(report.exitCode).toBe(1);
    expect(only(report, 'secret key')).toMatchObject([{ state: 'error', found: `${file}.key is missing` }]);
    expect(existsSync(`${file}.key`)).toBe(false);
  });

  test('a misspelt setting, and insecure targets on an open address, are warnings', async () => {
    const settings = { RETENTON: '5d', ALLOW_INSECURE_TARGETS: 'true', HOST: '0.0.0.0' };
    expect(only(await examine(withSettings(settings)), 'settings')).toMatchObject([
      { state: 'ok' },
      { state: 'warning', fix: expect.stringContaining('ALLOW_INSECURE_TARGETS') },
      { state: 'warning', found: 'RETENTON is not a setting and is ignored', fix: 'Did you mean RETENTION?' },
    ]);
  });
});

describe('the free space of the disk', () => {
  const withFree = (bytes: number) => checkDisk(loadConfig({ DATABASE_URL: 'sqlite:paybell.db' }), () => bytes).state;

  test('is a warning below 1 GiB and an error below 64 MiB', () => {
    const [mebibyte, gibibyte] = [1024 ** 2, 1024 ** 3];
    expect([gibibyte, gibibyte - 1, 64 * mebibyte, 64 * mebibyte - 1].map(withFree)).toEqual([
      'ok',
      'warning',
      'warning',
      'error',
    ]);
  });
});
