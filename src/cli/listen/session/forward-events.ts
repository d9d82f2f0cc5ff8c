import { PaybellError } from '../../../client/errors.ts';
import type { ListenRequest, ListenSession, NewListenSession } from '../../../client/listen/listen-sessions.ts';
import type { Paybell } from '../../../client/paybell.ts';
import { showCount } from '../../../domain/errors.ts';
import { currentConnection } from '../../server/connection.ts';
import { clientFor } from '../../server/session.ts';
import { paint, printable, printJson, printLine, printOnStderr, printWarning } from '../../terminal/output.ts';
import { terminal } from '../../terminal/terminal.ts';
import { followSession } from './follow-session.ts';
import { type Forwarded, Forwarder } from './forwarder.ts';
import { requestFields, showForwarded } from './show-forwarded.ts';

/** `listen --forward --server`: events of a server, sent to a program on this machine, without a public URL. */

export type ForwardOptions = {
  readonly server: string;
  readonly entity?: string;
  readonly profile?: string;
  readonly forward: string;
  readonly count?: number;
  readonly json: boolean;
  readonly wanted: NewListenSession;
};

/** Requests that the program may have at a time. */
const CONCURRENCY = 10;
/** Time limits after a stop: for requests that the program has, and then for the end of the session. */
const LAST_REQUESTS_MS = 2_000;
const END_TIMEOUT_MS = 3_000;

export async function forwardEvents(options: ForwardOptions): Promise<void> {
  const stopped = terminal().nextStopSignal();
  const connection = currentConnection(options);
  const client = clientFor(connection);
  const stop = new AbortController();
  const total = { answered: 0, accepted: 0, reported: 0 };
  const forwarder = new Forwarder({
    client,
    target: options.forward,
    onResult: (request, result) => {
      total.answered++;
      if (isSuccess(result)) total.accepted++;
      if (options.json) printJson({ type: 'request', ...requestFields(request), ...result });
      else printLine(showForwarded(request, result));
    },
  });
  const running = new Set<Promise<void>>();
  const onRequest = async (sessionId: string, request: ListenRequest) => {
    const forwarding = forwarder.forward(sessionId, request).then(
      () => {
        if (++total.reported === options.count) stop.abort();
      },
      // The server hands the request out again, and its result is then reported.
      (error: unknown) => {
        if (!(error instanceof PaybellError)) throw error;
      },
    );
    running.add(forwarding);
    void forwarding.finally(() => running.delete(forwarding));
    if (running.size >= CONCURRENCY) await Promise.race(running);
  };
  const session = await createSession(client, options, false);
  const following = followSession(session, {
    client,
    signal: stop.signal,
    createSession: () => createSession(client, options, true),
    onRequest,
    onDropped: (dropped) =>
      printWarning(`${showCount(dropped, 'request was', 'requests were')} dropped: too many waited.`),
    onLost: (reason) => printWarning(`the connection is lost (${printable(reason)}); connecting again`),
    onFound: () => say(options, paint('Connected again.', 'dim')),
  });
  void stopped.then(() => stop.abort());
  const last = await following;
  await Promise.race([Promise.allSettled(running), Bun.sleep(LAST_REQUESTS_MS)]);
  if (last !== null) await endSession(client, last);
  say(options, paint(`${showCount(total.answered, 'request')}, ${total.accepted} accepted.`, 'dim'));
}

async function createSession(client: Paybell, options: ForwardOptions, isAgain: boolean): Promise<ListenSession> {
  const session = await client.listenSessions.create(options.wanted);
  if (isAgain)
    printWarning('the session had ended; events since then were not forwarded. The new one has a new secret.');
  if (options.json) printJson({ type: 'session', ...session });
  else {
    printLine(`Forwarding the events of ${options.server} to ${paint(options.forward, 'cyan')}; stop with Ctrl-C.`);
    printLine(`The signing secret of this session: ${paint(session.secret, 'bold')}`);
  }
  return session;
}

/** If the server cannot be reached, the session ends by itself. */
async function endSession(client: Paybell, { sessionId }: ListenSession): Promise<void> {
  try {
    await client.listenSessions.end(sessionId, { retries: 0, timeoutMs: END_TIMEOUT_MS });
  } catch (error) {
    if (!(error instanceof PaybellError)) throw error;
  }
}

function isSuccess({ statusCode = 0 }: Forwarded): boolean {
  return statusCode >= 200 && statusCode < 300;
}

/** With --json, standard output has only JSON. */
function say({ json }: ForwardOptions, text: string): void {
  if (json) printOnStderr(text);
  else printLine(text);
}
