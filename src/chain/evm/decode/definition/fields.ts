import { type FieldSource, RESERVED_FIELDS } from '../../../../domain/chain/source-definition.ts';
import type { LogAddresses } from './addresses.ts';
import type { EventAbi } from './event-abi.ts';
import type { PresetField } from './presets.ts';
import { type DefinitionError, unknownParameter } from './where.ts';

/** How one field of the payload is filled. Parameters are named by their index. */
export type FieldPlan = { readonly name: string } & (
  | { readonly how: 'value'; readonly index: number; readonly isAddress: boolean; readonly when: Condition | null }
  /** An amount as decimal text, if the token states its decimals, and as `…Base` in the token's smallest unit. */
  | { readonly how: 'amount'; readonly index: number; readonly token: TokenPlan }
  | { readonly how: 'constant'; readonly value: string | number | boolean }
  /** The address of the contract that wrote the log. */
  | { readonly how: 'contract' }
  | { readonly how: 'joined'; readonly indices: readonly number[] }
);

type Condition = { readonly index: number; readonly equals: unknown };

/** The parameter that names the token, or the token's address. */
export type TokenPlan = { readonly index: number } | { readonly address: string };

/** Returns the fields in their order, the preset's own fields first. Adds errors to the list. */
export function compileFields(
  preset: Readonly<Record<string, PresetField>>,
  fields: Readonly<Record<string, FieldSource>>,
  event: EventAbi,
  contract: string,
  addresses: LogAddresses,
  errors: DefinitionError[],
): FieldPlan[] {
  const plans = Object.entries(preset).map(([name, source]) => presetPlan(name, source, event, contract));
  const taken = new Set(plans.flatMap(namesOf));
  for (const [name, source] of Object.entries(fields)) {
    const plan = fieldPlan(name, source, event, addresses, errors);
    const names = plan === null ? [name] : namesOf(plan);
    const reserved = names.find((each) => RESERVED_FIELDS.has(each));
    const repeated = names.find((each) => taken.has(each));
    if (reserved !== undefined) errors.push({ name: `fields.${name}`, message: `is filled by Paybell: ${reserved}` });
    else if (repeated !== undefined) {
      const message = `would fill ${repeated} a second time; ${Object.hasOwn(preset, name) ? 'the preset fills it' : 'rename it'}`;
      errors.push({ name: `fields.${name}`, message });
    }
    for (const each of names) taken.add(each);
    if (plan !== null) plans.push(plan);
  }
  return plans;
}

/** An amount fills two fields. */
function namesOf({ name, how }: FieldPlan): string[] {
  return how === 'amount' ? [name, `${name}Base`] : [name];
}

function fieldPlan(
  name: string,
  source: FieldSource,
  { parameters }: EventAbi,
  addresses: LogAddresses,
  errors: DefinitionError[],
): FieldPlan | null {
  const find = (parameter: string) => parameters.findIndex((each) => each.name === parameter);
  if (typeof source === 'string') {
    const index = find(source);
    if (index >= 0) return { name, how: 'value', index, isAddress: isAddress(parameters, index), when: null };
    errors.push({ name: `fields.${name}`, message: `"${source}" ${unknownParameter(parameters)}` });
    return null;
  }
  if ('is' in source) return { name, how: 'constant', value: source.is };
  const index = find(source.from);
  const amount = parameters[index];
  if (amount === undefined) {
    errors.push({ name: `fields.${name}.from`, message: unknownParameter(parameters) });
  } else if (amount.kind !== 'integer') {
    errors.push({
      name: `fields.${name}.from`,
      message: `must be an integer, and ${source.from} is of type ${amount.type}`,
    });
  }
  const token = tokenPlan(name, source.token, parameters, addresses, errors);
  return token === null || amount?.kind !== 'integer' ? null : { name, how: 'amount', index, token };
}

function tokenPlan(
  name: string,
  token: string,
  parameters: EventAbi['parameters'],
  addresses: LogAddresses,
  errors: DefinitionError[],
): TokenPlan | null {
  const error = (message: string) => {
    errors.push({ name: `fields.${name}.token`, message });
    return null;
  };
  const index = parameters.findIndex((each) => each.name === token);
  if (index < 0 && addresses.isMeant(token)) {
    const message = addresses.errorIn(token);
    return message === null ? { address: addresses.toLog(token) } : error(message);
  }
  const parameter = parameters[index];
  if (parameter === undefined) return error(`${unknownParameter(parameters)}; the address of a token is also possible`);
  if (parameter.kind !== 'address') return error(`must be an address, and ${token} is of type ${parameter.type}`);
  return { index };
}

/** The log has even an indexed address itself, and not its hash. */
function isAddress(parameters: EventAbi['parameters'], index: number): boolean {
  return parameters[index]?.kind === 'address';
}

/** Throws if a name does not fit. Presets are part of the program, so such a name is a defect of Paybell. */
function presetPlan(name: string, source: PresetField, { parameters }: EventAbi, contract: string): FieldPlan {
  const find = (parameter: string) => {
    const index = parameters.findIndex((each) => each.name === parameter);
    if (index < 0) throw new TypeError(`the preset names a parameter ${parameter} that its event does not have`);
    return index;
  };
  const value = (index: number) => ({ name, how: 'value', index, isAddress: isAddress(parameters, index) }) as const;
  if (typeof source === 'string') return { ...value(find(source)), when: null };
  if ('join' in source) return { name, how: 'joined', indices: source.join.map(find) };
  if ('contract' in source) return { name, how: 'contract' };
  if ('when' in source) {
    const when = { index: find(source.when), equals: source.equals };
    return { ...value(find(source.from)), when };
  }
  const token = source.token === null ? { address: contract } : { index: find(source.token) };
  return { name, how: 'amount', index: find(source.from), token };
}
