import type { Command } from 'commander';
import { loadConfig } from '../../config.ts';
import { CommandError } from '../terminal/command-error.ts';
import { printLine } from '../terminal/output.ts';

const DEADLINE_MS = 5_000;
const EVERYWHERE = ['0.0.0.0', '::'];

export function addReady(program: Command): void {
  program
    .command('ready')
    .description('ask the service on this machine whether it can serve, for health checks where there is no curl')
    .action(ask);
}

async function ask(): Promise<void> {
  const { HOST, PORT } = loadConfig(process.env);
  const host = EVERYWHERE.includes(HOST) ? '127.0.0.1' : HOST;
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${PORT}/readyz`;
  const answer = await fetch(url, { signal: AbortSignal.timeout(DEADLINE_MS), redirect: 'manual' }).catch(() => {
    throw new CommandError(`nothing answers at ${url}; check HOST and PORT, and that the service runs`);
  });
  if (!answer.ok) throw new CommandError(`${url} answers ${answer.status}: ${(await answer.text()).slice(0, 500)}`);
  printLine('ready');
}
