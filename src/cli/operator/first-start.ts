import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { DatabaseTarget } from '../../config/database-target.ts';
import type { Config } from '../../config.ts';
import { isMadeUp } from '../../domain/chain/practice.ts';
import type { Provisioned } from '../../store/tenants/provision.ts';
import { DEFAULT_PROCESSOR, DEFAULT_URL } from '../server/connection.ts';
import { PAYBELL, SERVE } from '../terminal/invocation.ts';
import { paint } from '../terminal/output.ts';

/** Limit on the names that a start tries for the key file. */
const MAX_KEY_FILES = 100;

/**
 * The lines that present the entity of an empty database. With the lines around them, these lines fit into 12 rows of
 * 80 columns. Only a terminal shows the key. Any other output may be stored, for example in a journal, so the key goes
 * to a file for its owner alone.
 */
export function firstSteps(url: string, config: Config, first: Provisioned, isTerminal: boolean): string[] {
  const server = serverVariables(url, config.PROCESSOR);
  if (isTerminal) {
    const notice = `${paint('Your first API key, shown only once.', 'yellow')} Paste these lines into another terminal:`;
    const exports = [`PAYBELL_ENTITY_ID=${first.entityId}`, `PAYBELL_API_KEY=${first.apiKey}`];
    if (server !== '') exports.push(server);
    return [notice, ...exports.map((variable) => `  export ${variable}`), ...commandsToTry(config)];
  }
  const wanted = keyFileFor(config.DATABASE_URL);
  const { file, problem } = saveKey(wanted, first.apiKey);
  if (problem !== null) {
    return [
      `The first API key could not be saved in ${wanted} (${problem}). Create another one:`,
      `  ${PAYBELL} keys create --entity ${first.entityId}`,
    ];
  }
  const reason = file === wanted ? '' : ` ${wanted} has another key.`;
  const variables = `PAYBELL_ENTITY_ID=${first.entityId} PAYBELL_API_KEY="$(cat ${quoted(file)})" ${server}`;
  return [
    `Your first API key is in a file that only its owner can read.${reason} Load it with:`,
    `  export ${variables.trimEnd()}`,
    ...commandsToTry(config),
  ];
}

function commandsToTry(config: Config): string[] {
  if (config.ALLOW_INSECURE_TARGETS) {
    const [madeUp] = config.CHAIN_RPC.filter(isMadeUp);
    const [network, next]: [number, string[]] = madeUp
      ? [madeUp.networkId, ['Then add an address on the page Payments of the dashboard:']]
      : [8453, [`  ${PAYBELL} events send --sample TransferFinalized`, '']];
    return [
      'Then try, with the first command in its own terminal:',
      `  ${PAYBELL} listen --port 3000`,
      `  ${PAYBELL} webhooks create http://127.0.0.1:3000 --networks ${network}`,
      ...next,
    ];
  }
  return [
    'Then try:',
    `  ${PAYBELL} webhooks create https://example.com/hook --networks 1`,
    `  ${PAYBELL} webhooks list`,
    '',
    `To deliver to this machine, restart: ALLOW_INSECURE_TARGETS=true ${SERVE}`,
  ];
}

/** Variables that the commands need if the server does not have the default URL or processor. */
function serverVariables(url: string, processor: string): string {
  const variables = [];
  if (url !== DEFAULT_URL) variables.push(`PAYBELL_URL=${url}`);
  if (processor !== DEFAULT_PROCESSOR) variables.push(`PAYBELL_PROCESSOR=${processor}`);
  return variables.join(' ');
}

/** The key file: next to the SQLite file or, with PostgreSQL, in `data/`, which git ignores. */
function keyFileFor(target: DatabaseTarget): string {
  return resolve(`${target.engine === 'sqlite' ? target.file : 'data/paybell'}.first-key`);
}

/** Keeps existing files, which may have the keys of other databases. The key then goes to a file with a number. */
function saveKey(wanted: string, apiKey: string): { file: string; problem: string | null } {
  try {
    mkdirSync(dirname(wanted), { recursive: true, mode: 0o700 });
    for (let number = 1; number <= MAX_KEY_FILES; number++) {
      const file = number === 1 ? wanted : `${wanted}-${number}`;
      if (writeNew(file, `${apiKey}\n`)) return { file, problem: null };
    }
    return { file: wanted, problem: 'EEXIST' };
  } catch (error) {
    return { file: wanted, problem: codeOf(error) };
  }
}

/** Writes a new file. Returns false if the name is taken. */
function writeNew(file: string, text: string): boolean {
  try {
    writeFileSync(file, text, { mode: 0o600, flag: 'wx' });
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

const codeOf = (error: unknown) => (error instanceof Error && 'code' in error ? String(error.code) : 'unknown error');

const quoted = (file: string) => (/^[\w./-]+$/.test(file) ? file : `'${file.replaceAll("'", "'\\''")}'`);
