import { z } from 'zod';
import { kindsOf, TRANSFER } from '../../domain/chain/facts.ts';
import { rulesOf } from '../../domain/chain/families/families.ts';
import { isPractice } from '../../domain/chain/practice.ts';
import {
  MAX_ABI_LENGTH,
  MAX_CONSTANT_LENGTH,
  MAX_FIELDS,
  MAX_WHERE_LENGTH,
  MAX_WHERE_PARAMETERS,
  MAX_WHERE_VALUES,
  NEVER_IN_LOGS,
  PRESETS,
  type Preset,
} from '../../domain/chain/source-definition.ts';
import { MAX_NETWORK_ID } from '../../domain/networks.ts';
import { networkIdRule } from '../values.ts';

/** The definition of a source: which logs of a contract are events of the entity, and the fields that they give. */

const NAME = /^[A-Za-z_$][\w$]{0,127}$/;
const FIELD = /^[A-Za-z_$][A-Za-z0-9_$.:-]{0,63}$/;

const whereRule = 'must be an object of parameter names, each with a value or a list of values';
const valueRule = `must be a text of at most ${MAX_WHERE_LENGTH} characters, a whole number, true or false`;
const valuesRule = `must be a value or a list of 1 to ${MAX_WHERE_VALUES} values: texts, whole numbers, true or false`;
const parameterRule = 'must be the name of a parameter of the event';
const tokenRule = 'must be the name of a parameter of the event, or the address of a token';
const fieldsRule = 'must be an object of payload fields and where their values come from';
const fieldNameRule = 'must be the name of a payload field: at most 64 letters, digits, _, $, ., : or -';
const fieldRule =
  'must be the name of a parameter, {"from": parameter, "token": parameter or address} for an amount, or {"is": value}';
const constantRule = `must be a text of at most ${MAX_CONSTANT_LENGTH} characters, a whole number, true or false`;

export const parameter = z.string({ error: parameterRule }).regex(NAME, { error: parameterRule });
const scalar = (maxLength: number, error: string) =>
  z.union(
    [
      z
        .string()
        .max(maxLength, { error })
        .refine((text) => text.isWellFormed(), { error }),
      z.int({ error }),
      z.boolean(),
    ],
    { error },
  );
const whereValue = scalar(MAX_WHERE_LENGTH, valueRule);
const constant = scalar(MAX_CONSTANT_LENGTH, constantRule);

/** `__proto__` is rejected, because it would set the prototype of an object. */
const name = (shape: RegExp, rule: string) =>
  z
    .string()
    .regex(shape, { error: rule })
    .refine((text) => text !== '__proto__', { error: rule });

const keyError =
  (rule: string): z.core.$ZodErrorMap =>
  (issue) =>
    issue.code === 'invalid_key' ? issue.issues[0]?.message : rule;

export const whereSchema = z
  .record(
    name(NAME, parameterRule),
    z.union(
      [z.array(whereValue).min(1, { error: valuesRule }).max(MAX_WHERE_VALUES, { error: valuesRule }), whereValue],
      { error: valuesRule },
    ),
    { error: keyError(whereRule) },
  )
  .refine((where) => Object.keys(where).length <= MAX_WHERE_PARAMETERS, {
    error: `must name at most ${MAX_WHERE_PARAMETERS} parameters`,
  })
  .meta({
    description:
      'The values that a log may have, by the names of the event’s parameters: a value or a list of values. Addresses are ' +
      'compared without case; integers are texts of decimal digits, or numbers up to 2^53 - 1. Of an indexed text, bytes, ' +
      'array or tuple a log has only the keccak-256 hash: give the hash. Other arrays and tuples cannot be compared.',
    example: { to: ['0x52908400098527886E0F7030069857D2E4169EE7'] },
  });

const amountSource = z.strictObject({
  from: parameter,
  token: z.string({ error: tokenRule }).max(128, { error: tokenRule }),
});
const fieldSource = z.union([parameter, amountSource, z.strictObject({ is: constant })], { error: fieldRule });

export const fieldsSchema = z
  .record(name(FIELD, fieldNameRule), fieldSource, { error: keyError(fieldsRule) })
  .refine((fields) => Object.keys(fields).length <= MAX_FIELDS, { error: `must have at most ${MAX_FIELDS} fields` })
  .meta({
    description:
      'The fields of the payload and where their values come from: `"x": "parameter"` for its value, `{"from": parameter, ' +
      '"token": parameter or address}` for an amount of a token, which is exact decimal text and also sets `xBase` in the ' +
      'token’s smallest unit, `{"is": value}` for a constant. Facts can be searched by `transferId` and `agreementId`. ' +
      'With a preset, these are beyond the fields that it fills.',
    example: { transferId: 'id', amount: { from: 'amount', token: 'token' }, currency: { is: 'USDC' } },
  });

export type SourceRules = { readonly events: readonly string[] };

/** The event kinds that a source can be of: those that logs can prove, and those that the settings add. */
function sourceEvents(known: readonly string[]): [string, ...string[]] {
  return [TRANSFER, ...known.filter((event) => !NEVER_IN_LOGS.includes(event))];
}

