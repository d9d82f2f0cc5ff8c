import type { Command } from 'commander';
import { Paybell } from '../../client/paybell.ts';
import type { OptionValues } from '../options/list-options.ts';
import { addExamples } from '../terminal/help.ts';
import { addConnectionOptions, type Connection, type ConnectionOptions, currentConnection } from './connection.ts';

/** Fewer than the client's default, so that a user at the terminal soon sees that the server is down. */
const RETRIES = 2;

export function clientFor({ url, entityId, apiKey, processor }: Connection): Paybell {
  return new Paybell({ url, entityId, apiKey, processor, retries: RETRIES });
}

export type ServerOptions = ConnectionOptions & { json?: boolean };

/** The client for the server that the options name, whether to print JSON, and the command's own options. */
export function openSession(options: ServerOptions & OptionValues) {
  const { server, entity, profile, json, ...own } = options;
  const connection = currentConnection({
    ...(server !== undefined && { server }),
    ...(entity !== undefined && { entity }),
    ...(profile !== undefined && { profile }),
  });
  return { client: clientFor(connection), json: json === true, own };
}

/** Adds the options and examples that every command on a server has. */
export function addServerOptions(command: Command, examples: readonly string[], note?: string): Command {
  if (!command.options.some(({ long }) => long === '--json')) command.option('--json', 'print JSON');
  addConnectionOptions(command);
  return addExamples(command, examples, note);
}
