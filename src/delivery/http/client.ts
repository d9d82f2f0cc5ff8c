import { type Peer, StaleConnectionError } from './connection.ts';
import { Connections } from './connection-pool.ts';
import type { Deadline } from './deadline.ts';
import type { Answer } from './response-parser.ts';

/** One post, all that goes over the wire: nothing is looked up, followed or added any more. */
export type Call = {
  readonly peer: Peer;
  /** From the request line to the empty line. */
  readonly head: string;
  readonly body: string | Uint8Array;
};

/** Posts and reads the answer. A test puts a recorder in its place, and so sees what would be dialled. */
export type Dial = (call: Call, deadline: Deadline) => Promise<Answer>;

/**
 * HTTP/1.1 over sockets of our own. Bun's `fetch` keeps 64 idle connections and no more, so that a post to the
 * sixty-fifth opens a new one, and wakes a second thread for each: together that cost more than all else of a delivery.
 */
export function createDial(trustedCa?: readonly string[]): Dial {
  const connections = new Connections(trustedCa);
  return async ({ peer, head, body }, deadline) => {
    const known = connections.reuse(peer);
    if (known !== null) {
      try {
        return await known.post(head, body, deadline);
      } catch (error) {
        // Sent again at once, and with the same id: the receiver had closed the connection without a word.
        if (!(error instanceof StaleConnectionError)) throw error;
      }
    }
    const connection = await connections.open(peer, deadline);
    return connection.post(head, body, deadline);
  };
}
