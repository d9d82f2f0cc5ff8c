import { z } from 'zod';
import { exactText, pagingFields } from '../list-query.ts';
import { count } from '../values.ts';

/** The address book of a source, as the API takes and shows it. */

/** Addresses of one request. */
export const MAX_ADDRESSES = 1_000;

const MAX_TEXT_LENGTH = 128;
const addressRule = 'must be an address, as its network writes it';
const textRule = `must be a text of 1 to ${MAX_TEXT_LENGTH} characters without control characters`;
const listRule = `must be a list of 1 to ${MAX_ADDRESSES} addresses`;

const address = z
  .string({ error: addressRule })
  .min(1, { error: addressRule })
  .max(MAX_TEXT_LENGTH, { error: addressRule })
  .meta({
    description:
      'The address, in the form of the network of the source: 0x and 40 hex digits, whose capital letters have to be the ' +
      'checksum if there are any, or T and 33 letters and digits on Tron.',
  });

const text = z
  .string({ error: textRule })
  .regex(new RegExp(`^[^\\u0000-\\u001f\\u007f-\\u009f]{1,${MAX_TEXT_LENGTH}}$`), { error: textRule })
  .refine((value) => value.isWellFormed(), { error: textRule });

const EXAMPLE_ADDRESS = '0x52908400098527886E0F7030069857D2E4169EE7';
const exampleNew = { address: EXAMPLE_ADDRESS, agreementId: 'agr_7012', reference: 'order 8412' };

const newAddressSchema = z.strictObject(
  {
    address,
    agreementId: text.optional().meta({
      description: 'The agreement of payments to this address. Their events have it as `agreementId`.',
    }),
    reference: text
      .optional()
      .meta({ description: 'A text that events of payments to this address have as `reference`.' }),
  },
  { error: 'must be an object with an address' },
);

export type NewAddress = z.output<typeof newAddressSchema>;

const ofObject = { error: 'the body must be a JSON object' };

export const addAddressesSchema = z
  .strictObject(
    {
      addresses: z
        .array(newAddressSchema, { error: listRule })
        .min(1, { error: listRule })
        .max(MAX_ADDRESSES, { error: listRule }),
    },
    ofObject,
  )
  .meta({ id: 'NewAddresses', example: { addresses: [exampleNew] } });

export const removeAddressesSchema = z
  .strictObject(
    {
      addresses: z
        .array(address, { error: listRule })
        .min(1, { error: listRule })
        .max(MAX_ADDRESSES, { error: listRule }),
    },
    ofObject,
  )
  .meta({ id: 'RemovedAddresses', example: { addresses: [EXAMPLE_ADDRESS] } });

export const addressChangeSchema = z
  .strictObject({
    added: count.meta({ description: 'Addresses that were not in the book.' }),
    changed: count.meta({ description: 'Addresses in the book that have another agreement or reference now.' }),
    removed: count.meta({ description: 'Addresses that were taken out of the book.' }),
    addressCount: count.meta({ description: 'Addresses in the book after the request.' }),
    fromBlock: z.int().nullable().meta({
      description: 'The first block whose payments count for the added addresses; null after a removal.',
    }),
    untilBlock: z.int().nullable().meta({
      description: 'The last block whose payments count for the removed addresses; null after an addition.',
    }),
  })
  .meta({
    id: 'AddressChange',
    example: { added: 1, changed: 0, removed: 0, addressCount: 1, fromBlock: 38214508, untilBlock: null },
  });

export type AddressChange = z.output<typeof addressChangeSchema>;

const bookAddressSchema = z.strictObject({
  address: z
    .string()
    .meta({ description: 'The address: in lower case on EVM networks, and as people write it on others.' }),
  agreementId: z.string().nullable().meta({ description: 'The agreement of its payments; null for none.' }),
  reference: z.string().nullable().meta({ description: 'The reference of its payments; null for none.' }),
  fromBlock: z.int().meta({ description: 'The first block whose payments count.' }),
  dateCreated: z.int().meta({ description: 'When it was added, in Unix seconds.' }),
});

export const addressListSchema = z
  .strictObject({
    totalResults: count.meta({ description: 'Number of all matching addresses, on all pages.' }),
    addresses: z.array(bookAddressSchema),
  })
  .meta({
    id: 'AddressList',
    example: {
      totalResults: 1,
      addresses: [
        { ...exampleNew, address: EXAMPLE_ADDRESS.toLowerCase(), fromBlock: 38214508, dateCreated: 1763168400 },
      ],
    },
  });

export type AddressList = z.output<typeof addressListSchema>;
export type BookAddress = AddressList['addresses'][number];

export const addressListQuerySchema = z.strictObject({
  address: exactText({ description: 'Only this address. The case of hex digits does not matter.' }),
  agreementId: exactText({ description: 'Only addresses of this agreement.' }),
  reference: exactText({ description: 'Only addresses with this reference.' }),
  ...pagingFields(['dateCreated']),
});

export type AddressListQuery = z.output<typeof addressListQuerySchema>;
