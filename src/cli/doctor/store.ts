import { existsSync, statSync } from 'node:fs';
import { commandTarget, describeTarget } from '../../config/database-target.ts';
import type { Config } from '../../config.ts';
import { requireNoCopy, UnfinishedCopyError } from '../../store/copy/unfinished.ts';
import { readNowMs } from '../../store/database/clock.ts';
import { type Database, StoreUnavailableError } from '../../store/database/database.ts';
import {
  DevelopmentStoreError,
  MIGRATIONS,
  pendingMigrations,
  SchemaTooNewError,
} from '../../store/database/migrate.ts';
import { openDatabase } from '../../store/database/open.ts';
import { readInteger } from '../../store/database/sql.ts';
import { storeBytes } from '../../store/database/sqlite/vacuum.ts';
import { readKeyFile } from '../../store/tenants/key-file.ts';
import { SecretBox, SecretKeyError } from '../../store/tenants/secret-box.ts';
import { keyFileOf } from '../../store/tenants/secret-key.ts';
import { checkSecretsOpen, hasSecrets } from '../../store/tenants/signing-keys.ts';
import { showBytes, showDuration } from '../formats/amounts.ts';
import { storeAdvice } from '../formats/store-advice.ts';
import { PAYBELL } from '../terminal/invocation.ts';
import { type Finding, failure, ok, warning } from './finding.ts';

const SLOW_MS = 100;
/** Due times use the database clock, and signatures use the clock of this machine. Receivers reject old signatures. */
const CLOCK_WARNING_MS = 2_000;
const CLOCK_ERROR_MS = 60_000;

/** Opens the database without creating or migrating it. */
export async function openForInspection(config: Config): Promise<{ db: Database | null; finding: Finding }> {
  const { DATABASE_URL } = config;
  const name = describeTarget(DATABASE_URL);
  if (DATABASE_URL.engine === 'sqlite' && !existsSync(DATABASE_URL.file)) {
    const finding = warning(
      'store',
      `${name} does not exist yet`,
      `${PAYBELL} serve creates it, unless DATABASE_URL is wrong.`,
    );
    return { db: null, finding };
  }
  try {
    const db = await openDatabase(commandTarget(config));
    return { db, finding: await checkAccess(db, name) };
  } catch (error) {
    return { db: null, finding: storeFailure(name, error) };
  }
}

async function checkAccess(db: Database, name: string): Promise<Finding> {
  try {
    const startedAtMs = performance.now();
    await db.get('select 1 as up');
    const tookMs = performance.now() - startedAtMs;
    // Makes a write that changes nothing, because a read-only file, disk or replica fails only on a write.
    await db
      .transaction((queries) => queries.run('update entities set revision = revision where 1 = 0'))
      .catch((error) => {
        if (error instanceof StoreUnavailableError) throw error;
      });
    const found = `${name} responds in ${tookMs.toFixed(1)} ms, ${showBytes(await storeBytes(db))}`;
    if (tookMs < SLOW_MS) return ok('store', found);
    return warning('store', found, 'Move the database closer to this machine, or give it more resources.');
  } catch (error) {
    return storeFailure(name, error);
  }
}

function storeFailure(name: string, error: unknown): Finding {
  if (!(error instanceof Error)) throw error;
  const fix =
    error instanceof StoreUnavailableError
      ? storeAdvice(error)
      : 'Check DATABASE_URL, that the database is running, and that this user may write to it.';
  return failure('store', `${name}: ${error.message}`, fix);
}

export async function checkSchema(db: Database, { AUTO_MIGRATE }: Config): Promise<Finding> {
  try {
    await requireNoCopy(db);
    const pending = await pendingMigrations(db);
    const newest = MIGRATIONS.at(-1)?.version ?? 0;
    if (pending.length === 0) return ok('schema', `version ${newest}, up to date`);
    const found = `version ${newest - pending.length}, but this release needs ${newest}`;
    if (AUTO_MIGRATE) {
      return warning('schema', found, `The next ${PAYBELL} serve migrates it. Take a backup first.`);
    }
    return failure('schema', found, `Take a backup, then: ${PAYBELL} migrate`);
  } catch (error) {
    if (error instanceof UnfinishedCopyError) {
      return failure('schema', 'a copy into this store has not ended', `Run the same ${PAYBELL} copy again.`);
    }
    if (error instanceof DevelopmentStoreError) {
      return failure('schema', error.message, 'Import the export into a new database.');
    }
    if (!(error instanceof SchemaTooNewError)) throw error;
    return failure('schema', error.message, 'Run the newer release, or restore a backup from before the upgrade.');
  }
}

export async function checkClock(db: Database): Promise<Finding> {
  const beforeMs = Date.now();
  const databaseMs = await readNowMs(db, db.dialect);
  // The database read its clock about halfway between the two readings here.
  const nowMs = (beforeMs + Date.now()) / 2;
  const migratedAtMs = (await readInteger(db, 'max(applied_at)', 'from schema_migrations')) * 1000;
  return assessClock({ nowMs, databaseMs, migratedAtMs });
}

type ClockReadings = { nowMs: number; databaseMs: number; migratedAtMs: number };

export function assessClock({ nowMs, databaseMs, migratedAtMs }: ClockReadings): Finding {
  const fix = 'Synchronize the clocks of both machines with NTP.';
  const behindMs = migratedAtMs - nowMs;
  if (behindMs > CLOCK_ERROR_MS) {
    return failure('clock', `this machine is ${showDuration(behindMs)} behind the last migration of the store`, fix);
  }
  const apartMs = Math.abs(databaseMs - nowMs);
  const found = `${showDuration(apartMs)} apart from the clock of the database`;
  if (apartMs > CLOCK_ERROR_MS) return failure('clock', found, fix);
  return apartMs > CLOCK_WARNING_MS ? warning('clock', found, fix) : ok('clock', found);
}

export async function checkSecretKey(db: Database, config: Config): Promise<Finding> {
  const file = keyFileOf(config);
  try {
    const sealed = await hasSecrets(db);
    const key = config.SECRET_KEY ?? (file === null ? null : readKeyFile(file));
    if (key === null) {
      if (!sealed) return ok('secret key', 'not needed yet: no secret is stored');
      return failure('secret key', `${file} is missing`, 'Restore the file from a backup, or set SECRET_KEY.');
    }
    await checkSecretsOpen(db, new SecretBox(key));
    return file === null ? ok('secret key', 'SECRET_KEY decrypts the stored secrets') : checkKeyFile(file);
  } catch (error) {
    if (!(error instanceof SecretKeyError)) throw error;
    return failure(
      'secret key',
      'it does not decrypt the stored secrets',
      'Set SECRET_KEY to the key of this store, or restore its key file.',
    );
  }
}

function checkKeyFile(file: string): Finding {
  const readableByOthers = process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0;
  if (!readableByOthers) return ok('secret key', `${file} decrypts the stored secrets`);
  return warning('secret key', `${file} is readable by others`, `chmod 600 ${file}`);
}
