import { z } from 'zod';
import { NATIVE_TOKEN } from '../../domain/chain/coin.ts';
import { INVOICE_MATCHES, MAX_TOLERANCE_PERCENT } from '../../domain/chain/invoices/invoice-state.ts';
import { MAX_NETWORK_ID } from '../../domain/networks.ts';
import { isPlainDecimal } from '../../domain/payload-filter/decimal.ts';
import { networkIdRule } from '../values.ts';

/** The request for an invoice. */

const MAX_TEXT_LENGTH = 128;
const MAX_WATCH_DAYS = 90;
const MAX_METADATA_TEXTS = 20;
const MAX_METADATA_BYTES = 2_048;
const MAX_METADATA_NAME = 64;
const MAX_AMOUNT_LENGTH = 156;

const addressRule = 'must be an address, as its network writes it';
const tokenRule = `must be the address of a token, or "${NATIVE_TOKEN}" for the coin of the network`;
const textRule = `must be a text of 1 to ${MAX_TEXT_LENGTH} characters without control characters`;
const amountRule = `must be a decimal above 0 as a string, such as "25" or "0.5", with at most ${MAX_AMOUNT_LENGTH} characters`;
const toleranceRule = `must be a number from 0 to ${MAX_TOLERANCE_PERCENT} with at most 2 decimals`;
const expiryRule = 'must be a time in Unix seconds';
const watchRule = `must be a whole number from 0 to ${MAX_WATCH_DAYS}`;
const matchRule = `must be one of ${INVOICE_MATCHES.join(', ')}`;
const metadataRule = `must be an object of at most ${MAX_METADATA_TEXTS} texts, with at most ${MAX_METADATA_BYTES} bytes as JSON and names of 1 to ${MAX_METADATA_NAME} characters`;

const CONTROL = /\p{Cc}/u;

const text = z
  .string({ error: textRule })
  .min(1, { error: textRule })
  .max(MAX_TEXT_LENGTH, { error: textRule })
  .refine((value) => value.isWellFormed() && !CONTROL.test(value), { error: textRule });

function isTolerance(value: number): boolean {
  const shares = value * 100;
  return Math.abs(shares - Math.round(shares)) < 1e-9;
}

function isMetadata(value: Readonly<Record<string, string>>): boolean {
  const names = Object.keys(value);
  const isText = (one: string) => one.isWellFormed() && !one.includes('\0');
  return (
    names.length <= MAX_METADATA_TEXTS &&
    names.every((name) => name !== '' && name.length <= MAX_METADATA_NAME && isText(name)) &&
    Object.values(value).every(isText) &&
    new TextEncoder().encode(JSON.stringify(value)).length <= MAX_METADATA_BYTES
  );
}

export const EXAMPLE_ADDRESS = '0x52908400098527886E0F7030069857D2E4169EE7';
export const EXAMPLE_TOKEN = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913';

const example = {
  networkId: 8453,
  token: EXAMPLE_TOKEN,
  address: EXAMPLE_ADDRESS,
  amount: '25',
  dateExpires: 1763172000,
  reference: 'order 8412',
  metadata: { cart: '77' },
};

export const newInvoiceSchema = z
  .strictObject(
    {
      networkId: z
        .int({ error: networkIdRule })
        .min(0, { error: networkIdRule })
        .max(MAX_NETWORK_ID, { error: networkIdRule })
        .meta({ description: 'Network of the payment.', example: 8453 }),
      token: z
        .string({ error: tokenRule })
        .min(1, { error: tokenRule })
        .max(MAX_TEXT_LENGTH, { error: tokenRule })
        .meta({ description: `Address of the token, or \`${NATIVE_TOKEN}\` for the coin of the network.` }),
      address: z
        .string({ error: addressRule })
        .min(1, { error: addressRule })
        .max(MAX_TEXT_LENGTH, { error: addressRule })
        .meta({
          description:
            'The address that the payer pays, in the form of its network: 0x and 40 hex digits, whose capital letters have to be ' +
            'the checksum if there are any, or T and 33 letters and digits on Tron.',
        }),
      amount: z
        .string({ error: amountRule })
        .max(MAX_AMOUNT_LENGTH, { error: amountRule })
        .refine((value) => isPlainDecimal(value) && /[1-9]/.test(value) && !value.startsWith('-'), {
          error: amountRule,
        })
        .meta({ description: 'The amount that is expected, as an exact decimal.' }),
      tolerancePercent: z
        .number({ error: toleranceRule })
        .min(0, { error: toleranceRule })
        .max(MAX_TOLERANCE_PERCENT, { error: toleranceRule })
        .refine(isTolerance, { error: toleranceRule })
        .default(0)
        .meta({ description: 'How far the sum may be below or above the amount for the invoice to be paid.' }),
      dateExpires: z.int({ error: expiryRule }).meta({
        description:
          'When the payment is due, in Unix seconds: at least a minute and at most 366 days from now. The blocks of the ' +
          'network decide whether a payment came in time.',
      }),
      match: z
        .enum(INVOICE_MATCHES, { error: matchRule })
        .default('address')
        .meta({
          description:
            '`address`: every payment to the address counts, and the address has no other open invoice in the token. ' +
            '`exact`: only payments of exactly the amount count, and invoices with other amounts share the address.',
        }),
      watchDays: z
        .int({ error: watchRule })
        .min(0, { error: watchRule })
        .max(MAX_WATCH_DAYS, { error: watchRule })
        .default(7)
        .meta({ description: 'How many days after the expiry late payments still count.' }),
      agreementId: text.optional().meta({ description: 'The agreement of the payment, for its events.' }),
      transferId: text.optional().meta({
        description: 'The transfer of the payment, for its events. The id of the invoice unless given.',
      }),
      reference: text.optional().meta({
        description: 'Your own id of the invoice. The same reference with the same terms is the same invoice.',
      }),
      metadata: z
        .record(z.string(), z.string({ error: metadataRule }), { error: metadataRule })
        .refine(isMetadata, { error: metadataRule })
        .optional()
        .meta({ description: 'Texts that events of the invoice have as `invoice.metadata`.' }),
    },
    { error: 'the body must be a JSON object' },
  )
  // The body may be anything, because this runs with the other rules.
  .refine((body) => body?.match !== 'exact' || !(body.tolerancePercent > 0), {
    path: ['tolerancePercent'],
    error: 'must be 0 with match "exact", which takes no other amount',
    when: () => true,
  })
  .meta({ id: 'NewInvoice', example });

export type NewInvoice = z.output<typeof newInvoiceSchema>;
