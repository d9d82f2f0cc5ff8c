import { type Command, Option } from 'commander';
import { SECRET_FORMATS, type SecretFormat } from '../../domain/secret-forms.ts';
import { DEFAULT_OVERLAP_HOURS } from '../../domain/secret-overlap.ts';
import { parseOverlapHours, printPublicKeys, printSecrets } from '../formats/secret-table.ts';
import { CommandError } from '../terminal/command-error.ts';
import { PAYBELL } from '../terminal/invocation.ts';
import { prompt } from '../terminal/prompt.ts';
import { terminal } from '../terminal/terminal.ts';
import { addServerOptions, openSession, type ServerOptions } from './session.ts';

const OPERATOR_NOTE = `As the operator, on the store itself: ${PAYBELL} store secrets`;
const ROTATE = `${PAYBELL} secrets rotate`;

export function addSecrets(program: Command): void {
  const secrets = program.command('secrets').description('secrets that sign the requests to webhooks');
  const show = secrets.command('show').description('show the active secrets and public keys, newest first');
  addServerOptions(show, ['secrets show --json'], OPERATOR_NOTE).action(showSecrets);
  const rotate = secrets
    .command('rotate')
    .description('create a new secret; the current ones keep signing too for the overlap')
    .option(
      '--overlap-hours <n>',
      'how long the current secrets keep signing',
      parseOverlapHours,
      DEFAULT_OVERLAP_HOURS,
    );
  addServerOptions(rotate, ['secrets rotate --overlap-hours 48']).action(rotateSecret);
  const rotateKey = secrets
    .command('rotate-key')
    .description('create a new Ed25519 signing key; the current ones keep signing too for the overlap')
    .option('--overlap-hours <n>', 'how long the current keys keep signing', parseOverlapHours, DEFAULT_OVERLAP_HOURS);
  addServerOptions(rotateKey, ['secrets rotate-key --overlap-hours 48']).action(rotateSigningKey);
  addImport(secrets);
}

function addImport(secrets: Command): void {
  const bring = secrets
    .command('import')
    .description('make a secret of another service the newest one, so that receivers keep what they have')
    .argument('[file]', 'file with the secret (default: standard input, or a prompt)')
    .addOption(
      new Option(
        '--format <format>',
        'what the secret is (default: whsec if it begins with whsec_, or else text)',
      ).choices(SECRET_FORMATS),
    )
    .option(
      '--overlap-hours <n>',
      'how long the current secrets keep signing',
      parseOverlapHours,
      DEFAULT_OVERLAP_HOURS,
    );
  addServerOptions(bring, ['secrets import secret.txt', 'secrets import secret.txt --format hex']).action(importSecret);
}

async function showSecrets(options: ServerOptions): Promise<void> {
  const { client, json } = openSession(options);
  printSecrets(await client.secrets.list(), json, ROTATE);
}

async function rotateSecret({ overlapHours, ...options }: ServerOptions & { overlapHours: number }): Promise<void> {
  const { client, json } = openSession(options);
  printSecrets(await client.secrets.rotate({ overlapHours }), json, ROTATE);
}

async function rotateSigningKey({ overlapHours, ...options }: ServerOptions & { overlapHours: number }): Promise<void> {
  const { client, json } = openSession(options);
  printPublicKeys(await client.secrets.rotateSigningKey({ overlapHours }), json);
}

type ImportOptions = ServerOptions & { overlapHours: number; format?: SecretFormat };

async function importSecret(file: string | undefined, { overlapHours, format, ...options }: ImportOptions) {
  const { client, json } = openSession(options);
  const secret = await readSecret(file);
  const imported = await client.secrets.import({ secret, overlapHours, ...(format !== undefined && { format }) });
  printSecrets(imported, json, ROTATE);
}

/** Never from an argument: every user of a machine can read the arguments of a process. */
async function readSecret(file: string | undefined): Promise<string> {
  const keyboard = file === undefined ? terminal().keyboard : null;
  if (keyboard !== null) return prompt(keyboard, 'Secret (not shown): ', { secret: true });
  const source = file === undefined || file === '-' ? terminal().stdin : Bun.file(file);
  const text = await source.text().catch(() => {
    throw new CommandError(`cannot read ${file}`);
  });
  // Editors and `echo` end a file with a line break, which is not part of the secret.
  return text.replace(/\r?\n$/, '');
}