export const MAX_ID_LENGTH = 128;
const contractRule = 'must be an address of a contract, as its network writes it';

export function definitionFields({ events }: SourceRules) {
  const choices = sourceEvents(events);
  const never = NEVER_IN_LOGS.join(', ');
  const eventRule = `must be one of ${choices.join(', ')} (names are case-sensitive); ${never} are never in a log`;
  return {
    networkId: z
      .int({ error: networkIdRule })
      .min(0, { error: networkIdRule })
      .max(MAX_NETWORK_ID, { error: networkIdRule })
      .meta({ description: 'Network of the contract. The operator decides which networks are followed.' }),
    preset: z
      .enum(PRESETS, { error: `must be one of ${PRESETS.join(', ')}` })
      .optional()
      .meta({
        description:
          'A contract that Paybell knows how to read. Instead of `abi` and `event`. `trc20` is for Tron, `spl` (a token) for Solana, and `native` ' +
          'for the coin of an EVM network, such as ETH, and for SOL, without a `contract`; the others are for EVM networks. `native` reads direct transfers on EVM networks. With `request-network`, `loop` and `superfluid` the payer chooses the token, so `where` must list the ' +
          'tokens that count.',
      }),
    contract: z
      .string({ error: contractRule })
      .max(MAX_ID_LENGTH, { error: contractRule })
      .optional()
      .meta({
        description:
          'Required, except with the preset `native`. Address of the contract: 0x and 40 hex digits, whose capital letters have to be the checksum if there are any, ' +
          'T and 33 letters and digits on Tron, or the address of the token (its mint) on Solana.',
      }),
    abi: z
      .string({ error: 'must be a text' })
      .max(MAX_ABI_LENGTH, { error: `must have at most ${MAX_ABI_LENGTH} characters` })
      .optional()
      .meta({
        description: 'The event as Solidity declares it. Anonymous events are not supported.',
        example: 'event PaymentMade(bytes32 indexed agreementId, address payer, uint256 amount)',
      }),
    event: z
      .enum(choices, { error: eventRule })
      .optional()
      .meta({
        description:
          `What the log proves: an event kind, or \`${TRANSFER}\` for a transfer that is ${kindsOf(TRANSFER).join(' first and ')} ` +
          'once it is final.',
      }),
    where: whereSchema.optional(),
    fields: fieldsSchema.optional(),
  };
}

export type Definition = { preset?: unknown; abi?: unknown; event?: unknown; networkId?: unknown; contract?: unknown };

/**
 * Requires either a preset, or an event with its kind. Reported together with other errors, unless the body is not an
 * object.
 */
export function requireKind(body: Definition, context: z.RefinementCtx): void {
  const issue = (field: string, message: string) => context.addIssue({ code: 'custom', path: [field], message });
  requireForms(body, context);
  requireContract(body, context);
  if (body.preset !== undefined) {
    if (body.abi !== undefined) issue('abi', 'is known to the preset; leave it out');
    if (body.event !== undefined) issue('event', 'is known to the preset; leave it out');
  } else {
    if (body.abi === undefined) issue('abi', 'is required without a preset: the event as Solidity declares it');
    if (body.event === undefined) issue('event', 'is required without a preset: the event kind that the log proves');
  }
}

/** The coin of a network has no contract, and every other source has one. */
function requireContract({ preset, contract, networkId }: Definition, context: z.RefinementCtx): void {
  const issue = (message: string) => context.addIssue({ code: 'custom', path: ['contract'], message });
  if (preset === 'native') {
    if (contract !== undefined) issue('is for tokens; leave it out with the preset native');
    else if (isNetworkId(networkId) && isPractice(networkId)) {
      const message = 'cannot be native on the practice network, which makes up payments in its token alone';
      context.addIssue({ code: 'custom', path: ['preset'], message });
    }
  } else if (contract === undefined) issue(contractRule);
}

/** Each family of networks has its own presets and addresses. A field of another type has its own error. */
function requireForms({ networkId, preset, contract }: Definition, context: z.RefinementCtx): void {
  if (!isNetworkId(networkId)) return;
  const issue = (field: string, message: string) => context.addIssue({ code: 'custom', path: [field], message });
  const { presets, addresses, id } = rulesOf(networkId);
  if (isPreset(preset) && !presets.includes(preset)) {
    issue('preset', `must be one of ${presets.join(', ')} on network ${networkId}`);
  }
  if (id === 'solana' && preset === undefined) {
    issue('preset', `must be one of ${presets.join(', ')} on network ${networkId}`);
  }
  const parsed = isId(contract) && preset !== 'native' ? addresses.parse(contract) : null;
  if (parsed !== null && 'error' in parsed) issue('contract', parsed.error);
}

export function isNetworkId(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function isPreset(value: unknown): value is Preset {
  return PRESETS.some((preset) => preset === value);
}

export function isId(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_ID_LENGTH;
}
