import { PaybellError } from '../../client/errors.ts';
import { importKey } from '../../verify/keys.ts';
import { type ConnectionOptions, connectionIfAny } from '../server/connection.ts';
import { clientFor } from '../server/session.ts';
import { UsageError } from '../terminal/command-error.ts';
import { PAYBELL } from '../terminal/invocation.ts';
import { printable } from '../terminal/output.ts';
import { terminal } from '../terminal/terminal.ts';
import type { KeySource } from './signature-check.ts';

export type Keys = {
  readonly keys: readonly string[];
  /** Source of newer keys. Null if the user gave the keys, or wants no check. */
  readonly source: KeySource | null;
  readonly description: string;
  /** Why the keys of the server could not be read. */
  readonly error?: PaybellError;
};

type KeyOptions = ConnectionOptions & { check: boolean; secret?: string[] };

/** The keys to check signatures with: the given ones, or the server's. */
export async function loadKeys(options: KeyOptions): Promise<Keys> {
  if (!options.check) return { source: null, keys: [], description: 'Signatures are not checked.' };
  const { PAYBELL_SECRET = '' } = terminal().env;
  const given = [...(options.secret ?? []), ...PAYBELL_SECRET.split(/[\s,]+/)].filter(Boolean);
  if (given.length > 0) {
    await requireKeys(given);
    return { source: null, keys: given, description: 'Signatures are checked with the given secrets.' };
  }
  const connection = connectionIfAny(options);
  if (connection === null) {
    const description = `Signatures are not checked: set PAYBELL_API_KEY and PAYBELL_ENTITY_ID, give --secret, or use ${PAYBELL} login.`;
    return { source: null, keys: [], description };
  }
  const client = clientFor(connection);
  const source: KeySource = async () => {
    const { secrets, publicKeys } = await client.secrets.list({ retries: 0 });
    return [...secrets.map(({ secret }) => secret), ...publicKeys.map(({ publicKey }) => publicKey)];
  };
  try {
    const description = `Signatures are checked with the secrets of ${connection.url}.`;
    return { source, keys: await source(), description };
  } catch (error) {
    if (!(error instanceof PaybellError)) throw error;
    return { source, keys: [], description: `Signatures are not checked yet: ${printable(error.message)}`, error };
  }
}

async function requireKeys(keys: readonly string[]): Promise<void> {
  try {
    await Promise.all(keys.map(importKey));
  } catch (error) {
    throw new UsageError(`--secret or PAYBELL_SECRET: ${error instanceof Error ? error.message : error}`);
  }
}
