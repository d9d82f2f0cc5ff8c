import { connect as connectPlainly, type Socket } from 'node:net';
import { connect as connectSecurely, type SecureContext } from 'node:tls';
import type { Deadline } from './deadline.ts';
import { AttemptFailure, failureOf } from './errors.ts';
import { type Answer, ResponseParser } from './response-parser.ts';

/** Where a connection leads. */
export type Peer = {
  /** Already checked: nothing is looked up here. */
  readonly address: string;
  readonly port: number;
  readonly isSecure: boolean;
  /** The name to ask for and to verify over TLS; null where the address itself is what was asked for. */
  readonly serverName: string | null;
};

const CLOSED = new AttemptFailure('reset', 'ECONNRESET');

/** Who is told what becomes of a connection. */
export type Owner = {
  /** Ready for another post. */
  readonly onFree: (connection: Connection) => void;
  readonly onClosed: (connection: Connection) => void;
};

/** Rejects when there is no connection to be had, or none that can be trusted: then not a byte of a post was sent. */
export function openConnection(
  peer: Peer,
  context: SecureContext | undefined,
  owner: Owner,
  deadline: Deadline,
): Promise<Connection> {
  const { promise, resolve, reject } = Promise.withResolvers<Connection>();
  const socket = openSocket(peer, context);
  const event = peer.isSecure ? 'secureConnect' : 'connect';
  const stopListening = () => {
    deadline.unwatch();
    socket.off(event, onReady).off('close', onClose).off('error', onError);
  };
  const fail = (error: unknown) => {
    stopListening();
    // Whatever else it may have to say.
    socket.on('error', () => undefined).destroy();
    reject(error);
  };
  const onReady = () => {
    stopListening();
    // At once: an error that nobody listens to would end the process.
    resolve(new Connection(socket, owner));
  };
  const onError = (error: Error) => fail(error);
  const onClose = () => fail(CLOSED);
  socket.on(event, onReady).on('close', onClose).on('error', onError);
  deadline.watch(fail);
  return promise;
}

function openSocket({ address: host, port, isSecure, serverName }: Peer, context: SecureContext | undefined): Socket {
  const socket = isSecure
    ? connectSecurely({
        host,
        port,
        servername: serverName ?? '',
        // Said aloud, since NODE_TLS_REJECT_UNAUTHORIZED=0 in the environment would switch verification off.
        rejectUnauthorized: true,
        ...(context && { secureContext: context }),
      })
    : connectPlainly({ host, port });
  socket.setNoDelay(true);
  // The deadline of the post keeps the process, and nothing else has to.
  return socket.unref();
}

/** The receiver closed a connection that had been idle before it saw the post, or at least before it said a word. */
export class StaleConnectionError extends Error {}

type Exchange = {
  readonly reader: ResponseParser;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
  readonly deadline: Deadline;
};

/** One post at a time, and each answer read to its end. */
export class Connection {
  #exchange: Exchange | null = null;
  #posts = 0;
  freeSinceMs = 0;
  readonly #onLate = (failure: AttemptFailure) => this.#fail(failure);

  constructor(
    private readonly socket: Socket,
    private readonly owner: Owner,
  ) {
    socket.on('data', (bytes: Buffer) => this.#read(bytes));
    socket.on('end', () => this.#end());
    socket.on('error', (error) => this.#break(error));
    socket.on('close', () => {
      this.owner.onClosed(this);
      this.#break(CLOSED);
    });
  }

  post(head: string, body: string | Uint8Array, deadline: Deadline): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#posts++;
      this.#exchange = { reader: new ResponseParser(), resolve, reject, deadline };
      deadline.watch(this.#onLate);
      if (deadline.isOver) return;
      if (this.socket.destroyed) this.#break(CLOSED);
      else this.#write(head, body);
    });
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

  close(): void {
    this.socket.destroy();
  }

  #read(bytes: Buffer): void {
    // Without a post under way nobody has asked for anything, and what comes next cannot be trusted either.
    if (this.#exchange === null) {
      this.close();
      return;
    }
    try {
      this.#finish(this.#exchange.reader.read(bytes));
    } catch (error) {
      this.#fail(error);
    }
  }

  #end(): void {
    if (this.#exchange === null) this.close();
    else if (!this.#exchange.reader.hasBegun) this.#break(CLOSED);
    else {
      try {
        this.#finish(this.#exchange.reader.end());
      } catch (error) {
        this.#fail(error);
      }
    }
  }

  /** It was broken off: where that happened to one that had been idle, the receiver may never have seen the post. */
  #break(error: unknown): void {
    const isStale = this.#posts > 1 && this.#exchange?.reader.hasBegun === false && failureOf(error).error === 'reset';
    this.#fail(isStale ? new StaleConnectionError() : error);
  }

  #fail(error: unknown): void {
    const exchange = this.#release();
    this.close();
    exchange?.reject(error);
  }

  #finish(answer: Answer | null): void {
    if (answer === null) return;
    const exchange = this.#release();
    // An answer may come before all of the post is sent, and then the rest of it is still in the way.
    if (exchange?.reader.isReusable && this.socket.writableLength === 0) {
      this.freeSinceMs = performance.now();
      this.owner.onFree(this);
    } else this.close();
    exchange?.resolve(answer);
  }

  #release(): Exchange | null {
    const exchange = this.#exchange;
    this.#exchange = null;
    exchange?.deadline.unwatch();
    return exchange;
  }
}
