import type { Command } from 'commander';
import { readHeaders } from '../../verify/headers.ts';
import { VerificationError } from '../../verify/verification-error.ts';
import { verify } from '../../verify/verify.ts';
import { showDuration } from '../formats/amounts.ts';
import { collect } from '../options/values.ts';
import { addConnectionOptions, type ConnectionOptions } from '../server/connection.ts';
import { CommandError, UsageError } from '../terminal/command-error.ts';
import { addExamples } from '../terminal/help.ts';
import { paint, printable, printJson, printLine, printNote } from '../terminal/output.ts';
import { terminal } from '../terminal/terminal.ts';
import { loadKeys } from './keys.ts';

/** Default tolerance of receivers, in `@paybell/client/verify` and in the libraries of Standard Webhooks. */
const USUAL_TOLERANCE_MS = 300_000;

export function addVerify(program: Command): void {
  const command = program
    .command('verify')
    .description('check the signature of a request that was saved to files')
    .argument('<file>', 'file with the body, byte for byte; - is standard input')
    .option('--headers <file>', 'file with the headers, one per line')
    .option('--header <line>', "one header, such as 'webhook-id: dlv_1'; may be repeated", collect)
    .option('--secret <whsec>', 'secret or public key to check with; may be repeated', collect)
    .option('--json', 'print JSON');
  addConnectionOptions(command);
  addExamples(
    command,
    ['verify body.json --headers headers.txt', "verify body.json --header 'webhook-id: dlv_1' --secret whpk_…"],
    'Secrets come from --secret, from PAYBELL_SECRET, or from the server, if the\nkey may read them. The age of a request is shown and does not matter here.',
  ).action(verifySaved);
}

type Options = ConnectionOptions & { headers?: string; header?: string[]; secret?: string[]; json?: boolean };

async function verifySaved(file: string, { headers: headerFile, header = [], json, ...options }: Options) {
  const body = await (file === '-' ? terminal().stdin : Bun.file(file)).bytes().catch(cannotRead(file));
  const text = headerFile === undefined ? '' : await Bun.file(headerFile).text().catch(cannotRead(headerFile));
  const headers = parseHeaders([...text.split('\n'), ...header]);
  const { keys, description, error: refused } = await loadKeys({ ...options, check: true });
  if (refused !== undefined) throw refused;
  if (keys.length === 0) throw new UsageError(description);
  try {
    const { id, timestamp } = readHeaders(headers);
    const event = await verify(body, headers, keys, { nowS: Number(timestamp) });
    const ageMs = Date.now() - Number(timestamp) * 1000;
    if (json) return printJson({ verified: true, deliveryId: id, event: event.event, timestamp: Number(timestamp) });
    const age = ageMs < 0 ? 'in the future' : `${showDuration(ageMs)} ago`;
    printLine(`${paint('verified', 'green')}: ${printable(event.event)}, ${printable(id)}, signed ${age}`);
    if (Math.abs(ageMs) > USUAL_TOLERANCE_MS) printNote('A receiver would reject it now: most allow 5 minutes.');
  } catch (error) {
    throw error instanceof VerificationError ? new CommandError(`not verified: ${error.message}`) : error;
  }
}

/** Parses lines `name: value`, including the form of `curl -v`. Skips other lines, such as the request line. */
function parseHeaders(lines: readonly string[]): Record<string, string> {
  const found = lines.flatMap((line) => {
    const [, name, value = ''] = /^(?:[<>] )?([\w-]+):[ \t]*(.*?)\s*$/.exec(line) ?? [];
    return name === undefined ? [] : [[name.toLowerCase(), value] as const];
  });
  return Object.fromEntries(found);
}

function cannotRead(file: string): () => never {
  return () => {
    throw new CommandError(`cannot read ${file}`);
  };
}
