import type { Command } from 'commander';
import { type Config, parseSecretKey, SECRET_KEY_RULE } from '../../../config.ts';
import type { SecretList } from '../../../contract/secrets.ts';
import { DEFAULT_OVERLAP_HOURS } from '../../../domain/secret-overlap.ts';
import { randomBytes } from '../../../store/new-id.ts';
import { finishKeyChange, formerKeyFile, readKeyFile, stageKey } from '../../../store/tenants/key-file.ts';
import { SecretBox } from '../../../store/tenants/secret-box.ts';
import { keyFileOf } from '../../../store/tenants/secret-key.ts';
import { listSecrets, rekeySecrets, rotateSecret } from '../../../store/tenants/secrets.ts';
import { parseOverlapHours, printSecrets } from '../../formats/secret-table.ts';
import { CommandError, EXIT } from '../../terminal/command-error.ts';
import { PAYBELL } from '../../terminal/invocation.ts';
import { printJson, printLine } from '../../terminal/output.ts';
import { changeByCommandLine, requireEntity, secondsNow, withStore } from '../session.ts';

export function addStoreSecrets(store: Command): void {
  const secrets = store.command('secrets').description('secrets that sign the posts of an entity');
  secrets
    .command('show')
    .description('show the secrets in force, newest first')
    .requiredOption('--entity <id>', 'entity whose secrets to show')
    .option('--json', 'print JSON')
    .action(show);
  secrets
    .command('rotate')
    .description('make a new secret; the old ones go on signing beside it for a while')
    .requiredOption('--entity <id>', 'entity whose secret to rotate')
    .option('--overlap-hours <n>', 'how long the old ones go on', parseOverlapHours, DEFAULT_OVERLAP_HOURS)
    .option('--json', 'print JSON')
    .action(rotate);
  secrets
    .command('rekey')
    .description(
      'seal every secret of every entity anew under NEW_SECRET_KEY, an environment variable; where the key is in a ' +
        'file beside the SQLite store, one is made when the variable is absent. Stop the service first',
    )
    .option('--json', 'print JSON')
    .action(rekey);
}

async function show({ entity, json }: { entity: string; json?: boolean }): Promise<void> {
  const found = await withStore(async ({ db, box }) => {
    await requireEntity(db, entity);
    return listSecrets(db, box, entity, secondsNow());
  });
  print(found, json);
}

type RotateOptions = { entity: string; overlapHours: number; json?: boolean };

async function rotate({ entity, overlapHours, json }: RotateOptions): Promise<void> {
  const inForce = await withStore(async ({ db, box }) => {
    await requireEntity(db, entity);
    return rotateSecret(db, box, entity, overlapHours, changeByCommandLine());
  });
  print(inForce, json);
}

async function rekey({ json }: { json?: boolean }): Promise<void> {
  await withStore(async ({ db, box, config }) => {
    const file = keyFileOf(config);
    const key = newKey(config, file);
    if (file !== null) stageKey(file, key);
    const sealed = await rekeySecrets(db, box, new SecretBox(key), changeByCommandLine());
    if (file !== null) finishKeyChange(file);
    if (json) return printJson({ sealed, keyFile: file, formerKeyFile: file === null ? null : formerKeyFile(file) });
    printLine(`Sealed ${sealed} secrets anew.`);
    if (file === null) {
      printLine('Set SECRET_KEY to the value of NEW_SECRET_KEY now, and start the service with it.');
      printLine('Keep the former key for as long as there are backups from before.');
      return;
    }
    printLine(`The new key is in ${file}; start the service again to have it read.`);
    printLine(`The former one is in ${formerKeyFile(file)}: remove it when no backup from before is left.`);
  });
}

function newKey({ SECRET_KEY }: Config, file: string | null): Uint8Array {
  const given = process.env.NEW_SECRET_KEY;
  if (!given) {
    if (file !== null) return randomBytes(32);
    throw new CommandError(`NEW_SECRET_KEY ${SECRET_KEY_RULE}`, EXIT.usage);
  }
  const key = parseSecretKey(given);
  if (key === null) throw new CommandError(`NEW_SECRET_KEY ${SECRET_KEY_RULE}`, EXIT.usage);
  const present = SECRET_KEY ?? (file === null ? null : readKeyFile(file));
  if (present !== null && Buffer.from(key).equals(present)) {
    throw new CommandError('NEW_SECRET_KEY is the present key; give another one', EXIT.usage);
  }
  return key;
}

function print(list: SecretList, json: boolean | undefined): void {
  if (json) printJson(list);
  else printSecrets(list, `No secrets in force: ${PAYBELL} store secrets rotate --entity <id>`);
}
