import { z } from 'zod';
import { MAX_CONFIRMATIONS, MIN_CONFIRMATIONS } from '../../domain/chain/finality.ts';
import { INVOICE_STATES } from '../../domain/chain/invoices/invoice-state.ts';
import { type EventKind, RETRACTION } from '../../domain/event-kinds.ts';
import { FAILING_ALERT, RECOVERED_ALERT, SUSPENDED_NOTICE } from '../endpoints/alerts.ts';
import { EVENT_MEANINGS, RETRACTION_MEANING } from './samples.ts';

/**
 * The payloads of `payloads.ts` for the OpenAPI document; a test compares the two. Only what Paybell checks is required: the
 * other fields come from the operator's own payment system, or from a log that may not prove all of them.
 */

const text = (description: string) => z.string().optional().meta({ description });
const whole = (description: string) => z.int().min(0).optional().meta({ description });
const date = (description: string) => whole(`${description}, in Unix seconds.`);

const COMMON = {
  eventId: text('Present when the sender set it. The header `paybell-event-id` always has it.'),
  networkId: z.int().min(0).meta({ description: 'Network of the event.' }),
  network: text('CAIP-2 name of the network, such as `eip155:8453`.'),
  dateCreated: date('When the event was created'),
  test: z.literal(true).optional().meta({ description: 'Only in a test request.' }),
};

const TERMS = {
  agreementId: text('Agreement that the event is about.'),
  payer: text('Address of the payer.'),
  payee: text('Address of the payee.'),
  amount: text('A decimal string, because many languages would round a JSON number.'),
  currency: text('Currency of the amount, such as `USDC`.'),
  token: text('Contract or mint of the currency.'),
};

const transactionHash = text('Transaction on the network.');
const AGREEMENT = { ...TERMS, intervalDays: whole('Days from one payment to the next.') };
const transfer = <Status extends string>(status: Status) => ({
  ...TERMS,
  transferId: text('Transfer that the event is about.'),
  status: z.literal(status).optional().meta({ description: 'State of the transfer.' }),
});

const ON_CHAIN = {
  transactionHash,
  blockNumber: whole('Block that holds the transaction.'),
  blockHash: text('Hash of that block.'),
  logIndex: whole('Number of the log in its block.'),
  contract: text('Contract that wrote the log.'),
  finality: z
    .union([z.enum(['seen', 'safe', 'final']), z.int().min(MIN_CONFIRMATIONS).max(MAX_CONFIRMATIONS)])
    .optional()
    .meta({ description: 'Finality of the webhook, which the transaction has reached.' }),
  confirmations: whole('Number of blocks from the transaction’s block to the newest one, both included.'),
  revision: whole('1 at first, and one more each time that the transaction comes back after a retraction.'),
  amountBase: text('Amount in the smallest unit of the token, as a whole number in decimal digits.'),
  paymentId: text('The payment, under which the API has it.'),
  symbol: text('Symbol of the token for people to read. Anyone can choose one, so compare `token`.'),
};

const flag = (description: string) => z.boolean().optional().meta({ description });

/** Nothing is required, because payloads of a sender can have another member of this name. */
const OF_INVOICE = {
  invoice: z
    .object({
      invoiceId: text('Unique identifier of the invoice.'),
      reference: text('Your own id of the invoice.'),
      metadata: z.record(z.string(), z.string()).optional().meta({ description: 'Your own texts.' }),
      state: z.enum(INVOICE_STATES).optional().meta({ description: 'State of the invoice.' }),
      amount: text('The amount that is expected.'),
      received: text('The sum of its payments.'),
      due: text('The amount that is missing.'),
      isLate: flag('Whether the sum was reached in a block after the expiry.'),
      isFinal: flag('Whether the payments that cannot be undone are enough.'),
      version: whole('Rises with each event of the invoice at this finality. The highest version is true.'),
    })
    .optional()
    .meta({
      description: 'Invoice of the payment, counted at the finality of the event. Only in events of an invoice.',
      additionalProperties: {},
    }),
};

/** An object with any other fields as well. */
function payload<Kind extends string, Shape extends z.ZodRawShape>(
  { id = '', kind, description }: { id?: string; kind: Kind; description: string },
  shape: Shape,
) {
  return z
    .object({ event: z.literal(kind).meta({ description: 'Event kind.' }), ...shape })
    .meta({ id: id === '' ? kind : id, description, additionalProperties: {} });
}

function eventPayload<Kind extends EventKind, Shape extends z.ZodRawShape>(kind: Kind, shape: Shape) {
  return payload({ kind, description: EVENT_MEANINGS[kind] }, { ...COMMON, ...shape });
}

const WEBHOOK = { webhookId: z.string(), networkId: z.int(), event: z.string() };
const ALERTED = z
  .object({ endpointId: z.string(), postUrl: z.string(), name: z.string().nullable() })
  .meta({ description: 'Endpoint that the alert is about.' });
const alertId = z.string().meta({ description: 'Identifies the alert.' });
const alertDate = (description: string) => z.int().meta({ description: `${description}, in Unix seconds.` });

