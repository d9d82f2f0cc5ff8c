import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls, type SecureContext } from 'node:tls';
import { shortageIn } from '../local-shortage.ts';
import type { Deadline } from './deadline.ts';
import { AttemptFailure, failureFrom, failureOf } from './errors.ts';
import type { EgressTunnels } from './proxy.ts';
import { type HttpResponse, ResponseParser } from './response-parser.ts';

/** The other end of a connection. */
export type Peer = {
  /** An address that passed the SSRF guard: nothing is resolved here. */
  readonly address: string;
  readonly port: number;
  readonly isSecure: boolean;
  /** The name for SNI and for the certificate; null if the URL has an address in place of a name. */
  readonly serverName: string | null;
};

/** How connections leave this machine. */
export type Route = {
  /** The TLS context: trusted certificates, and the client certificate. */
  readonly context: SecureContext | undefined;
  readonly proxy: EgressTunnels | null;
  readonly sourceAddress: string | null;
};

const CLOSED = new AttemptFailure('reset', 'ECONNRESET');

export type ConnectionOwner = {
  /** The connection is ready for another request. */
  readonly onFree: (connection: Connection) => void;
  /** Bytes arrived that do not belong to a response. */
  readonly onSurplus: () => void;
  readonly onClosed: (connection: Connection) => void;
};

/** Rejects if no trusted connection can be made. Nothing of a request was sent in that case. */
export function openConnection(
  peer: Peer,
  route: Route,
  owner: ConnectionOwner,
  deadline: Deadline,
): Promise<Connection> {
  if (route.proxy === null) return whenReady(openSocket(peer, route), peer, route, owner, deadline);
  return route.proxy
    .open(peer, deadline)
    .then((tunnel) =>
      peer.isSecure
        ? whenReady(secure(peer, route, { socket: tunnel }), peer, route, owner, deadline)
        : new Connection(tunnel, owner),
    );
}

function whenReady(
  socket: Socket,
  { isSecure, address }: Peer,
  { sourceAddress, proxy }: Route,
  owner: ConnectionOwner,
  deadline: Deadline,
): Promise<Connection> {
  const { promise, resolve, reject } = Promise.withResolvers<Connection>();
  const event = isSecure ? 'secureConnect' : 'connect';
  const stopListening = () => {
    deadline.unwatch();
    socket.off(event, onReady).off('close', onClose).off('error', onError);
  };
  const fail = (error: unknown) => {
    stopListening();
    // Further errors of the socket do not matter, but an error without a listener would end the process.
    socket.on('error', () => undefined).destroy();
    reject(error);
  };
  const onReady = () => {
    stopListening();
    // Created here, so that the socket is never without a listener for its errors.
    resolve(new Connection(socket, owner));
  };
  const onError = (error: Error) => {
    const failure = failureFrom(error, sourceAddress);
    // A tunnel is open already, and the address of EGRESS_BIND has a separate error.
    const mayBeShort = proxy === null && failure.error !== 'source_address';
    fail((mayBeShort ? shortageIn(error, address) : null) ?? failure);
  };
  const onClose = () => fail(CLOSED);
  socket.on(event, onReady).on('close', onClose).on('error', onError);
  deadline.watch(fail);
  return promise;
}

function openSocket(peer: Peer, route: Route): Socket {
  const { address: host, port, isSecure } = peer;
  const { sourceAddress } = route;
  const from = sourceAddress === null ? { port } : { port, localAddress: sourceAddress };
  const socket = isSecure ? secure(peer, route, from) : connectTcp({ host, ...from });
  socket.setNoDelay(true);
  // The deadline of the request keeps the process alive; an idle connection must not.
  return socket.unref();
}

type Transport = { port: number; localAddress?: string } | { socket: Socket };

function secure({ address: host, serverName }: Peer, { context }: Route, transport: Transport): Socket {
  return connectTls({
    // Set even over a tunnel: a receiver without a name needs a certificate for its address, and TLS compares it with `host`.
    host,
    ...transport,
    servername: serverName ?? '',
    // Explicit, because NODE_TLS_REJECT_UNAUTHORIZED=0 in the environment would turn verification off.
    rejectUnauthorized: true,
    ...(context && { secureContext: context }),
  });
}

/** The receiver closed a reused connection before it responded, and may never have seen the request. */
export class StaleConnectionError extends Error {}

type Exchange = {
  readonly parser: ResponseParser;
  readonly resolve: (response: HttpResponse) => void;
  readonly reject: (error: unknown) => void;
  readonly deadline: Deadline;
};

/** Serves one request at a time and reads each response to its end. */
export class Connection {
  #exchange: Exchange | null = null;
  #requests = 0;
  freeSinceMs = 0;
  readonly #onTimeout = (failure: AttemptFailure) => this.#fail(failure);

  constructor(
    private readonly socket: Socket,
    private readonly owner: ConnectionOwner,
  ) {
    socket.on('data', (bytes: Buffer) => this.#read(bytes));
    socket.on('end', () => this.#end());
    socket.on('error', (error) => this.#break(error));
    socket.on('close', () => {
      this.owner.onClosed(this);
      this.#break(CLOSED);
    });
  }

  send(head: string, body: string | Uint8Array, deadline: Deadline): Promise<HttpResponse> {
    return new Promise((resolve, reject) => {
      this.#requests++;
      this.#exchange = { parser: new ResponseParser(), resolve, reject, deadline };
      deadline.watch(this.#onTimeout);
      if (deadline.isReached) return;
      if (this.socket.destroyed) this.#break(CLOSED);
      else this.#write(head, body);
    });
  }

  close(): void {
    this.socket.destroy();
  }

  #write(head: string, body: string | Uint8Array): void {
    if (typeof body === 'string') {
      this.socket.write(head + body);
      return;
    }
    this.socket.cork();
    this.socket.write(head);
    this.socket.write(body);
    this.socket.uncork();
  }

  #read(bytes: Buffer): void {
    // After bytes that answer no request, the connection cannot be trusted.
    if (this.#exchange === null) {
      this.close();
      this.owner.onSurplus();
      return;
    }
    try {
      this.#finish(this.#exchange.parser.read(bytes));
    } catch (error) {
      this.#fail(error);
    }
  }

  #end(): void {
    if (this.#exchange === null) this.close();
    else if (!this.#exchange.parser.hasBegun) this.#break(CLOSED);
    else {
      try {
        this.#finish(this.#exchange.parser.end());
      } catch (error) {
        this.#fail(error);
      }
    }
  }

  /** The connection broke. If it had been used before, the receiver may have closed it before the request arrived. */
  #break(error: unknown): void {
    const isReused = this.#requests > 1;
    const isStale = isReused && this.#exchange?.parser.hasBegun === false && failureOf(error).error === 'reset';
    this.#fail(isStale ? new StaleConnectionError() : error);
  }

  #fail(error: unknown): void {
    const exchange = this.#release();
    this.close();
    exchange?.reject(error);
  }

  #finish(response: HttpResponse | null): void {
    if (response === null) return;
    const exchange = this.#release();
    // A response may come before the request is completely sent. The rest of the request would then precede the next
    // request.
    if (exchange?.parser.isReusable && this.socket.writableLength === 0) {
      this.freeSinceMs = performance.now();
      this.owner.onFree(this);
    } else this.close();
    if (exchange?.parser.hasSurplus) this.owner.onSurplus();
    exchange?.resolve(response);
  }

  #release(): Exchange | null {
    const exchange = this.#exchange;
    this.#exchange = null;
    exchange?.deadline.unwatch();
    return exchange;
  }
}
