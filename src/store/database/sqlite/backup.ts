import { Database as Connection } from 'bun:sqlite';
import { existsSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Config } from '../../../config.ts';
import { readKeyFile, secretKeyFile, syncFile, writeKeyFile } from '../../tenants/key-file.ts';
import { SecretBox, SecretKeyError } from '../../tenants/secret-box.ts';
import { checkSecretsOpen } from '../../tenants/signing-keys.ts';

/** The backup was not made, for example because its file exists; nothing was written. */
export class BackupError extends Error {
  override readonly name = 'BackupError';
}

export type Backup = { file: string; bytes: number; keyFile: string | null };

export type BackupSource = { file: string; secretKey: Config['SECRET_KEY'] };

const KEY_COMMENT = `# This key opens the signing secrets of every entity in the backup next to it: with both, anyone can sign requests in
# your name. Keep it apart from the backup, readable only by its owner (mode 600), and delete it with the backup.
`;

const BUSY_TIMEOUT_MS = 5_000;

/**
 * Copies the state of the store at one moment, while other processes may read and write: for SQLite, it is one long read. The
 * copy has no empty pages. It gets its name only after it was checked and the key has opened a secret in it.
 */
export async function backUpSqlite(source: BackupSource, to: string, withKey: boolean): Promise<Backup> {
  const keyFile = withKey ? secretKeyFile(to) : null;
  if (!existsSync(source.file)) throw new BackupError(`there is no store at ${source.file}`);
  for (const file of [to, keyFile]) {
    if (file !== null && existsSync(file))
      throw new BackupError(`${file} exists already; choose another name, since a backup overwrites nothing`);
  }
  const part = `${to}.${process.pid}.part`;
  try {
    // Created here, because SQLite would make it readable by every user.
    writeFileSync(part, '', { mode: 0o600, flag: 'wx' });
    copyInto(source.file, part);
    const key = withKey ? (source.secretKey ?? readKeyFile(secretKeyFile(source.file))) : null;
    await checkCopy(part, withKey, key);
    syncFile(part);
    if (keyFile !== null && key !== null) writeKeyFile(keyFile, key, KEY_COMMENT);
    renameSync(part, to);
    syncFile(dirname(to));
    return { file: to, bytes: statSync(to).size, keyFile: key === null ? null : keyFile };
  } catch (error) {
    rmSync(part, { force: true });
    throw explainFileError(error, to);
  }
}

function copyInto(from: string, to: string): void {
  using connection = new Connection(from, { readwrite: true, create: false });
  connection.exec(`pragma busy_timeout = ${BUSY_TIMEOUT_MS}`);
  connection.prepare('vacuum into ?1').run(to);
}

async function checkCopy(file: string, withKey: boolean, key: Uint8Array | null): Promise<void> {
  using copy = new Connection(file, { readonly: true });
  const health = copy.prepare('pragma quick_check(1)').get() as { quick_check: string };
  if (health.quick_check !== 'ok') throw new BackupError(`the copy is damaged: ${health.quick_check}`);
  const sealed = copy.prepare(`select 1 from sqlite_master where name = 'signing_keys'`).get() !== null;
  if (!withKey || !sealed) return;
  const get = async <Row>(sql: string) => (copy.prepare(sql).get() ?? undefined) as Row | undefined;
  if (key !== null) await checkSecretsOpen({ get }, new SecretBox(key));
  else if ((await get('select 1 from signing_keys limit 1')) !== undefined) {
    throw new SecretKeyError(
      'the store has signing secrets, but its key is missing: restore the key file, or set SECRET_KEY',
    );
  }
}

function explainFileError(error: unknown, file: string): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (!/^(E[A-Z]+|SQLITE_\w+)$/.test(code)) return error;
  return new BackupError(`${file} cannot be written (${code})`, { cause: error });
}
