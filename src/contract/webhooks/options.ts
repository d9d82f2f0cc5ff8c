import { z } from 'zod';
import { LEVEL_NAMES, MAX_CONFIRMATIONS, MIN_CONFIRMATIONS } from '../../domain/chain/finality.ts';
import {
  finalityErrors,
  MAX_AMOUNT_RULES,
  MAX_RULE_AMOUNT_LENGTH,
  type WebhookFinality,
} from '../../domain/chain/finality-by-amount.ts';
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

const filter = filterSchema.nullable().meta({
  type: ['object', 'null'],
  description:
    'Only events whose payload matches are delivered to the webhook; null for all. Each field at the top of the ' +
    'payload is compared with a list of values (hexadecimal addresses without case) or with a range of exact ' +
    'decimals, both ends included. A missing field matches nothing.',
});

const level = {
  anyOf: [
    { type: 'string' as const, enum: [...LEVEL_NAMES] },
    { type: 'integer' as const, minimum: MIN_CONFIRMATIONS, maximum: MAX_CONFIRMATIONS },
  ],
};

const byAmount = {
  type: 'object' as const,
  description:
    'Finality by amount: the first rule whose `maxAmount` the payment does not exceed decides. Payments above all rules or ' +
    'in other tokens, and events without an amount, get `otherwise`.',
  required: ['rules', 'otherwise'],
  additionalProperties: false,
  properties: {
    rules: {
      type: 'array' as const,
      minItems: 1,
      maxItems: MAX_AMOUNT_RULES,
      description: 'The smallest `maxAmount` first.',
      items: {
        type: 'object' as const,
        required: ['maxAmount', 'tokens', 'finality'],
        additionalProperties: false,
        properties: {
          maxAmount: {
            type: 'string' as const,
            pattern: '^[0-9]+(\\.[0-9]+)?$',
            maxLength: MAX_RULE_AMOUNT_LENGTH,
            description: 'Exact decimal; payments of this amount are included.',
          },
          tokens: {
            type: 'array' as const,
            minItems: 1,
            maxItems: 1,
            items: { type: 'string' as const, enum: ['usd'] },
            description: '`usd`: the listed dollar stablecoins.',
          },
          finality: level,
        },
      },
    },
    otherwise: level,
  },
};

const FINALITY_TYPES = ['string', 'integer', 'object'] as const;
const ANY_FINALITY = [...level.anyOf, byAmount];

/** Checked by `finalityErrors`, which names each error by its path; the document describes the same rules. */
const finalitySchema = z
  .custom<WebhookFinality>(() => true)
  .superRefine((finality, context) => {
    for (const { path, message } of finalityErrors(finality)) {
      context.addIssue({ code: 'custom', path: [...path], message });
    }
  })
  .meta({ type: [...FINALITY_TYPES], anyOf: ANY_FINALITY });

/** For a kind that allows no other finality. */
export function finalOnly(event: string): string {
  return `must be "final" for ${event}, which says that a transfer is final; leave it out, or register ${event} apart`;
}

const FINALITY =
  'How sure an event from a network has to be before it is delivered: `seen` (in a block), a number of confirmations, ' +
  '`safe`, `final` (cannot be undone), or rules by amount. TransferFinalized is always `final`.';

const finality = finalitySchema
  .nullable()
  .optional()
  .meta({
    type: [...FINALITY_TYPES, 'null'],
    anyOf: [...ANY_FINALITY, { type: 'null' }],
    description:
      `${FINALITY} Null stands for the default of the event kind: \`seen\` for TransferProcessed, and \`final\` for ` +
      'AgreementSignedUp, AgreementCancelled and ScheduledAgreementCancel.',
  });

const ofObject = { error: 'must be an object of options' };
const example = { finality: 12, filter: exampleFilter };

/** As they are in force. */
export const webhookOptionsSchema = z
  .strictObject({ finality: finalitySchema.meta({ description: FINALITY }), filter }, ofObject)
  .meta({
    id: 'WebhookOptions',
    description: 'Restricts the events of a webhook beyond its network and kind.',
    example,
  });

export type WebhookOptions = z.output<typeof webhookOptionsSchema>;

/** The payments that a change of the finality concerns, for people to read. */
export const FINALITY_APPLIES_TO = 'payments first seen after this change';

/** The response to a replacement. */
export const replacedWebhookOptionsSchema = webhookOptionsSchema
  .extend({
    appliesTo: z
      .literal(FINALITY_APPLIES_TO)
      .optional()
      .meta({
        description:
          'Present if the finality changed. Paybell delivers a payment at the finality that the webhook had when the ' +
          'payment was first seen.',
      }),
  })
  .meta({
    id: 'ReplacedWebhookOptions',
    description: 'The options of a webhook after a replacement.',
    example: { ...example, appliesTo: FINALITY_APPLIES_TO },
  });

export type ReplacedWebhookOptions = z.output<typeof replacedWebhookOptionsSchema>;

/** Replaces all options of one webhook. */
export const webhookOptionsReplacementSchema = z.strictObject({ finality, filter }, ofObject).meta({
  id: 'WebhookOptionsReplacement',
  description: 'The options of a webhook from now on. Without `finality`, it gets the default of its event kind.',
  example,
});

export type WebhookOptionsReplacement = z.output<typeof webhookOptionsReplacementSchema>;

/** Options of new webhooks. An absent option gets its default. */
export const newWebhookOptionsSchema = z
  .strictObject({ finality, filter: filter.optional() }, ofObject)
  .meta({ id: 'NewWebhookOptions', example });

export type NewWebhookOptions = z.output<typeof newWebhookOptionsSchema>;

/** Changes options of all matching webhooks. An absent option stays as it is. */
export const webhookOptionsChangeSchema = z
  .strictObject({ finality, filter: filter.optional() }, ofObject)
  .refine((change) => change.finality !== undefined || change.filter !== undefined, {
    error: 'must have finality, filter or both',
  })
  .meta({
    id: 'WebhookOptionsChange',
    description: 'The options to change. An absent option stays as it is.',
    example,
  });

export type WebhookOptionsChange = z.output<typeof webhookOptionsChangeSchema>;
