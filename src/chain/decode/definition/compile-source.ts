import type { SourceDefinition } from '../../../domain/chain/source-definition.ts';
import { type Decimal, parseDecimal } from '../../../domain/payload-filter/decimal.ts';
import type { AbiLibrary } from '../abi-library.ts';
import { addressError } from './addresses.ts';
import { type EventAbi, parseEventAbi } from './event-abi.ts';
import { compileFields, type FieldPlan } from './fields.ts';
import { PRESET_RULES, type PresetRules } from './presets.ts';
import { type CompiledWhere, type Conditions, compileWhere, type DefinitionError } from './where.ts';

/** A definition, ready to be applied to logs. */
export type CompiledSource = {
  readonly event: EventAbi;
  readonly contract: string;
  /** The kind of its facts; null for a flow, whose kind depends on the log. */
  readonly kind: string | null;
  readonly conditions: Conditions;
  /** The parameter that must not be zero. */
  readonly notZero: number | null;
  readonly fields: readonly FieldPlan[];
  /** The smallest `amount` that leads to an event; null for any amount. */
  readonly minAmount: Decimal | null;
};

export type Compiled =
  | { readonly isValid: true; readonly source: CompiledSource; readonly definition: SourceDefinition }
  | { readonly isValid: false; readonly errors: readonly DefinitionError[] };

/** All errors at once. The definition that is returned is written in one way, so that equal ones have equal hashes. */
export function compileSource(definition: SourceDefinition, library: AbiLibrary): Compiled {
  const errors: DefinitionError[] = [];
  const contractError = addressError(definition.contract, library);
  if (contractError !== null) errors.push({ name: 'contract', message: contractError });
  const rules = definition.preset === null ? null : PRESET_RULES[definition.preset];
  const event = parseEventAbi(rules?.abi ?? definition.abi ?? '', library);
  if (typeof event === 'string') return { isValid: false, errors: [...errors, { name: 'abi', message: event }] };
  const contract = definition.contract.toLowerCase();
  const { conditions, where } = compileConditions(definition, rules, event, library, errors);
  const fields = compileFields(rules?.fields ?? {}, definition.fields, event, contract, library, errors);
  const { minAmount } = definition;
  if (minAmount !== undefined && !fields.some(({ name, how }) => name === 'amount' && how === 'amount')) {
    errors.push({ name: 'minAmount', message: 'needs the payload field amount, as an amount of a token' });
  }
  if (errors.length > 0) return { isValid: false, errors };
  const notZero = rules?.notZero ?? null;
  return {
    isValid: true,
    source: {
      event,
      contract,
      kind: rules === null ? definition.event : rules.kind,
      conditions,
      notZero: notZero === null ? null : event.parameters.findIndex(({ name }) => name === notZero),
      fields,
      minAmount: minAmount === undefined ? null : parseDecimal(minAmount),
    },
    definition: {
      ...definition,
      contract,
      abi: rules === null ? event.text : null,
      where,
      fields: Object.fromEntries(
        Object.entries(definition.fields).map(([name, source]) => [name, inLowerCase(source)]),
      ),
    },
  };
}

/** The conditions of the entity and of the preset; the definition keeps those of the entity alone. */
function compileConditions(
  { where }: SourceDefinition,
  rules: PresetRules | null,
  event: EventAbi,
  library: AbiLibrary,
  errors: DefinitionError[],
): CompiledWhere {
  const fixed = Object.entries(rules?.where ?? {});
  for (const [name] of fixed) {
    if (Object.hasOwn(where, name))
      errors.push({ name: `where.${name}`, message: 'is set by the preset; leave it out' });
  }
  const { oneOf = [], tokenParameter = null } = rules ?? {};
  if (oneOf.length > 0 && !oneOf.some((name) => Object.hasOwn(where, name))) {
    const message = `must name ${oneOf.join(' or ')}: most logs of this contract are about others`;
    errors.push({ name: 'where', message });
  }
  if (tokenParameter !== null && !Object.hasOwn(where, tokenParameter)) {
    errors.push({ name: `where.${tokenParameter}`, message: 'is required, because the payer chooses the token' });
  }
  const all = { ...where, ...Object.fromEntries(fixed.map(([name, value]) => [name, [value]])) };
  const compiled = compileWhere(all, event, library, errors);
  const own = Object.entries(compiled.where).filter(([name]) => Object.hasOwn(where, name));
  return { ...compiled, where: Object.fromEntries(own) };
}

function inLowerCase(source: SourceDefinition['fields'][string]): SourceDefinition['fields'][string] {
  if (typeof source === 'string' || 'is' in source || !source.token.startsWith('0x')) return source;
  return { ...source, token: source.token.toLowerCase() };
}

/** For each topic 1 to 3 the values that a node may be asked for, null where it is any. */
export function topicsOf({ conditions: { topics } }: CompiledSource): (readonly string[] | null)[] {
  return topics.map((allowed) => (allowed === null ? null : [...allowed]));
}
