import { type Command, Option } from 'commander';
import { SECRET_FORMATS, type SecretFormat } from '../../domain/secret-forms.ts';
import { DEFAULT_OVERLAP_HOURS } from '../../domain/secret-overlap.ts';
import { parseOverlapHours, printPublicKeys, printSecrets } from '../formats/secret-table.ts';
import type { OptionValues } from '../options/list-options.ts';
import { CommandError } from '../terminal/command-error.ts';
import { PAYBELL } from '../terminal/invocation.ts';
import { prompt } from '../terminal/prompt.ts';
import { terminal } from '../terminal/terminal.ts';
import { type Access, ON_SERVER } from './session.ts';

const OPERATOR_NOTE = `As the operator, on the store itself: ${PAYBELL} store secrets`;

type Overlap = { readonly overlapHours: number };

/** Returns the group, so that the operator's commands can add another command. */
export function addSecrets(program: Command, access: Access = ON_SERVER): Command {
  const secrets = program.command('secrets').description('secrets that sign the requests to webhooks');
  const rotateCommand = `${access.prefix} secrets rotate`;
  const overlapping = (command: Command, kept = 'secrets') =>
    command.option(
      '--overlap-hours <n>',
      `how long the current ${kept} keep signing`,
      parseOverlapHours,
      DEFAULT_OVERLAP_HOURS,
    );
  const show = secrets.command('show').description('show the active secrets and public keys, newest first');
  access
    .addOptions(show, ['secrets show --json'], OPERATOR_NOTE)
    .action((options) =>
      access.run(options, async ({ client, json }) => printSecrets(await client.secrets.list(), json, rotateCommand)),
    );
  const rotate = secrets
    .command('rotate')
    .description('create a new secret; the current ones keep signing too for the overlap');
  access
    .addOptions(overlapping(rotate), ['secrets rotate --overlap-hours 48'])
    .action(({ overlapHours, ...options }: Overlap & OptionValues) =>
      access.run(options, async ({ client, json }) =>
        printSecrets(await client.secrets.rotate({ overlapHours }), json, rotateCommand),
      ),
    );
  const rotateKey = secrets
    .command('rotate-key')
    .description('create a new Ed25519 signing key; the current ones keep signing too for the overlap');
  access
    .addOptions(overlapping(rotateKey, 'keys'), ['secrets rotate-key --overlap-hours 48'])
    .action(({ overlapHours, ...options }: Overlap & OptionValues) =>
      access.run(options, async ({ client, json }) =>
        printPublicKeys(await client.secrets.rotateSigningKey({ overlapHours }), json),
      ),
    );
  const bring = secrets
    .command('import')
    .description('make a secret of another service the newest one, so that receivers keep what they have')
    .argument('[file]', 'file with the secret (default: standard input, or a prompt)')
    .addOption(
      new Option(
        '--format <format>',
        'what the secret is (default: whsec if it begins with whsec_, or else text)',
      ).choices(SECRET_FORMATS),
    );
  access
    .addOptions(overlapping(bring), ['secrets import secret.txt', 'secrets import secret.txt --format hex'])
    .action((file: string | undefined, { overlapHours, format, ...options }: ImportOptions & OptionValues) =>
      access.run(options, async ({ client, json }) => {
        const secret = await readSecret(file);
        const imported = await client.secrets.import({ secret, overlapHours, ...(format !== undefined && { format }) });
        printSecrets(imported, json, rotateCommand);
      }),
    );
  return secrets;
}

type ImportOptions = Overlap & { readonly format?: SecretFormat };

/** Reads the secret, never from an argument, because every user of a machine can read the arguments of a process. */
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
