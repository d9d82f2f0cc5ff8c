import { z } from 'zod';
import { MAX_NETWORK_ID } from '../../domain/networks.ts';
import { filterSchema } from '../webhooks/options.ts';

/** Listen sessions: events for a program without a public URL, as the API takes and shows them. */

/** Same limit as in a registration. */
const MAX_NAMES = 1_000;
const MAX_TOKEN_LENGTH = 100;
const MAX_ID_LENGTH = 100;
export const MAX_ERROR_LENGTH = 500;
/** Enough for a person to see why a program refused a request. */
export const MAX_RESPONSE_LENGTH = 4_096;
const MAX_DURATION_MS = 3_600_000;

/** The settings that restrict what a session can ask for. */
export type ListenRules = { readonly events: readonly string[] };

export function newListenSessionSchema(rules: ListenRules) {
  const networkRule = `must be a whole number from 0 to ${MAX_NETWORK_ID}`;
  const eventRule = `must be one of ${rules.events.join(', ')} (names are case-sensitive)`;
  return z
    .strictObject(
      {
        events: z
          .array(z.enum(rules.events, { error: eventRule }), { error: 'must be an array of event kinds' })
          .max(MAX_NAMES, { error: `must contain at most ${MAX_NAMES} events` })
          .optional()
          .meta({ description: 'Only events of these kinds. All if absent or empty.', example: ['LatePayment'] }),
        networkIds: z
          .array(z.int({ error: networkRule }).min(0, { error: networkRule }).max(MAX_NETWORK_ID), {
            error: 'must be an array of network ids',
          })
          .max(MAX_NAMES, { error: `must contain at most ${MAX_NAMES} networks` })
          .optional()
          .meta({ description: 'Only events of these networks. All if absent or empty.', example: [8453] }),
        filter: filterSchema
          .nullable()
          .meta({
            type: ['object', 'null'],
            description: 'Only events whose payload matches, as in the options of a webhook. All if absent or null.',
          })
          .optional(),
      },
      { error: 'the body must be a JSON object' },
    )
    .meta({ id: 'NewListenSession', example: { events: ['LatePayment'], networkIds: [8453] } });
}

const exampleId = 'lst_0199c2a6e0b17d3c8a54f1e2d3c4b5a6';

export const listenSessionSchema = z
  .strictObject({
    sessionId: z.string().meta({ description: 'Unique identifier of the session.' }),
    secret: z.string().meta({
      description: 'The secret that signs the requests of this session, and nothing else. It is not shown again.',
    }),
  })
  .meta({
    id: 'ListenSession',
    description: 'A session that hands events to a program without a public URL.',
    example: { sessionId: exampleId, secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=' },
  });

export const listenRequestSchema = z
  .strictObject({
    deliveryId: z
      .string()
      .meta({ description: 'The `webhook-id` of the request. It stays when it is handed out again.' }),
    token: z
      .string()
      .meta({ description: 'Report the result with it. A request that is handed out again has a new one.' }),
    attempt: z.int().min(1).meta({ description: 'How often the request was handed out, starting at 1.' }),
    headers: z.record(z.string(), z.string()).meta({ description: 'The headers of the request, with its signature.' }),
    body: z.string().meta({ description: 'The body of the request, byte for byte.' }),
  })
  .meta({
    id: 'ListenRequest',
    description: 'One request of a listen session, to be sent to a program.',
    example: {
      deliveryId: 'dlv_0199c2a6e0b17d3c8a54f1e2d3c40001',
      token: '5f2b8c1de07a4c6f9b3e8d7a6c5b4a39',
      attempt: 1,
      headers: {
        'content-type': 'application/json',
        'webhook-id': 'dlv_0199c2a6e0b17d3c8a54f1e2d3c40001',
        'webhook-timestamp': '1763168400',
        'webhook-signature': 'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
        'paybell-event-id': 'transfer-8412-finalized',
      },
      body: '{"eventId":"transfer-8412-finalized","event":"TransferFinalized","networkId":8453}',
    },
  });
export type ListenRequest = z.output<typeof listenRequestSchema>;

const statusRule = 'must be an HTTP status from 100 to 599';
const text = (max: number) =>
  z.string({ error: 'must be a string' }).max(max, { error: `must be at most ${max} characters` });

export const listenResultSchema = z
  .strictObject(
    {
      deliveryId: text(MAX_ID_LENGTH).meta({ description: 'The `deliveryId` of the request.' }),
      token: text(MAX_TOKEN_LENGTH).meta({ description: 'The `token` of the request. Each token can be used once.' }),
      statusCode: z
        .int({ error: statusRule })
        .min(100, { error: statusRule })
        .max(599, { error: statusRule })
        .optional()
        .meta({ description: 'The status of the response. Either this or `error` is required.' }),
      error: text(MAX_ERROR_LENGTH)
        .min(1, { error: 'must not be empty' })
        .optional()
        .meta({ description: 'Why there was no response.' }),
      durationMs: z
        .int({ error: `must be a whole number from 0 to ${MAX_DURATION_MS}` })
        .min(0)
        .max(MAX_DURATION_MS)
        .meta({ description: 'How long the request took, in milliseconds.' }),
      response: text(MAX_RESPONSE_LENGTH).optional().meta({ description: 'The beginning of the response body.' }),
    },
    { error: 'the body must be a JSON object' },
  )
  .refine(({ statusCode, error }) => (statusCode === undefined) !== (error === undefined), {
    path: ['statusCode'],
    error: 'is required, unless error is given; give one of the two',
    // Reported together with other errors, unless the body is not an object.
    when: ({ value }) => typeof value === 'object' && value !== null,
  })
  .meta({
    id: 'ListenResult',
    description: 'The result of a request of a listen session.',
    example: {
      deliveryId: 'dlv_0199c2a6e0b17d3c8a54f1e2d3c40001',
      token: '5f2b8c1de07a4c6f9b3e8d7a6c5b4a39',
      statusCode: 200,
      durationMs: 12,
      response: 'ok',
    },
  });
