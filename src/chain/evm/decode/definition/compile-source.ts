import { hasReadableCoin, NATIVE_TOKEN } from '../../../../domain/chain/coin.ts';
import { familyOf } from '../../../../domain/chain/families/families.ts';
import type { SourceDefinition } from '../../../../domain/chain/source-definition.ts';
import { type Decimal, parseDecimal } from '../../../../domain/payload-filter/decimal.ts';
import type { AbiLibrary } from '../abi-library.ts';
import { addressesOf, type LogAddresses } from './addresses.ts';
import { type EventAbi, parseEventAbi } from './event-abi.ts';
import { compileFields, type FieldPlan } from './fields.ts';
import { type PresetRules, presetRules } from './presets.ts';
import { type CompiledWhere, type Conditions, compileWhere, type DefinitionError } from './where.ts';

/** A definition, ready to be applied to logs. */
export type CompiledSource = {
  readonly event: EventAbi;
  readonly contract: string;
  /** The kind of its facts; null for a flow, whose kind depends on the log. */
  readonly kind: string | null;
  readonly conditions: Conditions;
  readonly fields: readonly FieldPlan[];
  /** The smallest `amount` that leads to an event; null for any amount. */
  readonly minAmount: Decimal | null;
  /** The topic, 1 to 3, that must be in the address book; null for a source without a book. */
  readonly bookPlace: number | null;
};

export type Compiled =
  | { readonly isValid: true; readonly source: CompiledSource; readonly definition: SourceDefinition }
  | { readonly isValid: false; readonly errors: readonly DefinitionError[] };

/** Compiles a definition, or returns all of its errors. The returned definition has a canonical form, so that equal definitions have equal hashes. */
export function compileSource(definition: SourceDefinition, library: AbiLibrary): Compiled {
  const errors: DefinitionError[] = [];
  const addresses = addressesOf(definition.networkId, library);
  const contractError = contractErrorIn(definition, addresses);
  if (contractError !== null) errors.push({ name: 'contract', message: contractError });
  const rules = presetRules(definition.preset);
  const event = parseEventAbi(rules?.abi ?? definition.abi ?? '', library);
  if (typeof event === 'string') return { isValid: false, errors: [...errors, { name: 'abi', message: event }] };
  const contract = addresses.toLog(definition.contract);
  const { conditions, where } = compileConditions(definition, rules, event, addresses, errors);
  const fields = compileFields(rules?.fields ?? {}, definition.fields, event, contract, addresses, errors);
  const { minAmount } = definition;
  const bookPlace = placeOfBook(definition, event, errors);
  if (minAmount !== undefined && !fields.some(({ name, how }) => name === 'amount' && how === 'amount')) {
    errors.push({ name: 'minAmount', message: 'needs the payload field amount, as an amount of a token' });
  }
  if (errors.length > 0) return { isValid: false, errors };
  return {
    isValid: true,
    source: {
      event,
      contract,
      kind: rules === null ? definition.event : rules.kind,
      conditions,
      fields,
      minAmount: minAmount === undefined ? null : parseDecimal(minAmount),
      bookPlace,
    },
    definition: {
      ...definition,
      preset: presetOn(definition),
      contract: addresses.write(contract),
      abi: rules === null ? event.text : null,
      where,
      fields: Object.fromEntries(
        Object.entries(definition.fields).map(([name, source]) => [name, writeToken(source, addresses)]),
      ),
    },
  };
}

/** Describes the mistake in the contract; null if there is none. A source of the coin has no contract. */
function contractErrorIn({ networkId, preset, contract }: SourceDefinition, addresses: LogAddresses): string | null {
  if (preset !== 'native') return addresses.errorIn(contract);
  if (!hasReadableCoin(networkId))
    return `cannot be ${NATIVE_TOKEN}: Paybell does not read the coin of network ${networkId}`;
  return contract === NATIVE_TOKEN ? null : 'is for tokens; leave it out with the preset native';
}

/** The topic that must be in the address book. It must be an indexed address, because nodes filter only by topics. */
function placeOfBook(
  { addressBook, where }: SourceDefinition,
  { parameters }: EventAbi,
  errors: DefinitionError[],
): number | null {
  if (addressBook === undefined) return null;
  const indexed = parameters.filter(({ isIndexed }) => isIndexed);
  const place = indexed.findIndex(
    ({ name, kind, isHashed }) => name === addressBook && kind === 'address' && !isHashed,
  );
  if (place === -1) {
    const names = indexed.flatMap(({ name, kind, isHashed }) => (kind === 'address' && !isHashed ? name : []));
    const known = names.length === 0 ? 'it has none' : `these are ${names.join(', ')}`;
    errors.push({ name: 'addressBook', message: `must be an indexed address of the event; ${known}` });
  }
  if (Object.hasOwn(where, addressBook)) {
    errors.push({ name: `where.${addressBook}`, message: 'is set by the address book; leave it out' });
  }
  return place + 1;
}

/** Compiles the conditions of the entity and of the preset. The stored definition keeps only the entity's conditions. */
function compileConditions(
  { where, addressBook }: SourceDefinition,
  rules: PresetRules | null,
  event: EventAbi,
  addresses: LogAddresses,
  errors: DefinitionError[],
): CompiledWhere {
  const fixed = Object.entries(rules?.where ?? {});
  for (const [name] of fixed) {
    if (Object.hasOwn(where, name))
      errors.push({ name: `where.${name}`, message: 'is set by the preset; leave it out' });
  }
  const { oneOf = [], tokenParameter = null } = rules ?? {};
  if (oneOf.length > 0 && !oneOf.some((name) => Object.hasOwn(where, name) || name === addressBook)) {
    const message = `must name ${oneOf.join(' or ')}: most logs of this contract are other payments`;
    errors.push({ name: 'where', message });
  }
  if (tokenParameter !== null && !Object.hasOwn(where, tokenParameter)) {
    errors.push({ name: `where.${tokenParameter}`, message: 'is required, because the payer chooses the token' });
  }
  const all = { ...where, ...Object.fromEntries(fixed.map(([name, value]) => [name, [value]])) };
  const compiled = compileWhere(all, event, addresses, errors);
  const own = Object.entries(compiled.where).filter(([name]) => Object.hasOwn(where, name));
  return { ...compiled, where: Object.fromEntries(own) };
}

/** The preset under one name: on Tron, `erc20` and `trc20` are the same source. */
function presetOn({ networkId, preset }: SourceDefinition): SourceDefinition['preset'] {
  return preset === 'erc20' && familyOf(networkId) === 'tron' ? 'trc20' : preset;
}

function writeToken(
  source: SourceDefinition['fields'][string],
  { isMeant, errorIn, toLog, write }: LogAddresses,
): SourceDefinition['fields'][string] {
  if (typeof source === 'string' || 'is' in source) return source;
  if (!isMeant(source.token) || errorIn(source.token) !== null) return source;
  return { ...source, token: write(toLog(source.token)) };
}

/** For each topic 1 to 3, the values to ask a node for. Null for any value. */
export function topicsOf({ conditions: { topics } }: CompiledSource): (readonly string[] | null)[] {
  return topics.map((allowed) => (allowed === null ? null : [...allowed]));
}
