import { z } from 'zod';
import { NATIVE_TOKEN } from '../../domain/chain/coin.ts';
import { INVOICE_MATCHES, INVOICE_STATES } from '../../domain/chain/invoices/invoice-state.ts';
import { MAX_NETWORK_ID } from '../../domain/networks.ts';
import { exactText, oneOf, pagingFields, textOf, unixSeconds, wholeNumber } from '../list-query.ts';
import { count, date } from '../values.ts';
import { EXAMPLE_ADDRESS, EXAMPLE_TOKEN } from './new-invoice.ts';
import { examplePayment, paymentSchema } from './payments.ts';

/** Invoices: payments that are expected. */

/** Invoices of one request. */
export const MAX_BATCH_INVOICES = 1_000;
/** A line with the longest texts and the largest metadata fits. */
export const MAX_INVOICE_BYTES = 8_192;
export const MAX_BATCH_INVOICE_BYTES = 4 * 1024 * 1024;

/** The payments of an invoice that the API shows. */
export const MAX_INVOICE_PAYMENTS = 50;

const nullableText = (description: string) => z.string().nullable().meta({ description });
const amount = (description: string) => z.string().meta({ description });

const invoiceFields = {
  invoiceId: z.string().meta({ description: 'Unique identifier of the invoice.' }),
  networkId: z.int().meta({ description: 'Network of the payment.' }),
  network: z.string().meta({ description: 'The network as a CAIP-2 identifier.' }),
  token: z.string().meta({ description: `Address of the token, or \`${NATIVE_TOKEN}\`.` }),
  symbol: nullableText('Symbol of the token for people to read. Unless `isListed` is true, the token chose it.'),
  decimals: z.int().meta({ description: 'Decimals of the token.' }),
  isListed: z.boolean().meta({ description: 'Whether the symbol is verified.' }),
  address: z.string().meta({ description: 'The address that the payer pays.' }),
  amount: amount('The amount that is expected.'),
  tolerancePercent: z.number().meta({ description: 'How far the sum may be off for the invoice to be paid.' }),
  match: z.enum(INVOICE_MATCHES).meta({ description: 'Which payments to the address count.' }),
  dateExpires: date('When the payment is due'),
  watchDays: count.meta({ description: 'How many days after the expiry late payments still count.' }),
  agreementId: nullableText('Agreement of the payment.'),
  transferId: z.string().meta({ description: 'Transfer of the payment.' }),
  reference: nullableText('Your own id of the invoice.'),
  metadata: z.record(z.string(), z.string()).meta({ description: 'Your own texts.' }),
  state: z.enum(INVOICE_STATES).meta({
    description:
      '`open`: nothing was received yet. `underpaid`: too little was received. `paid`: the amount was received, give or ' +
      'take the tolerance. `overpaid`: more than that. `expired`: nothing was received in the blocks up to the expiry. ' +
      '`cancelled`: a request cancelled it.',
  }),
  isFinal: z.boolean().meta({ description: 'Whether the payments that cannot be undone are enough.' }),
  isLate: z.boolean().meta({ description: 'Whether the sum was reached in a block after the expiry.' }),
  received: amount('The sum of its payments that are part of the chain.'),
  receivedFinal: amount('The sum of its payments that cannot be undone.'),
  due: amount('The amount that is missing; 0 if the invoice is paid.'),
  paymentCount: count.meta({ description: 'Number of its payments, without retracted ones and without dust.' }),
  unexplainedBalance: nullableText(
    'The part of the balance of the address that no payment of the invoice explains, at the last check. Null if there is ' +
      'none, or if nothing was checked.',
  ),
  dateChecked: date('When a node was last asked for the balance; null for never').nullable(),
  fromBlock: z.int().meta({ description: 'The first block whose payments count.' }),
  untilBlock: z.int().nullable().meta({
    description: 'The last block whose payments count; null while the address is watched.',
  }),
  dateWatchedUntil: date('Until when late payments count, by the time of their blocks'),
  dateCancelled: date('When it was cancelled; null if it was not').nullable(),
  dateCreated: date('When it was created'),
};

