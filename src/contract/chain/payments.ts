import { z } from 'zod';
import { MAX_FACT_EVENTS_SHOWN } from '../../domain/chain/facts.ts';
import { MAX_WEBHOOKS_SHOWN } from '../../domain/chain/payments.ts';
import { MAX_NETWORK_ID } from '../../domain/networks.ts';
import { isPlainDecimal } from '../../domain/payload-filter/decimal.ts';
import { exactText, oneOf, pagingFields, textOf, unixSeconds, wholeNumber } from '../list-query.ts';
import { count, date } from '../values.ts';
import { factEventSchema } from './facts.ts';

/** Payments: transfers that a network reported, or that a sender announced by their transaction. */

const PAYMENT_STATES = ['waiting', 'seen', 'safe', 'final', 'lost', 'retracted'] as const;
const WEBHOOK_STATUSES = ['delivered', 'retrying', 'failed', 'held', 'waits', 'not_wanted', 'retracted'] as const;
const TIMELINE_STEPS = [
  'waiting',
  'seen',
  'moved',
  'lost',
  'back',
  'safe',
  'final',
  'disputed',
  'retracted',
  'event',
  'delivered',
  'failed',
] as const;

/** Counting more matches takes longer than reading a page. */
export const MAX_PAYMENTS_COUNTED = 10_000;
export const MAX_TIMELINE_SHOWN = 200;

const text = (description: string) => z.string().nullable().meta({ description });

const waitsForSchema = z.strictObject({
  finality: z.string().meta({
    description: 'The next finality that a webhook waits for: `seen`, `safe`, `final` or a number of confirmations.',
  }),
  dateExpected: date('When the payment is expected to have it; null if Paybell cannot tell').nullable(),
  webhooks: count.meta({ description: 'Webhooks that wait for this finality or for a later one.' }),
});

const paymentFields = {
  paymentId: z.string().meta({ description: 'Unique identifier of the payment: the same in whichever block it is.' }),
  networkId: z.int().meta({ description: 'Network of the transaction.' }),
  network: z.string().meta({ description: 'The network as a CAIP-2 identifier.' }),
  origin: z.enum(['chain', 'sender']).meta({
    description: '`chain`: a source read the payment from a log. `sender`: an event with `hold=chain` announced it.',
  }),
  state: z.enum(PAYMENT_STATES).meta({
    description:
      '`waiting`: the transaction is not in a block yet. `seen`: its block is part of the chain. `safe`: the network calls ' +
      'the block safe. `final`: the payment cannot be undone. `lost`: the block is gone, and the payment may return. ' +
      '`retracted`: the payment is gone.',
  }),
  isDisputed: z.boolean().meta({
    description: 'Whether nodes disagree about the payment. Paybell sends no event until they agree.',
  }),
  revision: z.int().min(1).meta({ description: 'Counts how often it returned after a retraction, from 1.' }),
  confirmations: z.int().min(1).nullable().meta({
    description: 'Blocks from its own block to the head. Null while the payment is not part of the chain.',
  }),
  amount: text('Exact decimal amount. Null if the decimals of the token are unknown.'),
  amountBase: text('The amount in the smallest unit of the token. Null if only a sender stated the amount.'),
  token: z.strictObject({
    address: text('Address of the token. A symbol proves nothing, because anyone can choose it.'),
    symbol: text(
      'Symbol for people to read, at most 32 characters. Unless `isListed` is true, the token chose it: compare the address.',
    ),
    decimals: z.int().nullable().meta({ description: 'Decimals that the token states.' }),
    isListed: z
      .boolean()
      .meta({ description: 'Whether the address is on the built-in list, so that the symbol is verified.' }),
  }),
  payer: text('Account that paid, if the log proves it.'),
  payee: text('Account that was paid, if the log proves it.'),
  transactionHash: z.string().meta({ description: 'The transaction.' }),
  blockNumber: z.int().nullable().meta({ description: 'Block of the transaction. Null before it is in one.' }),
  blockHash: text('Hash of that block.'),
  logIndex: z.int().nullable().meta({ description: 'Index of the log in that block.' }),
  dateBlock: date('Time of the block; null if the node did not state it').nullable(),
  agreementId: text('Agreement of the payment.'),
  transferId: text('Transfer of the payment.'),
  invoiceId: text('Invoice that expected the payment.'),
  sourceId: text('Source that read the log. Null for the origin `sender`.'),
  isHistory: z.boolean().meta({ description: 'Older than its source, so that Paybell delivers nothing for it.' }),
  isDust: z.boolean().meta({
    description:
      'Below the least amount of its source, or below a thousandth of its invoice, so that Paybell delivers nothing for it.',
  }),
  waitsFor: waitsForSchema.nullable().meta({ description: 'Null if no webhook waits for this payment.' }),
  deliveries: z
    .strictObject({ delivered: count, waiting: count, failed: count })
    .meta({ description: 'Deliveries of its events, without retractions.' }),
  dateCreated: date('When Paybell first saw it'),
  dateChanged: date('When its state or its block last changed'),
};

