import type { Config } from '../../config.ts';
import type { Database } from '../database/database.ts';
import { createKeyFile, finishKeyChange, readKeyFile, secretKeyFile, stagedKeyFile } from './key-file.ts';
import { SecretBox, SecretKeyError } from './secret-box.ts';
import { checkSecretsOpen, hasSecrets } from './signing-keys.ts';

/** Returns the box of this store after it has opened a secret, so that a wrong key fails the start and not the first delivery. */
export async function openSecretBox(db: Database, config: Config): Promise<SecretBox> {
  const box = new SecretBox(await secretKeyOf(db, config));
  try {
    await checkSecretsOpen(db, box);
    return box;
  } catch (error) {
    const file = keyFileOf(config);
    const finished = file === null ? null : await finishInterruptedRekey(db, file);
    if (finished === null) throw error;
    return finished;
  }
}

/** The key file of this store, or null if a setting has the key. */
export function keyFileOf({ SECRET_KEY, DATABASE_URL }: Config): string | null {
  return SECRET_KEY === undefined && DATABASE_URL.engine === 'sqlite' ? secretKeyFile(DATABASE_URL.file) : null;
}

async function secretKeyOf(db: Database, config: Config): Promise<Uint8Array> {
  if (config.SECRET_KEY !== undefined) return config.SECRET_KEY;
  const file = keyFileOf(config);
  if (file === null) throw new SecretKeyError('SECRET_KEY must be set with PostgreSQL');
  const found = readKeyFile(file);
  if (found !== null) return found;
  // Creating a key for a store that has secrets would only hide that the right one is missing.
  if (await hasSecrets(db)) {
    throw new SecretKeyError(
      `the store has signing secrets, but the key file ${file} is missing: restore it, or set SECRET_KEY`,
    );
  }
  return createKeyFile(file);
}

/** Finishes a rekey that stopped between its commit and the change of the key file. The staged key opens the store then. */
async function finishInterruptedRekey(db: Database, file: string): Promise<SecretBox | null> {
  const staged = readKeyFile(stagedKeyFile(file));
  if (staged === null) return null;
  const box = new SecretBox(staged);
  try {
    await checkSecretsOpen(db, box);
  } catch {
    return null;
  }
  finishKeyChange(file);
  return box;
}
