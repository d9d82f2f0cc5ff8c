import type { Command } from 'commander';
import { CommandError } from '../terminal/command-error.ts';
import { printJson, printLine } from '../terminal/output.ts';
import { terminal } from '../terminal/terminal.ts';
import { readSettings } from './settings.ts';

const DEADLINE_MS = 5_000;
const ALL_INTERFACES = ['0.0.0.0', '::'];

export function addReady(program: Command): void {
  program
    .command('ready')
    .description('check whether the service on this machine is ready, for health checks without curl')
    .option('--json', 'print JSON')
    .action(checkReady);
}

async function checkReady({ json }: { json?: boolean }): Promise<void> {
  const { HOST, PORT } = readSettings(terminal().env, { withSecretKey: false });
  const host = ALL_INTERFACES.includes(HOST) ? '127.0.0.1' : HOST;
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${PORT}/readyz`;
  const response = await fetch(url, { signal: AbortSignal.timeout(DEADLINE_MS), redirect: 'manual' }).catch(() => {
    throw new CommandError(`no response from ${url}; check HOST and PORT, and that the service is running`);
  });
  if (!response.ok) {
    throw new CommandError(`${url} responded with ${response.status}: ${(await response.text()).slice(0, 500)}`);
  }
  if (json) printJson({ ready: true });
  else printLine('ready');
}
