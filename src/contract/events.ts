import { z } from 'zod';
import { MAX_NETWORK_ID } from '../domain/networks.ts';

/** The body of a post is the payload itself: these are the only fields of it that Paybell reads. */

export const MAX_EVENT_BYTES = 256 * 1024;
export const MAX_BATCH_BYTES = 4 * 1024 * 1024;
export const MAX_BATCH_EVENTS = 1_000;

const networkRule = `must be a whole number from 0 to ${MAX_NETWORK_ID}`;
const idRule = 'must be 1 to 128 of A-Z, a-z, 0-9, _ and -';

export function postedEventSchema(knownEvents: readonly string[]) {
  const eventRule = `must be one of ${knownEvents.join(', ')} (names are case-sensitive)`;
  return z
    .object(
      {
        event: z.enum(knownEvents, { error: eventRule }).meta({ description: 'The kind of event.' }),
        networkId: z
          .int({ error: networkRule })
          .min(0, { error: networkRule })
          .max(MAX_NETWORK_ID, { error: networkRule }),
        eventId: z
          .string({ error: idRule })
          .regex(/^[A-Za-z0-9_-]{1,128}$/, { error: idRule })
          .optional()
          .meta({ description: 'Makes the request safe to repeat; made by Paybell when absent.' }),
      },
      { error: 'the body must be a JSON object' },
    )
    .meta({
      id: 'PostedEvent',
      // Allowed, and said by hand: a schema that keeps them would copy every field for nobody to read.
      additionalProperties: {},
      description: 'Whatever fields the event has. The same bytes go to every receiver on every attempt.',
      example: {
        eventId: 'transfer-8412-finalized',
        event: 'TransferFinalized',
        networkId: 8453,
        transferId: 'trf_8412',
        amount: '25.00',
        currency: 'USDC',
      },
    });
}

export const acceptedSchema = z
  .strictObject({
    eventId: z.string(),
    deliveries: z.int().min(0).meta({ description: 'How many webhooks matched.' }),
  })
  .meta({ id: 'AcceptedEvent', example: { eventId: 'transfer-8412-finalized', deliveries: 2 } });

export const batchResultsSchema = z
  .strictObject({
    results: z.array(
      z.strictObject({
        status: z.int().meta({ description: 'What the line would have been answered with on its own.' }),
        eventId: z.string().nullable(),
        deliveries: z.int().nullable(),
        code: z.string().nullable().meta({ description: 'The problem’s code; null when there is none.' }),
        detail: z.string().nullable(),
      }),
    ),
  })
  .meta({
    id: 'BatchResults',
    description: 'One result for each line, in the order of the lines.',
    example: {
      results: [
        { status: 202, eventId: 'transfer-8412-finalized', deliveries: 2, code: null, detail: null },
        { status: 400, eventId: null, deliveries: null, code: 'invalid_json', detail: 'The line is not valid JSON.' },
      ],
    },
  });
