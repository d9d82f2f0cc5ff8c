import { SOLANA } from '../../../domain/chain/families/solana.ts';
import {
  type FieldSource,
  RESERVED_FIELDS,
  type SourceDefinition,
  type WhereValue,
} from '../../../domain/chain/source-definition.ts';
import { type Decimal, parseDecimal } from '../../../domain/payload-filter/decimal.ts';
import { NATIVE } from './credits.ts';

/** A definition of a source, ready to be applied to credits. */
export type CompiledSource = {
  /** The mint, or `native`. */
  readonly token: string;
  readonly wallets: ReadonlySet<string>;
  readonly fields: readonly (readonly [name: string, source: PaymentField | Constant])[];
  readonly minAmount: Decimal | null;
};

export type DefinitionError = { readonly name: string; readonly message: string };

export type Compiled =
  | { readonly isValid: true; readonly source: CompiledSource; readonly definition: SourceDefinition }
  | { readonly isValid: false; readonly errors: readonly DefinitionError[] };

/** The parts of a payment that can fill a field of the payload. */
const PAYMENT_FIELDS = ['payer', 'payee', 'amount', 'token', 'memo', 'reference'] as const;
export type PaymentField = (typeof PAYMENT_FIELDS)[number];
type Constant = Extract<FieldSource, { is: unknown }>;

/** Fields that every payment has, or may have. */
const OWN_FIELDS: ReadonlySet<string> = new Set([
  ...['payer', 'payee', 'amount', 'amountBase', 'token', 'memo', 'references'],
]);
const MAX_WALLETS = 1_000;

/**
 * Compiles a definition, or returns all of its errors. The returned definition is canonical, so that equal definitions have
 * equal hashes.
 */
export function compileSource(definition: SourceDefinition): Compiled {
  const { networkId, preset, contract, where, fields, minAmount, addressBook } = definition;
  const errors: DefinitionError[] = [];
  if (preset === null || !SOLANA.presets.includes(preset)) {
    errors.push({ name: 'preset', message: `must be one of ${SOLANA.presets.join(', ')} on network ${networkId}` });
  }
  const isNative = preset === NATIVE;
  if (!isNative) addParseError(errors, 'contract', contract);
  if (addressBook !== undefined) {
    const message = 'is not supported on Solana: name up to 1,000 wallets in where.to';
    errors.push({ name: 'addressBook', message });
  }
  const wallets = compileWallets(where, errors);
  const compiledFields = Object.entries(fields).flatMap(([name, source]) => compileField(name, source, errors));
  if (errors.length > 0) return { isValid: false, errors };
  return {
    isValid: true,
    source: {
      token: isNative ? NATIVE : contract,
      wallets: new Set(wallets),
      fields: compiledFields,
      minAmount: minAmount === undefined ? null : parseDecimal(minAmount),
    },
    definition: {
      ...definition,
      contract: isNative ? NATIVE : contract,
      abi: null,
      event: null,
      where: { to: wallets },
    },
  };
}

function addParseError(errors: DefinitionError[], name: string, text: string): void {
  const parsed = SOLANA.addresses.parse(text);
  if ('error' in parsed) errors.push({ name, message: parsed.error });
}

function compileWallets(where: Readonly<Record<string, readonly WhereValue[]>>, errors: DefinitionError[]): string[] {
  for (const name of Object.keys(where)) {
    if (name === 'to') continue;
    errors.push({ name: `where.${name}`, message: 'is not known; Solana sources read payments to wallets' });
  }
  const { to } = where;
  if (to === undefined || to.length === 0) {
    errors.push({ name: 'where.to', message: 'is required; Solana sources read payments to wallets' });
    return [];
  }
  if (to.length > MAX_WALLETS) errors.push({ name: 'where.to', message: `must have at most ${MAX_WALLETS} wallets` });
  const wallets = new Set<string>();
  for (const wallet of to.slice(0, MAX_WALLETS)) {
    const parsed = typeof wallet === 'string' ? SOLANA.addresses.parse(wallet) : { error: 'must be a base58 address' };
    if ('error' in parsed) errors.push({ name: 'where.to', message: `${String(wallet)} ${parsed.error}` });
    else wallets.add(parsed.value);
  }
  return [...wallets].sort();
}

function compileField(name: string, source: FieldSource, errors: DefinitionError[]): CompiledSource['fields'] {
  const error = fieldError(name, source);
  if (error !== null) errors.push({ name: `fields.${name}`, message: error });
  if (typeof source === 'object' && 'is' in source) return [[name, source]];
  const field = PAYMENT_FIELDS.find((each) => each === source);
  return field === undefined ? [] : [[name, field]];
}

function fieldError(name: string, source: FieldSource): string | null {
  if (RESERVED_FIELDS.has(name)) return `is filled by Paybell: ${name}`;
  if (OWN_FIELDS.has(name)) return `would fill ${name} a second time; the preset fills it`;
  if (typeof source === 'object' && 'is' in source) return null;
  if (PAYMENT_FIELDS.some((each) => each === source)) return null;
  return `must be one of ${PAYMENT_FIELDS.join(', ')}, or {"is": value}`;
}
