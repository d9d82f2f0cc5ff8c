import { createSecureContext } from 'node:tls';
import { BoundedMap } from '../../bounded-map.ts';
import type { EgressProxy } from '../../config/egress.ts';
import type { ClientCertificate } from '../../domain/endpoints/client-certificate.ts';
import { LocalShortageError } from '../local-shortage.ts';
import { type Connection, openConnection, type Peer, type Route, StaleConnectionError } from './connection.ts';
import type { Deadline } from './deadline.ts';
import { AttemptFailure } from './errors.ts';
import { EgressTunnels } from './proxy.ts';
import type { HttpResponse } from './response-parser.ts';

/** One request, as the client sends it: it resolves no name, follows no redirect and adds no header. */
export type HttpRequest = {
  /**
   * A connection never serves two entities, because bytes that one entity's receiver sends could be read as the other
   * entity's response.
   */
  readonly entityId: string;
  readonly peer: Peer;
  /** The client certificate for TLS. */
  readonly certificate?: ClientCertificate | null;
  /** The head, from the request line to the empty line. */
  readonly head: string;
  readonly body: string | Uint8Array;
};

/** Sends a request and reads its response. */
export type HttpClient = (request: HttpRequest, deadline: Deadline) => Promise<HttpResponse>;

export type HttpClientOptions = {
  /** PEM certificates to trust instead of the default ones. */
  readonly trustedCa?: readonly string[] | undefined;
  readonly proxy?: EgressProxy | undefined;
  /** The source address of every connection, including connections to the proxy. */
  readonly sourceAddress?: string | undefined;
  /** Connections that are kept open between requests. */
  readonly maxKept?: number | undefined;
};

/**
 * An HTTP/1.1 client over plain sockets. Bun's `fetch` keeps at most 64 idle connections, so that a request to the 65th
 * destination opens a new one, and it wakes a second thread for every request. Together these cost more than the rest of
 * a delivery.
 */
export function createHttpClient(options: HttpClientOptions = {}): HttpClient {
  const routes = new Routes(options);
  const pool = new ConnectionPool(options.maxKept ?? MAX_KEPT);
  return async ({ entityId, peer, certificate = null, head, body }, deadline) => {
    const key = `${keyOf(entityId, peer)} ${certificate?.id ?? ''} ${routes.name}`;
    const idle = pool.take(key);
    if (idle !== null) {
      try {
        return await idle.send(head, body, deadline);
      } catch (error) {
        // The receiver had closed the idle connection. The request is sent again at once, with the same id.
        if (!(error instanceof StaleConnectionError)) throw error;
      }
    }
    const opening = pool.open(key, peer, routes.routeWith(certificate), deadline);
    const connection = await (idle === null ? opening : opening.catch(failAsReset));
    return connection.send(head, body, deadline);
  };
}

/** The receiver may have read the request from the connection that it closed, so the attempt counts in any case. */
function failAsReset(error: unknown): never {
  throw error instanceof LocalShortageError ? new AttemptFailure('reset', error.code) : error;
}

/** Limit on the TLS contexts. Each holds the certificates that it trusts, which take about 0.3 MB with EXTRA_CA_FILE. */
const MAX_CONTEXTS = 256;

/** Makes a `Route` for each client certificate, and one without a certificate. */
class Routes {
  readonly #ca: { readonly ca?: string[] };
  readonly #withCertificate = new BoundedMap<string, Route>(MAX_CONTEXTS);
  readonly #route: Route;
  readonly name: string;

  constructor(options: HttpClientOptions) {
    const { trustedCa, proxy: given } = options;
    const sourceAddress = options.sourceAddress ?? null;
    const proxy = given === undefined ? null : new EgressTunnels(given, sourceAddress);
    this.#ca = trustedCa === undefined ? {} : { ca: [...trustedCa] };
    this.#route = { context: trustedCa && createSecureContext(this.#ca), proxy, sourceAddress };
    this.name = `${proxy?.name ?? ''} ${sourceAddress ?? ''}`;
  }

