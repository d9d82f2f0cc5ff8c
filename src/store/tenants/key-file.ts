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

/** The key beside a SQLite store when no setting gives it; it is worth as much as all signing secrets together. */
export function secretKeyFile(sqliteFile: string): string {
  return `${sqliteFile}.key`;
}

/** The next key, while a rekey is under way. */
export function stagedKeyFile(file: string): string {
  return `${file}.new`;
}

/** The key before the last rekey: backups from before it open with no other. */
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
    `the key file ${file} must hold base64 of 32 bytes: put the right one back, or set SECRET_KEY`,
  );
}

export function createKeyFile(file: string): Uint8Array {
  const key = randomBytes(32);
  try {
    writeKeyFile(file, key);
    return key;
  } catch (error) {
    // Another process made it a moment ago: theirs counts.
    const theirs = readKeyFile(file);
    if (theirs !== null) return theirs;
    throw error;
  }
}

/** On disk before anything is sealed under it, so that no crash can take it away from what it sealed. */
export function stageKey(file: string, key: Uint8Array): void {
  // What an earlier attempt left has sealed nothing, since the present key opened the store.
  rmSync(stagedKeyFile(file), { force: true });
  writeKeyFile(stagedKeyFile(file), key);
}

/** The staged key takes the place of the present one, which is kept; there is a whole key file at every moment. */
export function finishKeyChange(file: string): void {
  const former = formerKeyFile(file);
  rmSync(former, { force: true });
  copyFileSync(file, former, constants.COPYFILE_EXCL);
  syncFile(former);
  renameSync(stagedKeyFile(file), file);
  syncFile(dirname(file));
}

/** Never over one that is there: whatever it sealed would be lost. The comment stands above the key, each line with a `#`. */
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
