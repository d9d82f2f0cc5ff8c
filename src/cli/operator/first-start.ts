import { rmSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Config, DatabaseTarget } from '../../config.ts';
import type { Provisioned } from '../../store/tenants/provision.ts';
import { DEFAULT_PROCESSOR, DEFAULT_URL } from '../server/connection.ts';
import { PAYBELL } from '../terminal/invocation.ts';
import { paint } from '../terminal/output.ts';

/**
 * The first steps with the entity that was created in an empty store. Only a terminal is shown the key: any other output
 * is kept, by a service manager or a collector of logs, and then the key is in a file that only its owner can read.
 */
export function firstSteps(url: string, config: Config, first: Provisioned, isTerminal: boolean): string {
  const { entityId, apiKey } = first;
  const created = 'The store was empty, so a first entity was created.';
  if (isTerminal) {
    const shown = [`entity-id  ${entityId}`, `api-key    ${apiKey}`];
    const notice = `${created} ${paint('Its key is shown only this once:', 'yellow')}`;
    return steps(notice, shown, url, config.PROCESSOR, entityId, apiKey);
  }
  const file = keyFileFor(config.DATABASE_URL);
  const problem = saveKey(file, apiKey);
  if (problem !== null) {
    return `
  ${created} Its key could not be saved in ${file} (${problem}). Create another:

    entity-id  ${entityId}

    ${PAYBELL} keys create --entity ${entityId}`;
  }
  const shown = [`entity-id  ${entityId}`, `key file   ${file}`];
  const notice = `${created} Its key is in a file that only its owner can read; delete the file when you keep the key elsewhere:`;
  return steps(notice, shown, url, config.PROCESSOR, entityId, `$(cat ${quoted(file)})`);
}

/** Beside a SQLite file; in the working directory if the store is a server. */
function keyFileFor(target: DatabaseTarget): string {
  return resolve(`${target.engine === 'sqlite' ? target.file : 'paybell'}.first-key`);
}

/** Returns why the file could not be written, or null. A file that is there belongs to a store that is gone. */
function saveKey(file: string, apiKey: string): string | null {
  try {
    rmSync(file, { force: true });
    writeFileSync(file, `${apiKey}\n`, { mode: 0o600, flag: 'wx' });
    return null;
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
  }
}

/** `key` is the key itself or a substitution that reads it, so it stands in double quotes. */
function steps(
  notice: string,
  shown: readonly string[],
  url: string,
  processor: string,
  entityId: string,
  key: string,
) {
  const api = `${url}/api/v1/${processor}`;
  const credentials = `-H "api-key: ${key}" -H 'entity-id: ${entityId}'`;
  const registration = { postUrl: 'https://example.com/hook', networkIds: [1, 8453], events: ['TransferFinalized'] };
  return `
  ${notice}

    ${shown.join('\n    ')}

    ${exportLine(url, processor, entityId, key)}

  Register webhooks:

    curl -s '${api}/webhooks/classic' \\
      ${credentials} \\
      -H 'content-type: application/json' -d '${JSON.stringify(registration)}'

  List them:

    curl -s '${api}/webhooks/classic?event=TransferFinalized&sortBy=postUrl' \\
      ${credentials}

  Or use the command line. One login serves every terminal:

    PAYBELL_API_KEY=${assigned(key)} \\
      ${PAYBELL} login --server ${url} --entity ${entityId}

    ${PAYBELL} webhooks list`;
}

/** One line for `curl` and for `paybell`, with the variables that both read. The server is named unless it is the default. */
function exportLine(url: string, processor: string, entityId: string, key: string): string {
  const variables = [`PAYBELL_ENTITY_ID=${entityId}`, `PAYBELL_API_KEY=${assigned(key)}`];
  if (url !== DEFAULT_URL) variables.push(`PAYBELL_URL=${url}`);
  if (processor !== DEFAULT_PROCESSOR) variables.push(`PAYBELL_PROCESSOR=${processor}`);
  return `export ${variables.join(' ')}`;
}

const assigned = (key: string) => (key.startsWith('$') ? `"${key}"` : key);

const quoted = (file: string) => (/^[\w./-]+$/.test(file) ? file : `'${file.replaceAll("'", "'\\''")}'`);
