import {
  closeSync,
  constants,
  copyFileSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { randomBytes } from '../new-id.ts';
import { SecretKeyError } from './secret-box.ts';

/** The file with the key of a SQLite store, if no setting has the key. The key protects all signing secrets. */
export function secretKeyFile(sqliteFile: string): string {
  return `${sqliteFile}.key`;
}

/** The file with the next key, during a rekey. */
export function stagedKeyFile(file: string): string {
  return `${file}.new`;
}

/** The file with the key before the last rekey, which opens the backups from before the rekey. */
export function formerKeyFile(file: string): string {
  return `${file}.old`;
}

export function readKeyFile(file: string): Uint8Array | null {
  let text: string;
  try {
    text = readFileSync(file, 'utf8').trim();
  } catch {
    return null;
  }
  const key = Buffer.from(text.replace(/^#.*$/gm, '').trim(), 'base64');
  if (key.length === 32) return new Uint8Array(key);
  throw new SecretKeyError(
    `the key file ${file} must contain 32 bytes in base64: restore the right file, or set SECRET_KEY`,
  );
}

export function createKeyFile(file: string): Uint8Array {
  const key = randomBytes(32);
  try {
    writeKeyFile(file, key);
    return key;
  } catch (error) {
    // If another process has created the file a moment ago, its key is used.
    const existing = readKeyFile(file);
    if (existing !== null) return existing;
    throw error;
  }
}

/** Stores the next key durably before anything is sealed under it, so that a crash cannot lose the key. */
export function stageKey(file: string, key: Uint8Array): void {
  // A key that an earlier rekey left behind has sealed nothing, since the current key opens the store.
  rmSync(stagedKeyFile(file), { force: true });
  writeKeyFile(stagedKeyFile(file), key);
}

/**
 * Replaces the current key by the staged key, and keeps the current key as the former one. At every moment there is a complete
 * key file.
 */
export function finishKeyChange(file: string): void {
  const former = formerKeyFile(file);
  rmSync(former, { force: true });
  copyFileSync(file, former, constants.COPYFILE_EXCL);
  syncFile(former);
  renameSync(stagedKeyFile(file), file);
  syncFile(dirname(file));
}

/** Never overwrites a file, because everything that its key has sealed would be lost. Each line of the comment begins with `#`. */
export function writeKeyFile(file: string, key: Uint8Array, comment = ''): void {
  writeFileSync(file, `${comment}${Buffer.from(key).toString('base64')}\n`, { mode: 0o600, flag: 'wx' });
  syncFile(file);
  syncFile(dirname(file));
}

export function syncFile(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
