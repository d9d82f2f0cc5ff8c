import { z } from 'zod';
import { MAX_NETWORK_ID } from '../../domain/networks.ts';
import { EVENT_PROGRESS } from '../../domain/reconciliation/book.ts';
import { eventsFilter, exactText, wholeNumber, wholeNumberOr } from '../list-query.ts';

export const DAY_MS = 86_400_000;
const MAX_ENTRIES = 1_000;

const EXAMPLE_TOKEN = '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913';

const dayRule = 'must be a day such as 2026-01-31';

function isDay(text: string): boolean {
  const atMs = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(atMs) && new Date(atMs).toISOString().startsWith(text);
}

export const daySchema = z
  .string({ error: `is required and ${dayRule}` })
  .regex(/^\d{4}-\d{2}-\d{2}$/, { error: dayRule, abort: true })
  .refine(isDay, { error: dayRule });

const filters = {
  day: daySchema.meta({
    type: 'string',
    format: 'date',
    description: 'The day on which events were accepted, in UTC.',
    example: '2026-01-31',
  }),
  networkId: wholeNumber(0, MAX_NETWORK_ID, { description: 'Only events of this network.' }),
  endpointId: exactText({
    description:
      'Only events for this endpoint, with the deliveries to it. A delivery belongs to the endpoint of its last request or, if it ' +
      'is still to be sent, to the present endpoint of its webhook.',
  }),
  events: eventsFilter({ description: 'Only events of these kinds, separated by commas.' }),
};

export const reconciliationQuerySchema = z.strictObject(filters);
export type ReconciliationQuery = z.output<typeof reconciliationQuerySchema>;

export const reconciledEventsQuerySchema = z.strictObject({
  ...filters,
  after: exactText({
    description: 'The id of the last event that you have. Without it, the list begins with the day.',
  }),
  limit: wholeNumberOr(MAX_ENTRIES, 1, MAX_ENTRIES, { description: 'Number of results.' }),
});

const token = z.string().nullable().meta({
  description:
    'The `token` of the payload, in small letters if it is an address; its `currency` where it has no token.',
});
const amounts = (description: string) => z.string().meta({ description: `${description}, as an exact decimal.` });
const count = (description: string) => z.int().min(0).meta({ description });

const totalsSchema = z.strictObject({
  networkId: z.int(),
  event: z.string().meta({ description: 'Event kind.' }),
  token,
  events: count('Events that were accepted.'),
  amount: amounts('The sum of their amounts'),
  withoutAmount: count('Events among them without an `amount` that is a plain decimal. The sums leave them out.'),
  final: count('Events whose payment this server has seen become final on its network.'),
  sent: count('Events with at least one request.'),
  acknowledged: count('Events whose deliveries were all acknowledged.'),
  acknowledgedAmount: amounts('The sum of the amounts of these'),
});

const tokenSumsSchema = z.strictObject({
  networkId: z.int(),
  token: z.string().nullable().meta({ description: 'Address of the token in small letters.' }),
  payments: count('Payments that are final.'),
  onChain: amounts('The sum of these, which is the sum on the network'),
  sent: amounts('The sum of the payments that a receiver may have'),
  acknowledged: amounts('The sum of the payments whose deliveries were all acknowledged, without retracted ones'),
  retracted: amounts('The part of `sent` that Paybell has retracted'),
  net: amounts('`sent` without `retracted`. It equals `onChain` once every payment is final and sent'),
  missing: amounts('The sum of the final payments that a webhook wants and that have no event yet'),
  unacknowledgedRetractions: amounts('The part of `retracted` whose retraction not every receiver has acknowledged'),
  withoutAmount: count('Payments without an exact amount, which no sum includes.'),
});

