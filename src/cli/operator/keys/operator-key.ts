import { type Command, InvalidArgumentError } from 'commander';
import { hashApiKey, makeApiKey } from '../../../domain/keys/api-keys.ts';
import {
  isOperatorName,
  isOperatorScope,
  OPERATOR_SCOPES,
  type OperatorScope,
} from '../../../domain/keys/operator-keys.ts';
import { randomBytes } from '../../../store/new-id.ts';
import { duration, parseList } from '../../options/values.ts';
import { printJson, printLine } from '../../terminal/output.ts';

const DAY_MS = 86_400_000;
/** Recognisable for secret scanners, and different from the keys of entities. */
const OPERATOR_KEY_PREFIX = 'pbo_';

/**
 * Makes a key for ADMIN_KEYS and prints two parts: the entry for the setting, and the key for its user. Changes
 * nothing.
 */
export function addOperatorKey(keys: Command): void {
  keys
    .command('operator')
    .description('make a key that acts for every entity, and the entry of ADMIN_KEYS that allows it')
    .requiredOption('--name <name>', 'who uses it, for the audit log', parseName)
    .option('--scopes <list>', `comma-separated: ${OPERATOR_SCOPES.join(', ')} (default: all)`, parseScopeList)
    .option('--expires <duration>', 'how long it is valid, in whole days such as 90d (default: for ever)', parseDays)
    .option('--json', 'print JSON')
    .action(make);
}

type Options = { name: string; scopes?: OperatorScope[]; expires?: number; json?: boolean };

function make({ name, scopes, expires, json }: Options): void {
  const apiKey = makeApiKey(randomBytes, OPERATOR_KEY_PREFIX);
  // Adds a day, because a key is valid until its last day begins, and must last at least as long as requested.
  const date = expires === undefined ? null : new Date(Date.now() + expires + DAY_MS).toISOString().slice(0, 10);
  const rest =
    scopes === undefined && date === null ? [] : [scopes?.join('+') ?? 'all', ...(date === null ? [] : [date])];
  const entry = [name, hashApiKey(apiKey), ...rest].join(':');
  if (json) {
    printJson({ name, apiKey, entry });
    return;
  }
  printLine(`api-key  ${apiKey}`);
  printLine(`entry    ${entry}`);
  printLine(
    'The key is shown only this once. Add the entry to ADMIN_KEYS, separated by a comma, and restart the service.',
  );
}

function parseName(name: string): string {
  if (isOperatorName(name)) return name;
  throw new InvalidArgumentError('Give 1 to 64 letters, digits, ".", "_" or "-".');
}

function parseScopeList(text: string): OperatorScope[] {
  const names = parseList(text);
  const unknown = names.find((name) => !isOperatorScope(name));
  if (unknown === undefined) return names.filter(isOperatorScope);
  throw new InvalidArgumentError(`${unknown} is not one of ${OPERATOR_SCOPES.join(', ')}.`);
}

function parseDays(text: string): number {
  const hint = 'Give a duration of 1 to 3649 days such as 90d.';
  return duration(DAY_MS, 3_649 * DAY_MS, hint)(text);
}
