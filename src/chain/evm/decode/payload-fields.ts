import { formatAmount } from '../../../domain/chain/invoices/amounts.ts';
import { readSubject } from '../../../domain/supersession/rules.ts';
import type { LogAddresses } from './definition/addresses.ts';
import type { CompiledSource } from './definition/compile-source.ts';
import type { FieldPlan, TokenPlan } from './definition/fields.ts';
import type { LogValues } from './log-values.ts';

export type Payload = {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly transferId: string | null;
  readonly agreementId: string | null;
};

/** An event has at most 256 KiB. The difference is for the fields that all events have. */
const MAX_FIELDS_BYTES = 200_000;
/** Data up to this length cannot exceed `MAX_FIELDS_BYTES`, even in every field: a byte of a text takes at most six bytes in JSON. */
const HARMLESS_DATA_LENGTH = 1_000;

function tokenOf(plan: TokenPlan, values: LogValues): string {
  return 'address' in plan ? plan.address : String(values[plan.index]);
}

/** The tokens whose decimals the fields need. */
export function addTokens({ fields }: CompiledSource, values: LogValues, tokens: Set<string>): void {
  for (const plan of fields) if (plan.how === 'amount') tokens.add(tokenOf(plan.token, values));
}

/** The fields that the log proves. If a token states no decimals, its amounts appear only in their smallest unit. */
export function fillFields(
  { fields: plans, contract }: CompiledSource,
  values: LogValues,
  decimals: ReadonlyMap<string, number>,
  addresses: Pick<LogAddresses, 'show'>,
  dataLength: number,
): Payload {
  const fields: Record<string, unknown> = {};
  for (const plan of plans) fill(fields, plan, values, decimals, contract, addresses);
  const kept = dataLength > HARMLESS_DATA_LENGTH ? withoutLargest(fields) : fields;
  return { fields: kept, transferId: subject(kept.transferId), agreementId: subject(kept.agreementId) };
}

function fill(
  fields: Record<string, unknown>,
  plan: FieldPlan,
  values: LogValues,
  decimals: ReadonlyMap<string, number>,
  contract: string,
  addresses: Pick<LogAddresses, 'show'>,
): void {
  switch (plan.how) {
    case 'value':
      if (plan.when === null || values[plan.when.index] === plan.when.equals) {
        const value = values[plan.index];
        fields[plan.name] = plan.isAddress ? addresses.show(String(value)) : written(value);
      }
      break;
    case 'amount': {
      const base = values[plan.index] as bigint;
      const known = decimals.get(tokenOf(plan.token, values));
      if (known !== undefined) fields[plan.name] = formatAmount(base, known);
      fields[`${plan.name}Base`] = base.toString();
      break;
    }
    case 'constant':
      fields[plan.name] = plan.value;
      break;
    case 'contract':
      fields[plan.name] = addresses.show(contract);
      break;
    case 'joined':
      fields[plan.name] = plan.indices.map((index) => values[index]).join('-');
  }
}

/** The value in JSON. Integers are decimal texts, because many languages would round a number. */
function written(value: unknown): unknown {
  if (typeof value === 'bigint' || typeof value === 'number') return value.toString();
  if (Array.isArray(value)) return value.map(written);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, written(each)]));
}

/** Returns null for a text that is empty, that a database cannot hold, or that was not valid UTF-8. */
function subject(value: unknown): string | null {
  const text = readSubject(value) ?? '';
  return text !== '' && text.isWellFormed() && !UNUSABLE.test(text) ? text : null;
}

const UNUSABLE = /[\p{Cc}\ufffd]/u;

/** Leaves out the largest fields until the rest fits into an event; `omittedFields` names them. */
function withoutLargest(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const sizes = Object.entries(fields).map(([name, value]) => ({
    name,
    size: Buffer.byteLength(JSON.stringify(value)),
  }));
  let total = sizes.reduce((sum, { size }) => sum + size, 0);
  const omitted: string[] = [];
  for (const { name, size } of sizes.sort((a, b) => b.size - a.size)) {
    if (total <= MAX_FIELDS_BYTES) break;
    omitted.push(name);
    total -= size;
  }
  if (omitted.length === 0) return fields;
  const kept = Object.entries(fields).filter(([name]) => !omitted.includes(name));
  return { ...Object.fromEntries(kept), omittedFields: omitted.sort() };
}
