import { compareDecimals, type Decimal, decimalKey, isPlainDecimal, parseDecimal } from './decimal.ts';
import { readPayloadFields } from './payload-fields.ts';

/**
 * The events that a webhook wants, by the fields at the top of their payloads: one of several values, or a range of
 * decimals. An event matches if every named field matches. A missing field matches nothing.
 */
export type PayloadFilter = Record<string, FilterValue[] | DecimalRange>;
export type FilterValue = string | number | boolean;
/** Both ends are included. */
export type DecimalRange = { min?: string | undefined; max?: string | undefined };

export const MAX_FILTER_FIELDS = 20;
export const MAX_FILTER_VALUES = 1_000;
export const MAX_VALUE_LENGTH = 256;
export const MAX_DECIMAL_LENGTH = 160;
const FIELD_NAME = /^[A-Za-z_$][A-Za-z0-9_$.:-]{0,63}$/;

export type FilterError = { readonly path: readonly (string | number)[]; readonly message: string };

/** All mistakes in a filter. The value is any object that JSON can hold. */
export function filterErrors(filter: Readonly<Record<string, unknown>>): FilterError[] {
  const fields = Object.entries(filter);
  if (fields.length === 0) return [{ path: [], message: 'must name at least one field; null means no filter' }];
  if (fields.length > MAX_FILTER_FIELDS) {
    return [{ path: [], message: `must name at most ${MAX_FILTER_FIELDS} fields` }];
  }
  const errors = fields.flatMap(([name, condition]) =>
    FIELD_NAME.test(name) && name !== '__proto__'
      ? conditionErrors(condition).map(({ path, message }) => ({ path: [name, ...path], message }))
      : [{ path: [name], message: 'must be the name of a payload field: at most 64 letters, digits, _, $, ., : or -' }],
  );
  const values = fields.reduce((sum, [, condition]) => sum + (Array.isArray(condition) ? condition.length : 0), 0);
  if (values > MAX_FILTER_VALUES) {
    errors.push({ path: [], message: `must have at most ${MAX_FILTER_VALUES} values in all its lists` });
  }
  return errors;
}

function conditionErrors(condition: unknown): FilterError[] {
  if (Array.isArray(condition)) return listErrors(condition);
  if (typeof condition === 'object' && condition !== null) return rangeErrors(condition);
  return [{ path: [], message: 'must be a list of values, or a range such as {"min": "10", "max": "99.99"}' }];
}

function listErrors(list: readonly unknown[]): FilterError[] {
  if (list.length === 0) return [{ path: [], message: 'must have at least one value' }];
  return list.flatMap((value, index) => {
    const isValid =
      typeof value === 'boolean' ||
      (typeof value === 'string' && value.length <= MAX_VALUE_LENGTH) ||
      (typeof value === 'number' && Number.isSafeInteger(value));
    const message = `must be a string of at most ${MAX_VALUE_LENGTH} characters, a whole number, true or false`;
    return isValid ? [] : [{ path: [index], message }];
  });
}

function rangeErrors(range: object): FilterError[] {
  const errors: FilterError[] = [];
  const ends = Object.entries(range);
  if (ends.length === 0) errors.push({ path: [], message: 'must have min or max' });
  for (const [name, end] of ends) {
    if (name !== 'min' && name !== 'max')
      errors.push({ path: [name], message: 'is not a known field; give min or max' });
    else if (!isRangeEnd(end)) errors.push({ path: [name], message: 'must be a decimal as a string, such as "10.50"' });
  }
  if (errors.length === 0 && isEmptyRange(range)) errors.push({ path: [], message: 'must have a min up to max' });
  return errors;
}

function isRangeEnd(end: unknown): end is string {
  return typeof end === 'string' && end.length <= MAX_DECIMAL_LENGTH && isPlainDecimal(end);
}

function isEmptyRange({ min, max }: DecimalRange): boolean {
  const [low, high] = [decimalOf(min), decimalOf(max)];
  return low !== null && high !== null && compareDecimals(low, high) > 0;
}

/** The same text for filters that want the same events, however they are written. */
export function canonicalFilter(filter: PayloadFilter): string {
  const fields = Object.entries(filter).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify(
    fields.map(([name, condition]) =>
      Array.isArray(condition)
        ? [name, [...new Set(condition.map(valueKey))].sort()]
        : [name, { min: rangeKey(condition.min), max: rangeKey(condition.max) }],
    ),
  );
}

