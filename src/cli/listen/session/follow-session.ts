import { sleep } from '../../../client/deadline.ts';
import { ConnectionError, ProblemError, TimeLimitError } from '../../../client/errors.ts';
import type { ListenRequest, ListenSession } from '../../../client/listen/listen-sessions.ts';
import type { Paybell } from '../../../client/paybell.ts';

/** A session outlives its reader by 60 s, which is enough for several of these waits. */
const FIRST_WAIT_MS = 250;
const MAX_WAIT_MS = 5_000;

export type Following = {
  readonly client: Pick<Paybell, 'listenSessions'>;
  readonly signal: AbortSignal;
  /** Called if the server has ended the last session. */
  readonly createSession: () => Promise<ListenSession>;
  /** Resolves when the next request may come. */
  readonly onRequest: (sessionId: string, request: ListenRequest) => Promise<void>;
  /** Called with the number of requests dropped since the last call. */
  readonly onDropped: (dropped: number) => void;
  /** Called once for each loss of the connection. */
  readonly onLost: (reason: string) => void;
  readonly onFound: () => void;
};

/**
 * Reads the requests of a session. Connects again whenever the connection ends, and continues from its position. When
 * the signal aborts, returns the open session.
 */
export async function followSession(first: ListenSession, following: Following): Promise<ListenSession | null> {
  const { client, signal, createSession, onRequest, onDropped, onLost, onFound } = following;
  let session: ListenSession | null = first;
  let attempts = 0;
  let reported = 0;
  const noteDropped = (dropped: number) => {
    if (dropped > reported) onDropped(dropped - reported);
    reported = dropped;
  };
  const noteOpen = () => {
    if (attempts > 0) onFound();
    attempts = 0;
  };
  while (!signal.aborted) {
    let reason = 'the server ended the connection';
    try {
      session ??= await createSession();
      const { sessionId } = session;
      const requests = client.listenSessions.requests(
        sessionId,
        { onDropped: noteDropped, onOpen: noteOpen },
        { signal },
      );
      for await (const request of requests) await onRequest(sessionId, request);
    } catch (error) {
      if (signal.aborted) break;
      if (error instanceof ProblemError && error.code === 'not_found' && session !== null) {
        session = null;
        reported = 0;
        continue;
      }
      if (!mayPass(error)) throw error;
      reason = error.message;
    }
    if (attempts === 0 && !signal.aborted) onLost(reason);
    await sleep(waitMs(attempts++), signal);
  }
  return session;
}

/** Whether the server may accept the same request later. */
function mayPass(error: unknown): error is Error {
  if (error instanceof ConnectionError || error instanceof TimeLimitError) return true;
  return error instanceof ProblemError && (error.status === 429 || error.status >= 500);
}

/** With jitter, so that many clients do not return at the same moment. */
function waitMs(attempts: number): number {
  return Math.min(FIRST_WAIT_MS * 2 ** attempts, MAX_WAIT_MS) * (0.5 + Math.random() / 2);
}
