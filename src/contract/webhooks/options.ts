import { z } from 'zod';
import {
  filterErrors,
  MAX_DECIMAL_LENGTH,
  MAX_FILTER_FIELDS,
  MAX_FILTER_VALUES,
  MAX_VALUE_LENGTH,
  type PayloadFilter,
} from '../../domain/payload-filter/payload-filter.ts';

/** The options of a webhook. They are apart from the webhook, whose five fields stay as they are. */

const MAX_FILTER_BYTES = 64 * 1024;

const exampleFilter = {
  token: ['0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'],
  amount: { min: '10', max: '999.99' },
};

const decimal = { type: 'string' as const, pattern: '^-?[0-9]+(\\.[0-9]+)?$', maxLength: MAX_DECIMAL_LENGTH };

/** Checked by `filterErrors`, which names each error by its path; the document describes the same rules. */
export const filterSchema = z
  .custom<PayloadFilter>((value) => typeof value === 'object' && value !== null && !Array.isArray(value), {
    error: 'must be an object of payload fields, or null for no filter',
  })
  .superRefine((filter, context) => {
    for (const { path, message } of filterErrors(filter)) {
      context.addIssue({ code: 'custom', path: [...path], message });
    }
    if (Buffer.byteLength(JSON.stringify(filter)) > MAX_FILTER_BYTES) {
      context.addIssue({ code: 'custom', message: `must have at most ${MAX_FILTER_BYTES} bytes` });
    }
  })
  .meta({
    type: 'object',
    minProperties: 1,
    maxProperties: MAX_FILTER_FIELDS,
    additionalProperties: {
      anyOf: [
        {
          type: 'array',
          minItems: 1,
          maxItems: MAX_FILTER_VALUES,
          items: {
            anyOf: [{ type: 'string', maxLength: MAX_VALUE_LENGTH }, { type: 'integer' }, { type: 'boolean' }],
          },
        },
        {
          type: 'object',
          minProperties: 1,
          additionalProperties: false,
          properties: { min: decimal, max: decimal },
        },
      ],
    },
    example: exampleFilter,
  });

export const webhookOptionsSchema = z
  .strictObject(
    {
      filter: filterSchema.nullable().meta({
        type: ['object', 'null'],
        description:
          'Only events whose payload matches are delivered to the webhook; null for all. Each field at the top of the ' +
          'payload is compared with a list of values (hexadecimal addresses without case) or with a range of exact ' +
          'decimals, both ends included. A missing field matches nothing.',
      }),
    },
    { error: 'must be an object of options' },
  )
  .meta({
    id: 'WebhookOptions',
    description: 'What a webhook receives beyond its network and event.',
    example: { filter: exampleFilter },
  });

export type WebhookOptions = z.output<typeof webhookOptionsSchema>;