const exampleInvoice = {
  invoiceId: 'inv_0199c2a6e0b17d3c8a54f1e2d3c4b5a6',
  networkId: 8453,
  network: 'eip155:8453',
  token: EXAMPLE_TOKEN,
  symbol: 'USDC',
  decimals: 6,
  isListed: true,
  address: EXAMPLE_ADDRESS,
  amount: '25',
  tolerancePercent: 0,
  match: 'address',
  dateExpires: 1763172000,
  watchDays: 7,
  agreementId: null,
  transferId: 'inv_0199c2a6e0b17d3c8a54f1e2d3c4b5a6',
  reference: 'order 8412',
  metadata: { cart: '77' },
  state: 'paid',
  isFinal: false,
  isLate: false,
  received: '25',
  receivedFinal: '0',
  due: '0',
  paymentCount: 1,
  unexplainedBalance: null,
  dateChecked: null,
  fromBlock: 38214500,
  untilBlock: null,
  dateWatchedUntil: 1763776800,
  dateCancelled: null,
  dateCreated: 1763168390,
};

export const invoiceSchema = z.strictObject(invoiceFields).meta({
  id: 'Invoice',
  description: 'A payment that is expected, and what was received of it.',
  example: exampleInvoice,
});

export type Invoice = z.output<typeof invoiceSchema>;

export const invoiceDetailSchema = z
  .strictObject({
    ...invoiceFields,
    payments: z
      .array(paymentSchema)
      .max(MAX_INVOICE_PAYMENTS)
      .meta({ description: `Its newest ${MAX_INVOICE_PAYMENTS} payments at most, dust and retracted ones included.` }),
  })
  .meta({
    id: 'InvoiceDetail',
    description: 'An invoice with its payments.',
    example: { ...exampleInvoice, payments: [examplePayment] },
  });

export type InvoiceDetail = z.output<typeof invoiceDetailSchema>;

export const invoiceListSchema = z
  .strictObject({
    totalResults: count.meta({ description: 'Number of all matching invoices, on all pages.' }),
    invoices: z.array(invoiceSchema),
  })
  .meta({ id: 'InvoiceList', example: { totalResults: 1, invoices: [exampleInvoice] } });

export type InvoiceList = z.output<typeof invoiceListSchema>;

export const invoiceBatchResultsSchema = z
  .strictObject({
    results: z.array(
      z.strictObject({
        status: z.int().meta({ description: 'HTTP status that a request with only this invoice would get.' }),
        invoiceId: z.string().nullable().meta({ description: 'Null if the invoice was rejected.' }),
        fromBlock: z.int().nullable().meta({ description: 'The first block whose payments count.' }),
        code: z.string().nullable().meta({ description: 'Code of the problem; null if there is an invoice.' }),
        detail: z.string().nullable().meta({ description: 'What is wrong with the line, and how to fix it.' }),
      }),
    ),
  })
  .meta({
    id: 'InvoiceBatchResults',
    description: 'One result for each line of the batch, in the same order.',
    example: {
      results: [
        { status: 201, invoiceId: exampleInvoice.invoiceId, fromBlock: 38214500, code: null, detail: null },
        {
          ...{ status: 409, invoiceId: null, fromBlock: null, code: 'address_in_use' },
          detail: 'The address has an open invoice in this token: inv_0199c2a6e0b17d3c8a54f1e2d3c4b5a6.',
        },
      ],
    },
  });

export type InvoiceBatchResults = z.output<typeof invoiceBatchResultsSchema>;

export const invoiceListQuerySchema = z.strictObject({
  q: textOf(1, 256, {
    description:
      'Only invoices that this text names; its form decides how. 40 hex digits are an address, 64 a transaction that pays ' +
      'the invoice, `inv_` is an id. Any other text is the exact reference, transfer or agreement.',
    example: 'order 8412',
  }),
  networkId: wholeNumber(0, MAX_NETWORK_ID, { description: 'Only invoices of this network.', example: 8453 }),
  token: exactText({ description: 'Only invoices in the token with this address. Case does not matter.' }),
  address: exactText({ description: 'Only invoices to this address. Case does not matter.' }),
  reference: exactText({ description: 'Only the invoice with this reference.' }),
  agreementId: exactText({ description: 'Only invoices of this agreement.' }),
  transferId: exactText({ description: 'Only invoices of this transfer.' }),
  watch: oneOf(['on', 'ended'], {
    description: '`on`: only invoices whose address is still watched. `ended`: only the others.',
  }),
  since: unixSeconds({
    description: 'Only invoices created at or after this time, in Unix seconds.',
  }),
  until: unixSeconds({
    description: 'Only invoices created before this time, in Unix seconds.',
  }),
  ...pagingFields(['dateCreated', 'dateExpires']),
});

export type InvoiceListQuery = z.output<typeof invoiceListQuerySchema>;
