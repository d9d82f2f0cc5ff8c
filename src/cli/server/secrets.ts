import type { Command } from 'commander';
import type { SecretList } from '../../client/secrets.ts';
import { DEFAULT_OVERLAP_HOURS } from '../../domain/secret-overlap.ts';
import { parseOverlapHours, printSecrets } from '../formats/secret-table.ts';
import { PAYBELL } from '../terminal/invocation.ts';
import { printJson } from '../terminal/output.ts';
import { finishRemote, openSession, type ServerOptions } from './session.ts';

const OPERATORS = `As the operator, on the store itself: ${PAYBELL} store secrets`;

export function addSecrets(program: Command): void {
  const secrets = program.command('secrets').description('secrets that sign the posts');
  const show = secrets.command('show').description('show the secrets in force, newest first');
  finishRemote(show, ['secrets show --json'], OPERATORS).action(showThem);
  const rotate = secrets
    .command('rotate')
    .description('make a new secret; the old ones go on signing beside it for a while')
    .option('--overlap-hours <n>', 'how long the old ones go on', parseOverlapHours, DEFAULT_OVERLAP_HOURS);
  finishRemote(rotate, ['secrets rotate --overlap-hours 48']).action(rotateThem);
}

async function showThem(options: ServerOptions): Promise<void> {
  const { client, json } = openSession(options);
  print(await client.secrets.list(), json);
}

async function rotateThem({ overlapHours, ...options }: ServerOptions & { overlapHours: number }): Promise<void> {
  const { client, json } = openSession(options);
  print(await client.secrets.rotate({ overlapHours }), json);
}

function print(list: SecretList, json: boolean): void {
  if (json) printJson(list);
  else printSecrets(list, `No secrets in force: ${PAYBELL} secrets rotate`);
}
