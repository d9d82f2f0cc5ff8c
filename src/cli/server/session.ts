import type { Command } from 'commander';
import { Paybell } from '../../client/paybell.ts';
import type { OptionValues } from '../options/list-options.ts';
import { addExamples } from '../terminal/help.ts';
import { PAYBELL } from '../terminal/invocation.ts';
import { addConnectionOptions, type Connection, type ConnectionOptions, currentConnection } from './connection.ts';

/** Fewer retries than the client's default, so that a user at the terminal soon sees that the server is down. */
const RETRIES = 2;

export function clientFor({ url, entityId, apiKey, processor }: Connection): Paybell {
  return new Paybell({ url, entityId, apiKey, processor, retries: RETRIES });
}

export type ServerOptions = ConnectionOptions & { json?: boolean };

export type Session = {
  readonly client: Paybell;
  readonly json: boolean;
  /** Runs the task of a redelivery in this process, without a server. */
  readonly runTask?: (redeliveryId: string) => Promise<void>;
};

/** The way to the data: the same commands work on a server and, for the operator, on the database itself. */
export type Access = {
  /** Adds the options that every command has, and its examples. */
  readonly addOptions: (command: Command, examples: readonly string[], note?: string) => Command;
  readonly run: (options: OptionValues, work: (session: Session) => Promise<void>) => Promise<void>;
  /** The commands as a user writes them: `paybell secrets`, or `paybell store secrets`. */
  readonly prefix: string;
};

/** The options that only this command has. */
export function ownOptions({ server: _server, entity: _entity, profile: _profile, json: _json, ...own }: OptionValues) {
  return own;
}

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

export const ON_SERVER: Access = {
  addOptions: addServerOptions,
  run: (options, work) => work(openSession(options)),
  prefix: PAYBELL,
};