const HASH = '0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060';

export const examplePayment = {
  paymentId: 'pay_hpnyyoxuwgdt73orfpqwrp4iso',
  networkId: 8453,
  network: 'eip155:8453',
  origin: 'chain',
  state: 'seen',
  isDisputed: false,
  revision: 1,
  confirmations: 3,
  amount: '25',
  amountBase: '25000000',
  token: { address: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913', symbol: 'USDC', decimals: 6, isListed: true },
  payer: '0x71C7656EC7ab88b098defB751B7401B5f6d8976F',
  payee: '0x52908400098527886E0F7030069857D2E4169EE7',
  transactionHash: HASH,
  blockNumber: 38214507,
  blockHash: '0x9c1d3a7e5b20f64886ad1e73c5b9f20d47e8a6c3b1095d2f7e4a8c6b0d31f592',
  logIndex: 12,
  dateBlock: 1763168398,
  agreementId: 'agr_7012',
  transferId: null,
  invoiceId: null,
  sourceId: 'src_0199c2a6e0b17d3c8a54f1e2d3c4b5a6',
  isHistory: false,
  isDust: false,
  waitsFor: { finality: 'final', dateExpected: null, webhooks: 1 },
  deliveries: { delivered: 1, waiting: 0, failed: 0 },
  dateCreated: 1763168400,
  dateChanged: 1763168400,
};

export const paymentSchema = z.strictObject(paymentFields).meta({
  id: 'Payment',
  description: 'A transfer on a network, wherever its transaction now is.',
  example: examplePayment,
});

export type Payment = z.output<typeof paymentSchema>;

export const paymentListSchema = z
  .strictObject({
    totalResults: count.meta({
      description: `Number of all matching payments, on all pages, or ${MAX_PAYMENTS_COUNTED} if more match.`,
    }),
    isTotalExact: z.boolean().meta({ description: 'False if more payments match than `totalResults`.' }),
    payments: z.array(paymentSchema),
  })
  .meta({ id: 'PaymentList', example: { totalResults: 1, isTotalExact: true, payments: [examplePayment] } });

export type PaymentList = z.output<typeof paymentListSchema>;

const MAX_AMOUNT_LENGTH = 156;

function amount(description: string) {
  const rule = `must be a decimal such as 12.5, with at most ${MAX_AMOUNT_LENGTH} characters`;
  return z
    .string()
    .max(MAX_AMOUNT_LENGTH, { error: rule })
    .refine((value) => isPlainDecimal(value) && !value.startsWith('-'), { error: rule })
    .optional()
    .meta({ type: 'string', pattern: '^[0-9]+(\\.[0-9]+)?$', maxLength: MAX_AMOUNT_LENGTH, description });
}

const needsToken = 'needs `token`, because amounts of different tokens do not compare';

export const paymentListQuerySchema = z
  .strictObject({
    q: textOf(1, 256, {
      description:
        'Only payments that this text names; its form decides how. 64 hex digits are a transaction, 40 an address. ' +
        '`pay_`, `fct_`, `inv_`, `evt_` and `dlv_` are ids, and a decimal is an amount. Any other text is the exact id of an ' +
        'agreement or a transfer.',
      example: HASH,
    }),
    transactionHash: exactText({ description: 'Only payments of this transaction. Case does not matter.' }),
    address: exactText({ description: 'Only payments from or to this account.' }),
    payer: exactText({ description: 'Only payments from this account.' }),
    payee: exactText({ description: 'Only payments to this account.' }),
    token: exactText({ description: 'Only payments in the token with this address.' }),
    agreementId: exactText({ description: 'Only payments of this agreement.' }),
    transferId: exactText({ description: 'Only payments of this transfer.' }),
    invoiceId: exactText({ description: 'Only payments of this invoice.' }),
    state: oneOf(PAYMENT_STATES, { description: 'Only payments in this state.' }),
    networkId: wholeNumber(0, MAX_NETWORK_ID, { description: 'Only payments of this network.', example: 8453 }),
    amount: amount('Only payments of exactly this amount, in any token unless `token` is given.'),
    minAmount: amount('Only payments of at least this amount. Requires `token`.'),
    maxAmount: amount('Only payments of at most this amount. Requires `token`.'),
    since: unixSeconds({
      description: 'Only payments that Paybell first saw at or after this time, in Unix seconds.',
    }),
    until: unixSeconds({
      description: 'Only payments that Paybell first saw before this time, in Unix seconds.',
    }),
    ...pagingFields(['dateCreated']),
  })
  .refine(({ minAmount, token }) => minAmount === undefined || token !== undefined, {
    path: ['minAmount'],
    error: needsToken,
    when: () => true,
  })
  .refine(({ maxAmount, token }) => maxAmount === undefined || token !== undefined, {
    path: ['maxAmount'],
    error: needsToken,
    when: () => true,
  });

export type PaymentListQuery = z.output<typeof paymentListQuerySchema>;

export const timelineEntrySchema = z
  .strictObject({
    date: date('When it happened'),
    what: z.enum(TIMELINE_STEPS).meta({
      description:
        '`moved`: another block has the transaction now. `back`: it returned after it was lost or retracted. `event`: ' +
        'Paybell accepted an event about it. `delivered`: a receiver has that event. `failed`: all attempts to deliver it ' +
        'failed. `disputed`: nodes disagree about it. `safe` is known if a webhook wants that finality. The other values ' +
        'are states.',
    }),
    blockNumber: z.int().nullable().meta({ description: 'Block of the transaction at that time.' }),
    eventId: text('The event of `event`, `delivered` and `failed`.'),
    webhookId: text('The webhook of `delivered` and `failed`.'),
  })
  .meta({ id: 'PaymentTimelineEntry' });

export type TimelineEntry = z.output<typeof timelineEntrySchema>;

export const webhookStatusSchema = z
  .strictObject({
    webhookId: z.string().meta({ description: 'The webhook.' }),
    postUrl: z.string().meta({ description: 'URL of the webhook.' }),
    event: z.string().meta({ description: 'Event kind of the webhook.' }),
    finality: z.string().meta({ description: 'Finality that the webhook had when Paybell first saw the payment.' }),
    status: z.enum(WEBHOOK_STATUSES).meta({
      description:
        '`delivered`: the receiver has the event. `retrying`: an attempt failed, and another one follows. `failed`: all ' +
        'attempts failed. `held`: the webhook is suspended or its endpoint paused. `waits`: the event is still to come. ' +
        '`not_wanted`: the webhook gets no event. `retracted`: the payment is gone.',
    }),
    eventId: text('The event for this webhook, once Paybell has accepted it.'),
    deliveryId: text('The delivery to this webhook.'),
    reason: text('Why the status is not `delivered`, as a sentence.'),
  })
  .meta({ id: 'PaymentWebhook', description: 'A webhook for the events of a payment, and what it has got.' });

export type WebhookStatus = z.output<typeof webhookStatusSchema>;

export const paymentDetailSchema = z
  .strictObject({
    ...paymentFields,
    timeline: z
      .array(timelineEntrySchema)
      .max(MAX_TIMELINE_SHOWN)
      .meta({ description: `The latest ${MAX_TIMELINE_SHOWN} steps at most, oldest first.` }),
    webhooks: z
      .array(webhookStatusSchema)
      .max(MAX_WEBHOOKS_SHOWN)
      .meta({ description: `The first ${MAX_WEBHOOKS_SHOWN} webhooks at most that its events are for.` }),
    events: z
      .array(factEventSchema)
      .max(MAX_FACT_EVENTS_SHOWN)
      .meta({ description: `The latest ${MAX_FACT_EVENTS_SHOWN} events at most, oldest first.` }),
  })
  .meta({
    id: 'PaymentDetail',
    description: 'A payment with its timeline, its webhooks and its events.',
    example: {
      ...examplePayment,
      timeline: [{ date: 1763168400, what: 'seen', blockNumber: 38214507, eventId: null, webhookId: null }],
      webhooks: [
        {
          webhookId: 'wh_0199c2a6e0b17d3c8a54f1e2d3c4b5a6',
          postUrl: 'https://hooks.example.com/paybell',
          event: 'TransferFinalized',
          finality: 'final',
          status: 'waits',
          eventId: null,
          deliveryId: null,
          reason: 'The payment is not final yet.',
        },
      ],
      events: [],
    },
  });

export type PaymentDetail = z.output<typeof paymentDetailSchema>;
