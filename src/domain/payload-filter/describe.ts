import type { DecimalRange, FilterValue, PayloadFilter } from './payload-filter.ts';

/** More values than a person reads one by one. */
const VALUES_SHOWN = 5;

/** A filter in words, a line for each field: `amount is from 100 to 999.99`. */
export function describeFilter(filter: PayloadFilter): string[] {
  return Object.entries(filter).map(([field, condition]) => {
    return `${field} is ${Array.isArray(condition) ? oneOf(condition) : within(condition)}`;
  });
}

function within({ min, max }: DecimalRange): string {
  if (min === undefined) return `at most ${max}`;
  return max === undefined ? `at least ${min}` : `from ${min} to ${max}`;
}

function oneOf(values: readonly FilterValue[]): string {
  const shown = values.slice(0, VALUES_SHOWN).map(showValue);
  const others = values.length - shown.length;
  const last = others > 0 ? `one of ${others} more` : (shown.pop() ?? '');
  return shown.length === 0 ? last : `${shown.join(', ')} or ${last}`;
}

/** A text is in quotes where it could be read as another value or as part of the sentence. */
function showValue(value: FilterValue): string {
  if (typeof value !== 'string') return String(value);
  const isPlain = /^[\p{L}\p{N}_.:/@+-]+$/u.test(value);
  return isPlain && !/^(true|false|-?[0-9.]+)$/.test(value) ? value : JSON.stringify(value);
}
