import { type Config, knownEvents } from '../../../config.ts';
import {
  type ListenRules,
  listenResultSchema,
  listenSessionSchema,
  newListenSessionSchema,
} from '../../../contract/listen/listen-session.ts';
import { Problem } from '../../../contract/problems.ts';
import { reportResult } from '../../../store/listen/requests.ts';
import {
  createSession,
  endSession,
  type SessionKey,
  sessionExists,
  sessionKey,
} from '../../../store/listen/sessions.ts';
import type { ApiContext, Caller } from '../../context.ts';
import { found, missing } from '../../http/found.ts';
import { json } from '../../http/responses.ts';
import { type Operation, operation } from '../../operation.ts';
import { openFeedStream } from '../endpoints/open-feed-stream.ts';
import { requestsOf } from './request-stream.ts';

/** Operations on listen sessions: `paybell listen --forward --server` is their client. */
export function listenOperations(config: Config): Operation[] {
  return [create({ events: knownEvents(config) }), readRequests, report, end];
}

/** No cache may store secrets. */
const UNCACHED = { 'cache-control': 'no-store' };

function create(rules: ListenRules): Operation {
  return operation({
    method: 'post',
    path: '/listen-sessions',
    operationId: 'createListenSession',
    tag: 'Listen sessions',
    summary: 'Create a listen session',
    description:
      'Hands every event that is accepted from now on, and that matches, to a program without a public URL: the client reads ' +
      'the requests, sends them to the program and reports the results. Sessions are not webhooks: lists and counts do not ' +
      'include them, and their requests are not retried. A session keeps up to 1,000 unreported requests, drops the oldest ' +
      'beyond that, and ends 60 seconds after its last reader. An entity has at most 5.',
    permission: 'deliveries:write',
    body: newListenSessionSchema(rules),
    responses: { 201: { description: 'Created', schema: listenSessionSchema } },
    problems: ['conflict'],
    handle: async ({ context: { db, box }, caller, body: { events = [], networkIds = [], filter = null } }) => {
      const wanted = {
        events: events.length === 0 ? null : events,
        networkIds: networkIds.length === 0 ? null : networkIds,
        filter,
      };
      return json(201, await createSession(db, box, caller.entityId, wanted), UNCACHED);
    },
  });
}

const EXAMPLE =
  'event: request\nid: dlv_0199c2a6e0b17d3c8a54f1e2d3c40001\ndata: {"deliveryId":"dlv_0199c2a6e0b17d3c8a54f1e2d3c40001",…}\n\n' +
  'event: dropped\ndata: {"dropped":12}\n\n';

const readRequests = operation({
  method: 'get',
  path: '/listen-sessions/{sessionId}/requests',
  operationId: 'readListenRequests',
  tag: 'Listen sessions',
  summary: 'Read the requests of a listen session',
  description:
    'Server-sent events, without an end. `request` is a request to be sent to the program, oldest first: `{deliveryId, token, ' +
    'attempt, headers, body}`, where `headers` has the signature and `attempt` counts how often it was handed out. ' +
    '`dropped` says how many requests the session has dropped in its life because too many waited. The newest connection is ' +
    'the reader, and an earlier one ends: requests that it got and did not report are handed out again, with the same ' +
    '`deliveryId` and another `token`. So is a request that was not reported for two minutes.',
  permission: 'deliveries:read',
  responses: { 200: { description: 'Ok', eventStream: EXAMPLE } },
  problems: ['not_found'],
  handle: async ({ context, caller, request, id, keepOpen }) => {
    const session = await foundSession(context, caller, id);
    const source = requestsOf(context, caller.entityId, session);
    return openFeedStream({ context, caller, request, keepOpen }, 'deliveries:read', source);
  },
});

const report = operation({
  method: 'post',
  path: '/listen-sessions/{sessionId}/results',
  operationId: 'reportListenResult',
  tag: 'Listen sessions',
  summary: 'Report the result of a request',
  description:
    'Ends a request, whatever its result. A token that is used, expired or of another session is 409; a request that the ' +
    'session does not have, such as the delivery of a webhook, is 404.',
  permission: 'deliveries:write',
  body: listenResultSchema,
  responses: { 204: { description: 'Reported' } },
  problems: ['not_found', 'conflict'],
  handle: async ({ context, caller, id, body }) => {
    const session = keyOf(context, caller, id);
    switch (await reportResult(context.db, session, body)) {
      case 'reported':
        return new Response(null, { status: 204 });
      case 'no session':
        throw missing('listen session');
      case 'no request':
        throw new Problem('not_found', 'The session has no request with this deliveryId.');
      case 'used':
        throw new Problem('conflict', 'The token is used, has expired, or belongs to another session.');
    }
  },
});

const end = operation({
  method: 'delete',
  path: '/listen-sessions/{sessionId}',
  operationId: 'endListenSession',
  tag: 'Listen sessions',
  summary: 'End a listen session',
  description: 'Ends the session and its stream. Requests that wait are dropped.',
  permission: 'deliveries:write',
  responses: { 204: { description: 'Ended' } },
  problems: ['not_found'],
  handle: async ({ context, caller, id }) => {
    if (!(await endSession(context.db, keyOf(context, caller, id)))) throw missing('listen session');
    context.listeners.wake(caller.entityId);
    return new Response(null, { status: 204 });
  },
});

async function foundSession(context: ApiContext, caller: Caller, sessionId: string): Promise<SessionKey> {
  const session = keyOf(context, caller, sessionId);
  if (!(await sessionExists(context.db, session))) throw missing('listen session');
  return session;
}

function keyOf({ db: { dialect } }: ApiContext, { entityId }: Caller, sessionId: string): SessionKey {
  return found(sessionKey(dialect, entityId, sessionId), 'listen session');
}
