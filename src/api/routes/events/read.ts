import { type Config, sentEvents } from '../../../config.ts';
import { eventListQuerySchema, eventListSchema, eventSchema } from '../../../contract/events/accepted-event.ts';
import { withKnownEvents } from '../../../contract/list-query.ts';
import { listEvents, readEvent } from '../../../store/events/read.ts';
import { found } from '../../http/found.ts';
import { cacheableJson, taggedResponses } from '../../http/responses.ts';
import { type Operation, operation } from '../../operation.ts';

const list = (events: readonly string[]) =>
  operation({
    method: 'get',
    path: '/events',
    operationId: 'listEvents',
    tag: 'Events',
    summary: 'List events',
    description:
      'Lists the accepted events of the entity with their bodies. A page of more than 25 events is rejected if its bodies ' +
      'exceed 6.25 MiB together.',
    permission: 'events:read',
    query: withKnownEvents(eventListQuerySchema, events),
    responses: taggedResponses(eventListSchema),
    handle: async ({ context, caller, request, query }) =>
      cacheableJson(request, await listEvents(context.db, caller.entityId, query)),
  });

const read = operation({
  method: 'get',
  path: '/events/{eventId}',
  operationId: 'readEvent',
  tag: 'Events',
  summary: 'Retrieve an event',
  permission: 'events:read',
  responses: taggedResponses(eventSchema),
  problems: ['not_found'],
  handle: async ({ context, caller, request, id }) =>
    cacheableJson(request, found(await readEvent(context.db, caller.entityId, id), 'event')),
});

export function acceptedEventOperations(config: Config): Operation[] {
  return [list(sentEvents(config)), read];
}
