import type { Command } from 'commander';
import { Paybell } from '../../client/paybell.ts';
import { addExamples } from '../terminal/help.ts';
import { addConnectionOptions, type Connection, type ConnectionOptions, currentConnection } from './connection.ts';

/** Somebody waits at the terminal: a server that is down should be named soon. */
const RETRIES = 2;

export function clientFor({ url, entityId, apiKey, processor }: Connection): Paybell {
  return new Paybell({ url, entityId, apiKey, processor, retries: RETRIES });
}

export type ServerOptions = ConnectionOptions & { json?: boolean };
export type Given = Record<string, string | boolean | undefined>;

/** What every command on a server begins with: its client, whether to print JSON, and the options that are its own. */
export function openSession(options: ConnectionOptions & Given) {
  const { server, entity, profile, json, ...own } = options;
  const connection = currentConnection({
    ...(server !== undefined && { server }),
    ...(entity !== undefined && { entity }),
    ...(profile !== undefined && { profile }),
  });
  return { client: clientFor(connection), json: json === true, own };
}

/** The options that all commands on a server take, and what to type. */
export function finishRemote(command: Command, examples: readonly string[], note?: string): Command {
  if (!command.options.some(({ long }) => long === '--json')) command.option('--json', 'print JSON');
  addConnectionOptions(command);
  return addExamples(command, examples, note);
}
