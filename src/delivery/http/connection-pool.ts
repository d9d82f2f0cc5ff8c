import { createSecureContext, type SecureContext } from 'node:tls';
import { type Connection, openConnection, type Peer } from './connection.ts';
import type { Deadline } from './deadline.ts';

/** Most receivers close what was idle for five seconds or more: a post on a connection just closed is sent anew. */
const IDLE_MAX_MS = 4_000;
const IDLE_MAX = 1_024;
const SWEEP_EVERY_MS = 1_000;

/** Connections that are kept open from one post to the next. */
export class Connections {
  readonly #idle = new Map<string, Connection[]>();
  #idleCount = 0;
  #sweeper: Timer | null = null;
  readonly #context: SecureContext | undefined;

  /** PEM certificates to trust in place of the usual ones. */
  constructor(trustedCa: readonly string[] | undefined) {
    this.#context = trustedCa === undefined ? undefined : createSecureContext({ ca: [...trustedCa] });
  }

  /** One that was used before, the last first: it is the likeliest to be open still. */
  reuse(peer: Peer): Connection | null {
    const idle = this.#idle.get(keyOf(peer));
    const connection = idle?.pop();
    if (connection === undefined) return null;
    this.#idleCount--;
    return connection;
  }

  /** Rejects when there is no connection to be had, or none that can be trusted. */
  open(peer: Peer, deadline: Deadline): Promise<Connection> {
    const key = keyOf(peer);
    const owner = {
      onFree: (connection: Connection) => this.#keep(key, connection),
      onClosed: (connection: Connection) => this.#forget(key, connection),
    };
    return openConnection(peer, this.#context, owner, deadline);
  }

  #keep(key: string, connection: Connection): void {
    if (this.#idleCount >= IDLE_MAX) {
      connection.close();
      return;
    }
    const idle = this.#idle.get(key);
    if (idle === undefined) this.#idle.set(key, [connection]);
    else idle.push(connection);
    this.#idleCount++;
    this.#sweeper ??= setInterval(() => this.#sweep(), SWEEP_EVERY_MS).unref();
  }

  #forget(key: string, connection: Connection): void {
    const idle = this.#idle.get(key);
    const index = idle?.indexOf(connection) ?? -1;
    if (index === -1) return;
    idle?.splice(index, 1);
    this.#idleCount--;
  }

  #sweep(): void {
    const latestMs = performance.now() - IDLE_MAX_MS;
    for (const [key, idle] of this.#idle) {
      const old = idle.findIndex(({ freeSinceMs }) => freeSinceMs > latestMs);
      const closing = idle.splice(0, old === -1 ? idle.length : old);
      this.#idleCount -= closing.length;
      for (const connection of closing) connection.close();
      if (idle.length === 0) this.#idle.delete(key);
    }
    if (this.#idleCount > 0 || this.#sweeper === null) return;
    clearInterval(this.#sweeper);
    this.#sweeper = null;
  }
}

function keyOf({ address, port, isSecure, serverName }: Peer): string {
  return `${isSecure ? 'tls' : 'tcp'} ${address} ${port} ${serverName ?? ''}`;
}
