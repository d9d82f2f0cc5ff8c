import type { Permission } from '../../../domain/keys/api-keys.ts';
import type { ApiContext, Caller } from '../../context.ts';
import { type EventSource, readerOf } from '../../http/event-stream.ts';

export type StreamInput = {
  readonly context: ApiContext;
  readonly caller: Caller;
  readonly request: Request;
  readonly keepOpen: () => void;
};

/** A stream that counts against `FEED_LIMIT` while it is open. */
export function openFeedStream(
  { context: { feeds, streams, config }, caller, request, keepOpen }: StreamInput,
  permission: Permission,
  source: EventSource,
): Response {
  const leave = feeds.enter(caller.entityId);
  try {
    const response = streams.open({
      request,
      keepOpen,
      reader: readerOf(request, caller, permission),
      limit: { what: 'feeds', max: config.FEED_LIMIT },
      source: (signal) => {
        signal.addEventListener('abort', leave, { once: true });
        return source(signal);
      },
    });
    // A HEAD request opens no stream.
    if (request.method === 'HEAD') leave();
    return response;
  } catch (error) {
    leave();
    throw error;
  }
}