function rangeKey(end: string | undefined): string | null {
  const decimal = decimalOf(end);
  return decimal === null ? null : decimalKey(decimal);
}

/** A filter, compiled for comparisons with many events. */
export type CompiledFilter = readonly { readonly name: string; readonly accepts: (value: FieldValue) => boolean }[];

export function compileFilter(filter: PayloadFilter): CompiledFilter {
  return Object.entries(filter).map(([name, condition]) => {
    if (!Array.isArray(condition)) return { name, accepts: rangeCheck(condition) };
    const keys = new Set(condition.map(valueKey));
    return { name, accepts: ({ key }) => key !== null && keys.has(key) };
  });
}

/** The longest JSON text of a string that a filter can name: each of its characters may be written as six. */
const MAX_WRITTEN_LENGTH = 6 * MAX_VALUE_LENGTH + 2;

/** The value of a payload's field, as it is written in JSON. It is read once, however many filters compare it. */
class FieldValue {
  #key: string | null | undefined;
  #decimal: Decimal | null | undefined;

  constructor(private readonly written: string) {}

  /** The value for a comparison with the values of a list; null if no list can have it. */
  get key(): string | null {
    if (this.#key === undefined) this.#key = writtenKey(this.written);
    return this.#key;
  }

  /** The value as a number; null if it is not one, or has more characters than an end of a range. */
  get decimal(): Decimal | null {
    if (this.#decimal === undefined) this.#decimal = writtenDecimal(this.written);
    return this.#decimal;
  }
}

/** The payload of one event. Its fields are read once for all filters. */
export class Payload {
  readonly #values = new Map<string, FieldValue | null>();
  #fields: ReadonlyMap<string, string> | null = null;

  constructor(private readonly body: string) {}

  matches(filter: CompiledFilter): boolean {
    for (const { name, accepts } of filter) {
      const value = this.#value(name);
      if (value === null || !accepts(value)) return false;
    }
    return true;
  }

  #value(name: string): FieldValue | null {
    const known = this.#values.get(name);
    if (known !== undefined) return known;
    this.#fields ??= readPayloadFields(this.body);
    const written = this.#fields.get(name);
    const value = written === undefined ? null : new FieldValue(written);
    this.#values.set(name, value);
    return value;
  }
}

function rangeCheck({ min, max }: DecimalRange): (value: FieldValue) => boolean {
  const [low, high] = [decimalOf(min), decimalOf(max)];
  return ({ decimal }) => {
    if (decimal === null) return false;
    if (low !== null && compareDecimals(low, decimal) > 0) return false;
    return high === null || compareDecimals(decimal, high) <= 0;
  };
}

/** The decimal in a JSON value: a number, or a string that holds a plain decimal. */
function writtenDecimal(written: string): Decimal | null {
  if (!written.startsWith('"')) return written.length > MAX_DECIMAL_LENGTH ? null : parseDecimal(written);
  if (written.length > MAX_WRITTEN_LENGTH) return null;
  const text = unquoted(written);
  return text.length <= MAX_DECIMAL_LENGTH && isPlainDecimal(text) ? parseDecimal(text) : null;
}

function decimalOf(end: string | undefined): Decimal | null {
  return end === undefined ? null : parseDecimal(end);
}

/** Hexadecimal, as in addresses and hashes of EVM chains, where capital letters are only a checksum. */
const HEX = /^0x[0-9a-f]+$/i;

function valueKey(value: FilterValue): string {
  if (typeof value === 'string') return `s${HEX.test(value) ? value.toLowerCase() : value}`;
  return typeof value === 'number' ? numberKey(String(value)) : `${value}`;
}

/** The key of a JSON value, as it is written; null for a value that is too long for a filter. */
function writtenKey(written: string): string | null {
  if (written.length > MAX_WRITTEN_LENGTH) return null;
  if (written.startsWith('"')) return valueKey(unquoted(written));
  return written === 'true' || written === 'false' ? written : numberKey(written);
}

/** A value that is not a number, such as null or a list, gets a key that no filter has. */
function numberKey(written: string): string {
  const decimal = parseDecimal(written);
  return decimal === null ? '' : `n${decimalKey(decimal)}`;
}

function unquoted(written: string): string {
  return written.includes('\\') ? String(JSON.parse(written)) : written.slice(1, -1);
}
