import { describeFilter } from '../../../../domain/payload-filter/describe.ts';
import { filterErrors, type PayloadFilter } from '../../../../domain/payload-filter/payload-filter.ts';

/** The filter in a typed text. Null for no filter, and undefined if the text is not JSON. */
export function parseFilterText(text: string): unknown {
  if (text.trim() === '') return null;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function filterText(filter: PayloadFilter | null): string {
  return filter === null ? '' : JSON.stringify(filter, null, 2);
}

/** A filter in words, a line for each field. Null if the filter is not valid; the server then reports the mistake. */
export function wordsOf(filter: unknown): readonly string[] | null {
  if (filter === null) return [];
  if (!isObject(filter) || filterErrors(filter).length > 0) return null;
  return describeFilter(filter as PayloadFilter);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