export const reconciliationSchema = z
  .strictObject({
    day: z.string(),
    endpointId: z.string().nullable().meta({ description: 'The endpoint that was asked for; null for all endpoints.' }),
    isOver: z.boolean().meta({ description: 'Whether the day is over. Before that, more events can come.' }),
    events: count('Events that were accepted on this day. With `endpointId`, those that the endpoint gets.'),
    acknowledged: count('Events whose deliveries were all acknowledged.'),
    sha256: z.string().meta({
      description:
        'SHA-256 in hex over one line for each acknowledged event: `eventId`, kind, token and amount, separated by tabs and ' +
        'ended by a line feed, sorted by their bytes. An absent token or amount is empty; amounts have no zeros at the end.',
    }),
    totals: z.array(totalsSchema).meta({
      description:
        'By network, event kind and token. The amounts of retracted events are in the rows of their own kind and of `EventRetracted`.',
    }),
    tokens: z.array(tokenSumsSchema).meta({
      description:
        'Payments that Paybell read from a network, by network and token. The date of its block in UTC decides the day of a payment ' +
        'for every sum; `events` does not restrict them. With `endpointId`, deliveries are of that endpoint.',
    }),
    undatedPayments: count(
      'Payments that Paybell stored on this day without the date of their block, because no node stated it. `tokens` leaves them out.',
    ),
  })
  .meta({
    id: 'Reconciliation',
    description: 'Accepted, sent and acknowledged events of a day.',
    example: {
      day: '2026-01-31',
      endpointId: null,
      isOver: true,
      events: 3,
      acknowledged: 2,
      sha256: '51b6bd0ec4cd76d81bb1b9b15a2fbbb3f3a4d3b7c1d2f9a1b0e4c8d7a6f5e4d3',
      totals: [
        {
          networkId: 8453,
          event: 'TransferFinalized',
          token: EXAMPLE_TOKEN,
          events: 3,
          amount: '75.5',
          withoutAmount: 0,
          final: 3,
          sent: 3,
          acknowledged: 2,
          acknowledgedAmount: '50.5',
        },
      ],
      tokens: [
        {
          networkId: 8453,
          token: EXAMPLE_TOKEN,
          payments: 3,
          onChain: '75.5',
          sent: '100.5',
          acknowledged: '50.5',
          retracted: '25',
          net: '75.5',
          missing: '0',
          unacknowledgedRetractions: '0',
          withoutAmount: 0,
        },
      ],
      undatedPayments: 0,
    },
  });
export type Reconciliation = z.output<typeof reconciliationSchema>;

export const reconciledEventSchema = z.strictObject({
  eventId: z.string(),
  networkId: z.int(),
  event: z.string().meta({ description: 'Event kind.' }),
  token,
  amount: z.string().nullable().meta({ description: 'The `amount` of the payload, without zeros at the end.' }),
  isFinal: z.boolean().meta({ description: 'Whether this server has seen its payment become final on its network.' }),
  progress: z.enum(EVENT_PROGRESS).meta({
    description:
      '`acknowledged`: every delivery was. `sent`: at least one request was sent. `waiting`: none was yet, or Paybell has ' +
      'not made all deliveries yet: the event is held, its fan-out continues, or its retraction is not published. `failed`: ' +
      'no further attempt follows. `nothing`: no webhook matched, or another event superseded it.',
  }),
});
export type ReconciledEvent = z.output<typeof reconciledEventSchema>;

export const reconciledEventsSchema = z
  .strictObject({
    events: z.array(reconciledEventSchema),
    after: z.string().nullable().meta({ description: 'Send it as `after` to read on; null at the end of the day.' }),
  })
  .meta({
    id: 'ReconciledEvents',
    description: 'Events of a day in the order of their acceptance.',
    example: {
      events: [
        {
          eventId: 'transfer-8412-finalized',
          networkId: 8453,
          event: 'TransferFinalized',
          token: EXAMPLE_TOKEN,
          amount: '25',
          isFinal: true,
          progress: 'acknowledged',
        },
      ],
      after: null,
    },
  });
