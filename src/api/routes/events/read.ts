import { eventListQuerySchema, eventListSchema, eventSchema } from '../../../contract/deliveries.ts';
import { Problem } from '../../../contract/problems.ts';
import { listEvents, readEvent } from '../../../store/deliveries/read.ts';
import { cacheableJson, taggedResponses } from '../../http/responses.ts';
import { type Operation, operation } from '../../operation.ts';

const list = operation({
  method: 'get',
  path: '/events',
  operationId: 'listEvents',
  tag: 'Events',
  summary: 'List accepted events',
  description:
    'Each with its body. A page of more than 25 is refused where its bodies are more than 6.25 MiB together: ask for fewer.',
  permission: 'events:read',
  query: eventListQuerySchema,
  responses: taggedResponses(eventListSchema),
  handle: async ({ context, caller, request, query }) =>
    cacheableJson(request, await listEvents(context.db, caller.entityId, query)),
});

const read = operation({
  method: 'get',
  path: '/events/{eventId}',
  operationId: 'readEvent',
  tag: 'Events',
  summary: 'Read one accepted event',
  permission: 'events:read',
  responses: taggedResponses(eventSchema),
  problems: ['not_found'],
  handle: async ({ context, caller, request, id }) => {
    const event = await readEvent(context.db, caller.entityId, id);
    if (event === null) throw new Problem('not_found', 'There is no such event.');
    return cacheableJson(request, event);
  },
});

export const acceptedEventOperations: readonly Operation[] = [list, read];
