import type { Config } from '../../../config.ts';
import type { ListenRequest } from '../../../contract/listen/listen-session.ts';
import { bodySignature, parseKeys, type SigningKeys } from '../../../domain/signing.ts';
import type { Logger } from '../../../log.ts';
import { type HandedRequest, hasRequests, takeRequests } from '../../../store/listen/requests.ts';
import { connectReader, readDropped, renewReader, type SessionKey } from '../../../store/listen/sessions.ts';
import { randomBytes } from '../../../store/new-id.ts';
import { version } from '../../../version.ts';
import { type ApiContext, nowS } from '../../context.ts';
import type { EventSource } from '../../http/event-stream.ts';

/** The stream of a listen session: its requests, signed, from the moment that this connection is its reader. */

/** Often enough for the minute after which a session without a reader ends. */
const RENEW_EVERY_MS = 10_000;
/** Limit on the requests that one read takes. More requests would wait in this process instead of in the database. */
const REQUESTS_PER_READ = 10;

export function requestsOf(context: ApiContext, entityId: string, session: SessionKey): EventSource {
  const { db, box, log, listeners } = context;
  return async function* (signal) {
    const reader = db.dialect.bindUuid(randomBytes(16).toHex());
    const secret = await connectReader(db, box, session, reader);
    if (secret === null) return;
    // Wakes the earlier reader, which then ends.
    listeners.wake(entityId);
    const sign = signerOf(context, secret);
    const listener = listeners.enter(entityId);
    // Renews in a timer, because the loop below stands still while the client does not read.
    const renewal = setInterval(() => void renew(db, log, session, reader), RENEW_EVERY_MS);
    try {
      for (let reported = 0; !signal.aborted; ) {
        const dropped = await readDropped(db, session, reader);
        if (dropped === null) return;
        if (dropped > reported) yield { event: 'dropped', data: JSON.stringify({ dropped }) };
        reported = dropped;
        const requests = (await hasRequests(db, session, reader))
          ? await takeRequests(db, session, reader, REQUESTS_PER_READ)
          : [];
        if (requests === null) return;
        for (const request of requests) {
          yield { event: 'request', id: request.deliveryId, data: JSON.stringify(sign(request)) };
        }
        if (requests.length === 0) await listener.wait(signal);
      }
    } finally {
      listeners.leave(entityId, listener);
      clearInterval(renewal);
    }
  };
}

async function renew(db: ApiContext['db'], log: Logger, session: SessionKey, reader: string | Uint8Array) {
  try {
    await renewReader(db, session, reader);
  } catch (error) {
    log.warn({ err: error }, 'a listen session could not be renewed; the next attempt is in ten seconds');
  }
}

type Sign = (request: HandedRequest) => ListenRequest;

/** Uses the headers of a delivery without the endpoint's headers, and signs only with the session's secret. */
function signerOf(context: ApiContext, secret: string): Sign {
  const { config } = context;
  const keys = parseKeys([secret], [], config.BODY_SIGNATURE_KEY === 'text' ? secret : undefined);
  return ({ deliveryId, token, attempt, eventId, body }) => ({
    deliveryId,
    token,
    attempt,
    headers: {
      'user-agent': `Paybell/${version}`,
      ...context.headersFor({ deliveryId, eventId, body, keys, nowS: nowS(context) }),
      ...bodyHeader(config, keys, body),
    },
    body,
  });
}

function bodyHeader({ BODY_SIGNATURE_HEADER: name }: Config, { bodyKey }: SigningKeys, body: string) {
  return name === undefined || bodyKey === null ? {} : { [name]: bodySignature(bodyKey, body) };
}
