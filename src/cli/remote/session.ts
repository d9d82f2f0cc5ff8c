import { Paybell } from '../../client/paybell.ts';
import { type Connection, type ConnectionOptions, currentConnection } from './connection.ts';

/** Somebody waits at the terminal: a server that is down should be named soon. */
const RETRIES = 2;

export function clientFor({ url, entityId, apiKey, processor }: Connection): Paybell {
  return new Paybell({ url, entityId, apiKey, processor, retries: RETRIES });
}

/** The client that options, environment or profile speak of. */
export function currentClient(options: ConnectionOptions): Paybell {
  return clientFor(currentConnection(options));
}
