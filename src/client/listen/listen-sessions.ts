import type { z } from 'zod';
import type {
  listenRequestSchema,
  listenResultSchema,
  listenSessionSchema,
  newListenSessionSchema,
} from '../../contract/listen/listen-session.ts';
import type { Body } from '../schema-types.ts';
import type { CallOptions, Transport } from '../transport.ts';
import { readEventStream } from './event-stream.ts';

export type NewListenSession = Body<typeof newListenSessionSchema>;
export type ListenSession = z.output<typeof listenSessionSchema>;
export type ListenRequest = z.output<typeof listenRequestSchema>;
export type ListenResult = z.input<typeof listenResultSchema>;

export type ListenOptions = {
  /** Called when the session has dropped requests because too many waited, with their number in its whole life. */
  readonly onDropped?: (dropped: number) => void;
  /** Called when the service has accepted the connection. */
  readonly onOpen?: () => void;
};

const ONE = '/listen-sessions/{sessionId}';

/** Events for a program without a public URL, as `paybell listen --forward --server` reads them. */
export class ListenSessions {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Not repeated after a lost response: a session without a reader ends by itself. */
  create(session: NewListenSession = {}, options?: CallOptions): Promise<ListenSession> {
    const request = { method: 'POST', path: '/listen-sessions', json: session, isIdempotent: false } as const;
    return this.#transport.call(request, options);
  }

  /**
   * The requests of the session, as they come: send each to the program and report its result. Ends or throws when the
   * connection does. Call it again to continue: unreported requests come again, with the same `deliveryId`. `timeoutMs`
   * limits the time until the response begins.
   */
  async *requests(
    sessionId: string,
    { onDropped, onOpen }: ListenOptions = {},
    options: CallOptions = {},
  ): AsyncGenerator<ListenRequest, void, undefined> {
    const connection = new AbortController();
    const abort = () => connection.abort(options.signal?.reason);
    options.signal?.throwIfAborted();
    options.signal?.addEventListener('abort', abort, { once: true });
    try {
      const request = { method: 'GET', path: `${ONE}/requests`, id: sessionId } as const;
      const response = await this.#transport.openStream(request, connection, options);
      onOpen?.();
      for await (const { event, data } of readEventStream(response, connection)) {
        if (event === 'request') yield JSON.parse(data) as ListenRequest;
        else if (event === 'dropped') onDropped?.((JSON.parse(data) as { dropped: number }).dropped);
      }
    } finally {
      options.signal?.removeEventListener('abort', abort);
      connection.abort();
    }
  }

  /** A result ends its request, whatever it says. */
  report(sessionId: string, result: ListenResult, options?: CallOptions): Promise<void> {
    return this.#transport.call({ method: 'POST', path: `${ONE}/results`, id: sessionId, json: result }, options);
  }

  /** Ends the session at once, with the requests that wait. */
  end(sessionId: string, options?: CallOptions): Promise<void> {
    return this.#transport.call({ method: 'DELETE', path: ONE, id: sessionId, isDeletion: true }, options);
  }
}