  routeWith(certificate: ClientCertificate | null): Route {
    if (certificate === null) return this.#route;
    const known = this.#withCertificate.get(certificate.id);
    if (known !== undefined) return known;
    const { certificate: cert, privateKey: key } = certificate;
    const route = { ...this.#route, context: createSecureContext({ ...this.#ca, cert, key }) };
    this.#withCertificate.set(certificate.id, route);
    return route;
  }
}

/**
 * Most receivers close connections that are idle for five seconds or more, so Paybell closes idle connections earlier.
 */
const MAX_IDLE_MS = 4_000;
const MAX_KEPT = 1_024;
const SWEEP_EVERY_MS = 1_000;
/** How long a peer that has sent surplus bytes gets a new connection for each request. */
const SURPLUS_REMEMBERED_MS = 10 * 60_000;
const MAX_SURPLUS_REMEMBERED = 10_000;

/** Connections that are kept open between requests. */
class ConnectionPool {
  constructor(private readonly maxKept: number) {}

  readonly #idle = new Map<string, Connection[]>();
  #idleCount = 0;
  /**
   * The time since which a peer has sent surplus bytes. Surplus bytes that arrive before the next request close the
   * connection. Bytes that arrive later would be read as the next response: in tests with a peer that always sent some,
   * this happened to 5 to 404 of 2,000 requests.
   */
  readonly #surplusSinceMs = new BoundedMap<string, number>(MAX_SURPLUS_REMEMBERED);
  #sweeper: Timer | null = null;

  /** The idle connection that was used last, because it is the most likely to be still open. */
  take(key: string): Connection | null {
    const connection = this.#idle.get(key)?.pop();
    if (connection === undefined) return null;
    this.#idleCount--;
    return connection;
  }

  /** Rejects if no trusted connection can be made. */
  open(key: string, peer: Peer, route: Route, deadline: Deadline): Promise<Connection> {
    const owner = {
      onFree: (connection: Connection) => this.#keep(key, connection),
      onSurplus: () => this.#noteSurplus(key),
      onClosed: (connection: Connection) => this.#forget(key, connection),
    };
    return openConnection(peer, route, owner, deadline);
  }

  #keep(key: string, connection: Connection): void {
    if (this.#idleCount >= this.maxKept || this.#sendsSurplus(key)) {
      connection.close();
      return;
    }
    const idle = this.#idle.get(key);
    if (idle === undefined) this.#idle.set(key, [connection]);
    else idle.push(connection);
    this.#idleCount++;
    this.#sweeper ??= setInterval(() => this.#sweep(), SWEEP_EVERY_MS).unref();
  }

  #noteSurplus(key: string): void {
    this.#surplusSinceMs.set(key, performance.now());
    // Iterates over a copy, because a closed connection leaves the list.
    for (const connection of [...(this.#idle.get(key) ?? [])]) connection.close();
  }

  #sendsSurplus(key: string): boolean {
    const sinceMs = this.#surplusSinceMs.get(key);
    return sinceMs !== undefined && performance.now() - sinceMs < SURPLUS_REMEMBERED_MS;
  }

  #forget(key: string, connection: Connection): void {
    const idle = this.#idle.get(key);
    const index = idle?.indexOf(connection) ?? -1;
    if (index === -1) return;
    idle?.splice(index, 1);
    this.#idleCount--;
  }

  #sweep(): void {
    const idleBeforeMs = performance.now() - MAX_IDLE_MS;
    for (const [key, idle] of this.#idle) {
      const firstToKeep = idle.findIndex(({ freeSinceMs }) => freeSinceMs > idleBeforeMs);
      const closing = idle.splice(0, firstToKeep === -1 ? idle.length : firstToKeep);
      this.#idleCount -= closing.length;
      for (const connection of closing) connection.close();
      if (idle.length === 0) this.#idle.delete(key);
    }
    if (this.#idleCount > 0 || this.#sweeper === null) return;
    clearInterval(this.#sweeper);
    this.#sweeper = null;
  }
}

function keyOf(entityId: string, { address, port, isSecure, serverName }: Peer): string {
  return `${entityId} ${isSecure ? 'tls' : 'tcp'} ${address} ${port} ${serverName ?? ''}`;
}
