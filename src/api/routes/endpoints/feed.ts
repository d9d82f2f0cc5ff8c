import { type Feed, type FeedQuery, feedQuerySchema, feedSchema } from '../../../contract/endpoints/feed.ts';
import { type InputError, invalidRequest } from '../../../contract/problems.ts';
import { endpointNo } from '../../../domain/ids.ts';
import type { Permission } from '../../../domain/keys/api-keys.ts';
import type { EndpointKey, FeedPage } from '../../../store/endpoints/read-feed.ts';
import { requireValidKey } from '../../auth/authenticate.ts';
import type { ApiContext, Caller } from '../../context.ts';
import type { EventSource, ServerSentEvent } from '../../http/event-stream.ts';
import { found } from '../../http/found.ts';
import { cacheableJson, taggedResponses } from '../../http/responses.ts';
import { type Operation, operation } from '../../operation.ts';
import { openFeedStream } from './open-feed-stream.ts';

const PERMISSION: Permission = 'deliveries:read';

/** The time within which a waiting request notices that its key was revoked. */
const CHECK_KEY_EVERY_MS = 3_000;

/** A stream holds the entries that its client has not taken yet: few of them, because there may be thousands of streams. */
const ENTRIES_PER_READ = 10;

const tagged = taggedResponses(feedSchema);

const EXAMPLE =
  'event: delivery\nid: 42\ndata: {"sequence":42,"deliveryId":"dlv_0199c2a6e0b17d3c8a54f1e2d3c4b5a6",…}\n\n';

const read = operation({
  method: 'get',
  path: '/endpoints/{endpointId}/feed',
  operationId: 'readFeed',
  tag: 'Deliveries',
  summary: 'Read the feed of an endpoint',
  description:
    'Returns the deliveries of an endpoint by their numbers, with the exact bodies: every number above `after`, whatever ' +
    'became of its delivery. `wait` waits for the next number. With `accept: text/event-stream` the same entries come as ' +
    'server-sent events, without an end: `delivery` for each entry, and `removed` (`{firstSequence, lastSequence}`) for ' +
    'numbers that retention has deleted. `id` is the number, and `last-event-id` takes the place of `after`.',
  permission: PERMISSION,
  query: feedQuerySchema,
  responses: { ...tagged, 200: { ...tagged[200], eventStream: EXAMPLE } },
  problems: ['not_found'],
  handle: async ({ context, caller, request, id, query, keepOpen }) => {
    const isStream = /\btext\/event-stream\b/i.test(request.headers.get('accept') ?? '');
    const endpoint = { entityId: caller.entityId, endpointNo: endpointNo(id) ?? -1 };
    const after = positionOf(request, query, isStream);
    const limit = isStream ? ENTRIES_PER_READ : query.limit;
    const first = found(await context.feeds.read(endpoint, { after, limit }), 'endpoint');
    requireReached(after, first.feed, query);
    if (isStream) {
      return openFeedStream({ context, caller, request, keepOpen }, PERMISSION, entriesOf(context, endpoint, after));
    }
    // If retention has removed numbers, a page can be empty although no wait is needed.
    const isWaiting = query.wait > 0 && first.feed.lastSequence <= after;
    return cacheableJson(
      request,
      isWaiting ? await waitForNext(context, caller, request, endpoint, first, { ...query, after }) : first.feed,
    );
  },
});

/** The number after which the client continues: `after`, or the header that a browser sends when it connects again. */
function positionOf(request: Request, { after, wait }: FeedQuery, isStream: boolean): number {
  const header = request.headers.get('last-event-id');
  const errors: InputError[] = [];
  if (header !== null && !/^[0-9]{1,16}$/.test(header)) {
    errors.push({ in: 'header', name: 'last-event-id', message: 'must be the id of an event of this feed' });
  } else if (header !== null && after !== undefined && Number(header) !== after) {
    errors.push({ in: 'query', name: 'after', message: 'must be equal to the header last-event-id, or be left out' });
  }
  if (isStream && wait > 0) errors.push({ in: 'query', name: 'wait', message: 'must be left out for a stream' });
  if (errors.length > 0) throw invalidRequest(errors);
  return after ?? Number(header ?? 0);
}

/** Rejects a position that the endpoint has not reached: it comes from another endpoint or another database. */
function requireReached(after: number, { lastSequence }: Feed, query: FeedQuery): void {
  if (after <= lastSequence) return;
  const message = `must be at most ${lastSequence}, the last number of this endpoint`;
  throw invalidRequest([
    query.after === undefined
      ? { in: 'header', name: 'last-event-id', message }
      : { in: 'query', name: 'after', message },
  ]);
}

async function waitForNext(
  context: ApiContext,
  caller: Caller,
  request: Request,
  endpoint: EndpointKey,
  first: FeedPage,
  { after, limit, wait }: { after: number; limit: number; wait: number },
): Promise<Feed> {
  const { feeds } = context;
  const leave = feeds.enter(caller.entityId);
  const endMs = performance.now() + wait * 1_000;
  try {
    let { feed, postUrl } = first;
    for (let leftMs = wait * 1_000; feed.lastSequence <= after && leftMs > 0; leftMs = endMs - performance.now()) {
      await feeds.watch.wait({ ...endpoint, postUrl }, after, Math.min(leftMs, CHECK_KEY_EVERY_MS), request.signal);
      if (request.signal.aborted || feeds.watch.isClosed) break;
      await requireValidKey(context, caller, request.headers, PERMISSION);
      ({ feed, postUrl } = found(await feeds.read(endpoint, { after, limit }), 'endpoint'));
    }
    return feed;
  } finally {
    leave();
  }
}

/** The entries of a feed. Ends only with the signal. */
function entriesOf({ feeds }: ApiContext, endpoint: EndpointKey, start: number): EventSource {
  return async function* (signal) {
    for (let after = start; !signal.aborted; ) {
      const page = await feeds.read(endpoint, { after, limit: ENTRIES_PER_READ });
      if (page === null) return;
      const { feed, postUrl } = page;
      if (feed.firstSequence > after + 1 && feed.lastSequence > after) {
        const last = feed.firstSequence - 1;
        yield removedEvent(after + 1, last);
        after = last;
      }
      for (const entry of feed.deliveries) {
        after = entry.sequence;
        yield { event: 'delivery', id: String(entry.sequence), data: JSON.stringify(entry) };
      }
      if (feed.deliveries.length === 0) {
        await feeds.watch.wait({ ...endpoint, postUrl }, after, Number.POSITIVE_INFINITY, signal);
      }
    }
  };
}

function removedEvent(firstSequence: number, lastSequence: number): ServerSentEvent {
  return { event: 'removed', id: String(lastSequence), data: JSON.stringify({ firstSequence, lastSequence }) };
}

export const feedOperations: readonly Operation[] = [read];
