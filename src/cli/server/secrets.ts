import type { Command } from 'commander';
import { DEFAULT_OVERLAP_HOURS } from '../../domain/secret-overlap.ts';
import { parseOverlapHours, printSecrets } from '../formats/secret-table.ts';
import { PAYBELL } from '../terminal/invocation.ts';
import { addServerOptions, openSession, type ServerOptions } from './session.ts';

const OPERATOR_NOTE = `As the operator, on the store itself: ${PAYBELL} store secrets`;
const ROTATE = `${PAYBELL} secrets rotate`;

export function addSecrets(program: Command): void {
  const secrets = program.command('secrets').description('secrets that sign the requests to webhooks');
  const show = secrets.command('show').description('show the active secrets, newest first');
  addServerOptions(show, ['secrets show --json'], OPERATOR_NOTE).action(showSecrets);
  const rotate = secrets
    .command('rotate')
    .description('create a new secret; the current ones keep signing beside it for the overlap')
    .option(
      '--overlap-hours <n>',
      'how long the current secrets keep signing',
      parseOverlapHours,
      DEFAULT_OVERLAP_HOURS,
    );
  addServerOptions(rotate, ['secrets rotate --overlap-hours 48']).action(rotateSecret);
}

async function showSecrets(options: ServerOptions): Promise<void> {
  const { client, json } = openSession(options);
  printSecrets(await client.secrets.list(), json, ROTATE);
}

async function rotateSecret({ overlapHours, ...options }: ServerOptions & { overlapHours: number }): Promise<void> {
  const { client, json } = openSession(options);
  printSecrets(await client.secrets.rotate({ overlapHours }), json, ROTATE);
}
