import { existsSync, statSync } from 'node:fs';
import { type Config, describeTarget } from '../../config.ts';
import { type Database, type SqlInteger, StoreUnavailableError } from '../../store/database/database.ts';
import { MIGRATIONS, pendingMigrations, SchemaTooNewError } from '../../store/database/migrate.ts';
import { openDatabase } from '../../store/database/open.ts';
import { storeBytes } from '../../store/database/sqlite/vacuum.ts';
import { databaseTimeMs } from '../../store/deliveries/retention.ts';
import { readKeyFile } from '../../store/tenants/key-file.ts';
import { SecretBox, SecretKeyError } from '../../store/tenants/secret-box.ts';
import { keyFileOf } from '../../store/tenants/secret-key.ts';
import { checkSecretsOpen, hasSecrets } from '../../store/tenants/secrets.ts';
import { showBytes, showDuration } from '../formats/amounts.ts';
import { PAYBELL } from '../terminal/invocation.ts';
import { type Finding, fault, ok, warning } from './finding.ts';

const SLOW_MS = 100;
/** Due times are by the database's clock and signatures by ours, and receivers refuse posts that are minutes off. */
const CLOCK_WARNING_MS = 2_000;
const CLOCK_FAULT_MS = 60_000;

/** Opened without changing it: a doctor makes no store and applies no migration. */
export async function openStoreToLook({ DATABASE_URL }: Config): Promise<{ db: Database | null; finding: Finding }> {
  const name = describeTarget(DATABASE_URL);
  if (DATABASE_URL.engine === 'sqlite' && !existsSync(DATABASE_URL.file)) {
    const finding = warning(
      'store',
      `${name} is not there yet`,
      'paybell serve makes it, unless DATABASE_URL is wrong.',
    );
    return { db: null, finding };
  }
  try {
    const db = await openDatabase(DATABASE_URL);
    return { db, finding: await checkAnswers(db, name) };
  } catch (error) {
    return { db: null, finding: storeFault(name, error) };
  }
}

async function checkAnswers(db: Database, name: string): Promise<Finding> {
  try {
    const startedAtMs = performance.now();
    await db.get('select 1 as up');
    const tookMs = performance.now() - startedAtMs;
    // Begins to write and changes nothing: a read-only file, disk or replica shows only then.
    await db
      .transaction((queries) => queries.run('update entities set revision = revision where 1 = 0'))
      .catch((error) => {
        if (error instanceof StoreUnavailableError) throw error;
      });
    const found = `${name} answers in ${tookMs.toFixed(1)} ms and takes ${showBytes(await storeBytes(db))}`;
    if (tookMs < SLOW_MS) return ok('store', found);
    return warning('store', found, 'Bring the database nearer, or give its machine more to work with.');
  } catch (error) {
    return storeFault(name, error);
  }
}

function storeFault(name: string, error: unknown): Finding {
  if (!(error instanceof Error)) throw error;
  const mend = 'Check DATABASE_URL, that the database is up, and that this user may write to it.';
  return fault('store', `${name}: ${error.message}`, mend);
}

export async function checkSchema(db: Database, { AUTO_MIGRATE }: Config): Promise<Finding> {
  try {
    const pending = await pendingMigrations(db);
    const newest = MIGRATIONS.at(-1)?.version ?? 0;
    if (pending.length === 0) return ok('schema', `version ${newest}, as this release has it`);
    const found = `version ${newest - pending.length}, and this release has ${newest}`;
    if (AUTO_MIGRATE)
      return warning('schema', found, 'The next paybell serve brings it up to date; take a backup first.');
    return fault('schema', found, `Take a backup, then: ${PAYBELL} migrate`);
  } catch (error) {
    if (!(error instanceof SchemaTooNewError)) throw error;
    return fault('schema', error.message, 'Start the newer release, or restore a backup from before the upgrade.');
  }
}

export async function checkClock(db: Database): Promise<Finding> {
  const askedAtMs = Date.now();
  const databaseMs = await databaseTimeMs(db);
  const offMs = databaseMs - (askedAtMs + Date.now()) / 2;
  const newest = await db.get<{ applied_at: SqlInteger | null }>(
    'select max(applied_at) as applied_at from schema_migrations',
  );
  const behindMs = Number(newest?.applied_at ?? 0) * 1000 - askedAtMs;
  const mend = 'Set the clock of both machines by NTP.';
  if (behindMs > CLOCK_FAULT_MS) {
    return fault('clock', `it is ${showDuration(behindMs)} before the store was last migrated`, mend);
  }
  const apartMs = Math.abs(offMs);
  const found = `ours and the database's are ${showDuration(apartMs)} apart`;
  if (apartMs > CLOCK_FAULT_MS) return fault('clock', found, mend);
  return apartMs > CLOCK_WARNING_MS ? warning('clock', found, mend) : ok('clock', found);
}

export async function checkSecretKey(db: Database, config: Config): Promise<Finding> {
  const file = keyFileOf(config);
  try {
    const sealed = await hasSecrets(db);
    const key = config.SECRET_KEY ?? (file === null ? null : readKeyFile(file));
    if (key === null) {
      if (!sealed) return ok('secret key', 'nothing is sealed yet; it is made with the first entity');
      return fault('secret key', `${file} is missing`, 'Put the file back from a backup, or set SECRET_KEY.');
    }
    await checkSecretsOpen(db, new SecretBox(key));
    return file === null ? ok('secret key', 'SECRET_KEY opens what is stored') : checkKeyFile(file);
  } catch (error) {
    if (!(error instanceof SecretKeyError)) throw error;
    return fault(
      'secret key',
      'it does not open what is stored',
      'Set SECRET_KEY to the key of this store, or put its file back.',
    );
  }
}

function checkKeyFile(file: string): Finding {
  const readableByOthers = process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0;
  if (!readableByOthers) return ok('secret key', `${file} opens what is stored`);
  return warning('secret key', `${file} can be read by others`, `chmod 600 ${file}`);
}
