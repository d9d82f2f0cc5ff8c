import { readFileSync, writeFileSync } from 'node:fs';
import type { Config } from '../config.ts';
import type { Database } from './database.ts';
import { randomBytes } from './new-id.ts';
import { SecretBox, SecretKeyError } from './secret-box.ts';
import { checkSecretsOpen, hasSecrets } from './secrets.ts';

/** The box of this store, proven to open what is in it: a wrong key stops the start, not the first delivery. */
export async function openSecretBox(db: Database, config: Config): Promise<SecretBox> {
  const box = new SecretBox(await secretKeyOf(db, config));
  await checkSecretsOpen(db, box);
  return box;
}

/** Where the key is when no setting gives it; it is worth as much as the signing secrets of all entities together. */
export function secretKeyFile(sqliteFile: string): string {
  return `${sqliteFile}.key`;
}

async function secretKeyOf(db: Database, { SECRET_KEY, DATABASE_URL }: Config): Promise<Uint8Array> {
  if (SECRET_KEY !== undefined) return SECRET_KEY;
  if (DATABASE_URL.engine === 'postgres') throw new SecretKeyError('SECRET_KEY must be given with PostgreSQL');
  const file = secretKeyFile(DATABASE_URL.file);
  const found = readKeyFile(file);
  if (found !== null) return found;
  // A new key beside a store that has secrets would only hide that the right one is missing.
  if (await hasSecrets(db)) {
    throw new SecretKeyError(
      `the store has signing secrets, but the key file ${file} is missing: put it back, or set SECRET_KEY`,
    );
  }
  return createKeyFile(file);
}

function createKeyFile(file: string): Uint8Array {
  const key = randomBytes(32);
  try {
    writeFileSync(file, `${Buffer.from(key).toString('base64')}\n`, { mode: 0o600, flag: 'wx' });
    return key;
  } catch (error) {
    // Another process made it a moment ago: theirs counts.
    const theirs = readKeyFile(file);
    if (theirs !== null) return theirs;
    throw error;
  }
}

function readKeyFile(file: string): Uint8Array | null {
  let text: string;
  try {
    text = readFileSync(file, 'utf8').trim();
  } catch {
    return null;
  }
  const key = Buffer.from(text, 'base64');
  if (key.length === 32) return new Uint8Array(key);
  throw new SecretKeyError(
    `the key file ${file} must hold base64 of 32 bytes: put the right one back, or set SECRET_KEY`,
  );
}
