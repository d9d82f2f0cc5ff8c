import type { Command } from 'commander';
import { parseSecretKey, SECRET_KEY_RULE } from '../../../config/secret-key.ts';
import type { Config } from '../../../config.ts';
import { showCount } from '../../../domain/errors.ts';
import { randomBytes } from '../../../store/new-id.ts';
import { finishKeyChange, formerKeyFile, readKeyFile, stageKey } from '../../../store/tenants/key-file.ts';
import { SecretBox } from '../../../store/tenants/secret-box.ts';
import { keyFileOf } from '../../../store/tenants/secret-key.ts';
import { rekeySecrets } from '../../../store/tenants/secrets.ts';
import { UsageError } from '../../terminal/command-error.ts';
import { printJson, printLine } from '../../terminal/output.ts';
import { terminal } from '../../terminal/terminal.ts';
import { changeByCommandLine, withStore } from '../session.ts';

/** A command only for the operator, because a server cannot change the key with which it runs. */
export function addRekey(secrets: Command): void {
  secrets
    .command('rekey')
    .description(
      'encrypt the secrets of all entities with a new key: the environment variable NEW_SECRET_KEY, or a random one if the ' +
        'key is in a file next to the SQLite store. Stop the service first',
    )
    .option('--json', 'print JSON')
    .action(rekey);
}

async function rekey({ json }: { json?: boolean }): Promise<void> {
  await withStore(async ({ db, box, config }) => {
    const file = keyFileOf(config);
    const key = newKey(config, file);
    if (file !== null) stageKey(file, key);
    const sealed = await rekeySecrets(db, box, new SecretBox(key), changeByCommandLine());
    if (file !== null) finishKeyChange(file);
    if (json) return printJson({ sealed, keyFile: file, formerKeyFile: file === null ? null : formerKeyFile(file) });
    printLine(`Encrypted ${showCount(sealed, 'secret')} with the new key.`);
    if (file === null) {
      printLine('Set SECRET_KEY to the value of NEW_SECRET_KEY, and start the service.');
      printLine('Keep the old key for as long as you keep backups made with it.');
      return;
    }
    printLine(`The new key is in ${file}. Start the service again to use it.`);
    printLine(`The old key is in ${formerKeyFile(file)}. Delete it once you keep no backup made with it.`);
  });
}

function newKey({ SECRET_KEY }: Config, file: string | null): Uint8Array {
  const given = terminal().env.NEW_SECRET_KEY;
  if (!given) {
    if (file !== null) return randomBytes(32);
    throw new UsageError(`NEW_SECRET_KEY ${SECRET_KEY_RULE}`);
  }
  const key = parseSecretKey(given);
  if (key === null) throw new UsageError(`NEW_SECRET_KEY ${SECRET_KEY_RULE}`);
  const current = SECRET_KEY ?? (file === null ? null : readKeyFile(file));
  if (current !== null && Buffer.from(key).equals(current)) {
    throw new UsageError('NEW_SECRET_KEY is the current key; give another one');
  }
  return key;
}
