import { z } from 'zod';
import { rulesOf } from '../../domain/chain/families/families.ts';
import { MAX_DECIMAL_LENGTH } from '../../domain/payload-filter/payload-filter.ts';
import { explainFields } from '../parse-input.ts';
import {
  type Definition,
  definitionFields,
  fieldsSchema,
  isId,
  isNetworkId,
  MAX_ID_LENGTH,
  parameter,
  requireKind,
  type SourceRules,
  whereSchema,
} from './source-definition.ts';

/** Sources as the API takes them: which logs of a contract are events of the entity. */

const MAX_BLOCK = Number.MAX_SAFE_INTEGER;
const blockRule = `must be the number of a block, or "latest" for the blocks from now on`;
const wrongBlock = { error: blockRule };

const example = {
  networkId: 8453,
  preset: 'erc20',
  contract: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
  where: { to: ['0x52908400098527886E0F7030069857D2E4169EE7'] },
  fromBlock: 'latest',
  deliverHistory: false,
};

const isObject = { when: ({ value }: { value: unknown }) => typeof value === 'object' && value !== null };
const ofObject = { error: 'the body must be a JSON object' };

const MAX_NAME_LENGTH = 100;
const nameRule = `must be a text of 1 to ${MAX_NAME_LENGTH} characters without control characters`;
const amountRule = 'must be a decimal as a string, such as "0.50", from 0 on';

const nameSchema = z
  .string({ error: nameRule })
  .regex(new RegExp(`^[^\\u0000-\\u001f\\u007f-\\u009f]{1,${MAX_NAME_LENGTH}}$`), { error: nameRule });

const minAmountSchema = z
  .string({ error: amountRule })
  .max(MAX_DECIMAL_LENGTH, { error: amountRule })
  .regex(/^[0-9]+(?:\.[0-9]+)?$/, { error: amountRule });

/** Settings of a source that cannot change: its facts would be of another kind or another contract. */
const FIXED_FIELDS = [
  ...(['networkId', 'contract', 'preset', 'abi', 'event', 'addressBook', 'fromBlock', 'deliverHistory'] as const),
];

/** Only the fields that are given change. */
export const sourceUpdateSchema = z
  .strictObject(
    {
      name: nameSchema.nullable().meta({ description: 'A name for people; null removes it.' }),
      where: whereSchema,
      fields: fieldsSchema,
      minAmount: minAmountSchema.nullable().meta({
        description: 'The smallest `amount` that leads to an event, as a decimal; null for any amount.',
      }),
      isPaused: z.boolean({ error: 'must be true or false' }).meta({
        description: '`true` reads no more logs for it. `false` continues at the block of the pause.',
      }),
    },
    { error: 'the body must be a JSON object' },
  )
  .partial()
  .refine((body) => Object.keys(body).length > 0, {
    error: 'give at least one field to change',
    // An unknown field is reported alone.
    when: ({ issues }) => issues.length === 0,
  })
  .meta({ id: 'SourceUpdate', example: { where: { to: ['0x52908400098527886E0F7030069857D2E4169EE7'] } } });

explainFields(sourceUpdateSchema, FIXED_FIELDS, 'cannot be changed, create another source');

export type SourceUpdateRequest = z.output<typeof sourceUpdateSchema>;

export function newSourceSchema(rules: SourceRules) {
  return z
    .strictObject(
      {
        name: nameSchema.optional().meta({ description: 'A name for people.' }),
        ...definitionFields(rules),
        minAmount: minAmountSchema.optional().meta({
          description:
            'The smallest `amount` that leads to an event, as a decimal. Smaller payments are facts that can be read.',
        }),
        addressBook: parameter.optional().meta({
          description:
            'An indexed address of the event, such as `to` for the preset erc20. A log then counts only if this address is in ' +
            'the address book of the source, which `POST /sources/{sourceId}/addresses` fills.',
        }),
        fromBlock: z
          .union([z.int().min(0, wrongBlock).max(MAX_BLOCK, wrongBlock), z.literal('latest')], wrongBlock)
          .default('latest')
          .meta({ description: 'The first block whose logs are read. `latest` is the next block.' }),
        deliverHistory: z
          .boolean({ error: 'must be true or false' })
          .default(false)
          .meta({
            description:
              'Whether events of blocks before the source was created are delivered too. Without it they are facts that can ' +
              'be read, and nothing is sent for them.',
          }),
      },
      ofObject,
    )
    .check(z.superRefine(requireKind, isObject))
    .meta({ id: 'NewSource', example });
}

export type NewSource = z.output<ReturnType<typeof newSourceSchema>>;

const hashRule = 'must be the id of a transaction, as its network writes it';

export function sourcePreviewSchema(rules: SourceRules) {
  const { networkId, ...others } = definitionFields(rules);
  return z
    .strictObject(
      {
        networkId,
        transactionHash: z
          .string({ error: hashRule })
          .max(MAX_ID_LENGTH, { error: hashRule })
          .meta({ description: 'A transaction that is in a block.' }),
        ...others,
      },
      ofObject,
    )
    .check(z.superRefine(requireDefinition, isObject))
    .meta({
      id: 'SourcePreviewRequest',
      description: 'A source that is not created, or without `contract` those that the entity has on the network.',
      example: {
        networkId: 8453,
        transactionHash: '0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060',
        preset: 'erc20',
        contract: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
        where: { to: ['0x52908400098527886E0F7030069857D2E4169EE7'] },
      },
    });
}

export type SourcePreviewRequest = z.output<ReturnType<typeof sourcePreviewSchema>>;

/** A source that is not created. Every definition is a whole one, so that no stored source is looked back for. */
export function sourceRecentSchema(rules: SourceRules) {
  return z
    .strictObject(
      {
        ...definitionFields(rules),
        minAmount: minAmountSchema
          .optional()
          .meta({ description: 'The smallest `amount` that would lead to an event.' }),
      },
      ofObject,
    )
    .check(z.superRefine(requireKind, isObject))
    .meta({
      id: 'SourceRecentRequest',
      description: 'A source that is not created.',
      example: {
        networkId: 8453,
        preset: 'erc20',
        contract: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
        where: { to: ['0x52908400098527886E0F7030069857D2E4169EE7'] },
      },
    });
}

function requireDefinition(body: Definition & Record<string, unknown>, context: z.RefinementCtx): void {
  const { networkId, transactionHash } = body;
  if (isNetworkId(networkId) && isId(transactionHash)) {
    const parsed = rulesOf(networkId).transactionIds.parse(transactionHash);
    if ('error' in parsed) context.addIssue({ code: 'custom', path: ['transactionHash'], message: parsed.error });
  }
  const parts = ['preset', 'abi', 'event', 'where', 'fields'].filter((field) => body[field] !== undefined);
  if (body.contract !== undefined || body.preset === 'native') requireKind(body, context);
  else if (parts.length > 0) {
    const message = `is required with ${parts.join(', ')}; leave all of them out to try the sources that exist`;
    context.addIssue({ code: 'custom', path: ['contract'], message });
  }
}