export const PAYLOAD_SCHEMAS = {
  AgreementSignedUp: eventPayload('AgreementSignedUp', {
    ...ON_CHAIN,
    ...AGREEMENT,
    dateSigned: date('When the payer signed'),
  }),
  AgreementCancelled: eventPayload('AgreementCancelled', {
    ...ON_CHAIN,
    ...AGREEMENT,
    dateCancelled: date('When the agreement ended'),
    cancelledBy: text('Who ended it, such as `payer`.'),
  }),
  ScheduledAgreementCancel: eventPayload('ScheduledAgreementCancel', {
    ...ON_CHAIN,
    ...AGREEMENT,
    dateScheduled: date('When the end was scheduled'),
    dateEnds: date('When the agreement ends'),
  }),
  TransferProcessed: eventPayload('TransferProcessed', { ...ON_CHAIN, ...OF_INVOICE, ...transfer('processed') }),
  TransferCreated: eventPayload('TransferCreated', {
    ...OF_INVOICE,
    ...transfer('created'),
    dateDue: date('When it is due'),
  }),
  TransferFinalized: eventPayload('TransferFinalized', { ...ON_CHAIN, ...OF_INVOICE, ...transfer('finalized') }),
  LatePayment: eventPayload('LatePayment', {
    ...OF_INVOICE,
    ...transfer('late'),
    dateDue: date('When it was due'),
    daysLate: whole('Days since then.'),
  }),
  [RETRACTION]: payload(
    { kind: RETRACTION, description: RETRACTION_MEANING },
    {
      ...COMMON,
      retracts: z
        .object({
          eventId: z.string().meta({ description: 'The `eventId` of the retracted event.' }),
          event: text('Kind of that event. Always present when Paybell itself retracts it.'),
        })
        .meta({ description: 'The retracted event.' }),
      reason: z
        .enum(['reorg', 'sender', 'not_on_chain'])
        .optional()
        .meta({
          description:
            '`reorg`: the network no longer has the transaction. `sender`: the operator retracted the event. `not_on_chain`: one ' +
            'node showed the payment, and most nodes deny it.',
        }),
      transactionHash,
      transferId: text('Transfer of the retracted event.'),
      agreementId: text('Agreement of the retracted event.'),
      paymentId: text('Payment that is gone, if the retracted event was about one. Leave it out of every sum.'),
      amount: text('Amount of that payment, as a decimal. Absent if the token does not state its decimals.'),
      amountBase: text('Amount in the smallest unit of the token. Absent if only a sender stated the amount.'),
      token: text('Token of that payment.'),
      ...OF_INVOICE,
      lostBlockNumber: whole('Block that the transaction was in, and that the network no longer has.'),
      lostBlockHash: text('Hash of that block.'),
      revision: whole('Revision of the retracted event.'),
    },
  ),
  [SUSPENDED_NOTICE]: payload(
    { id: 'WebhookSuspended', kind: SUSPENDED_NOTICE, description: 'Paybell has suspended a webhook.' },
    {
      eventId: alertId,
      reason: z.enum(['gone', 'failing']).meta({
        description: '`gone`: the receiver responded with 410. `failing`: no delivery succeeded for five days.',
      }),
      webhook: z
        .object({ ...WEBHOOK, postUrl: z.string() })
        .meta({ description: 'The webhook, which receives no deliveries until it is resumed.' }),
      dateSuspended: alertDate('When it was suspended'),
    },
  ),
  [FAILING_ALERT]: payload(
    {
      id: 'EndpointFailing',
      kind: FAILING_ALERT,
      description: 'All attempts to an endpoint have failed for an hour. Sent again every day.',
    },
    {
      eventId: alertId,
      endpoint: ALERTED,
      webhooks: z.array(z.object(WEBHOOK)).max(10).meta({
        description: 'Webhooks without a success for an hour, ten at most: those that have failed longest.',
      }),
      totalWebhooks: z.int().meta({ description: 'How many webhooks have had no success for an hour.' }),
      dateFailingSince: alertDate('Since when all attempts have failed'),
      dateSuspension: alertDate('When Paybell suspends the first of these webhooks, unless a delivery succeeds before'),
    },
  ),
  [RECOVERED_ALERT]: payload(
    {
      id: 'EndpointRecovered',
      kind: RECOVERED_ALERT,
      description: `A delivery to an endpoint has succeeded after \`${FAILING_ALERT}\`.`,
    },
    {
      eventId: alertId,
      endpoint: ALERTED,
      dateFailingSince: alertDate('Since when all attempts had failed'),
      dateRecovered: alertDate('When a delivery succeeded, accurate to about a minute'),
    },
  ),
};

/** The payload of a kind that the operator added. */
export function extraPayloadSchema(kind: string) {
  return z
    .object({ event: z.literal(kind).meta({ description: 'Event kind.' }), ...COMMON })
    .meta({ description: 'An event kind of the operator.', additionalProperties: {} });
}
