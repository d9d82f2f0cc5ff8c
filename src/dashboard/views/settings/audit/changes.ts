import type { AuditEntry } from '../../../../client/audit.ts';

/** A value in words, or a date in Unix seconds. */
export type ChangedValue = string | { readonly seconds: number };

export type Change = {
  readonly field: string;
  readonly before: ChangedValue | null;
  readonly after: ChangedValue | null;
};

/** The fields that an entry has changed, in words. A value is null if there was or is none. */
export function changesOf({ before, after }: Pick<AuditEntry, 'before' | 'after'>): Change[] {
  const fields = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})]);
  return [...fields]
    .filter((field) => JSON.stringify(before?.[field] ?? null) !== JSON.stringify(after?.[field] ?? null))
    .map((field) => ({
      field: fieldWords(field),
      before: shownValue(field, before?.[field]),
      after: shownValue(field, after?.[field]),
    }));
}

const FIELD_WORDS: Readonly<Record<string, string>> = {
  postUrl: 'URL',
  noticeUrl: 'Alert URL',
  networkId: 'Network',
  networkIds: 'Networks',
  dateExpires: 'Expires',
  dateRevoked: 'Revoked',
  overlapHours: 'Overlap in hours',
  inForce: 'In force',
  headerNames: 'Headers',
};

/** `rateLimit` is "Rate limit". */
function fieldWords(field: string): string {
  const words = field.replaceAll(/([a-z])([A-Z])/g, '$1 $2').toLowerCase();
  return FIELD_WORDS[field] ?? words.charAt(0).toUpperCase() + words.slice(1);
}

function shownValue(field: string, value: unknown): ChangedValue | null {
  if (value === undefined || value === null) return null;
  if (field.startsWith('date') && typeof value === 'number') return { seconds: value };
  return simpleText(value) ?? textOfFields(value) ?? textOfItems(value) ?? JSON.stringify(value);
}

/** A single value, or several of them; null for anything else. */
function simpleText(value: unknown): string | null {
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'string' || typeof value === 'number') return String(value);
  if (!Array.isArray(value)) return null;
  const items = value.map((item) => (Array.isArray(item) ? null : simpleText(item)));
  return items.includes(null) ? null : items.length === 0 ? 'none' : items.join(', ');
}

/** An object of single values, such as `Finality: final`; null for any other object. */
function textOfFields(value: unknown): string | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  const fields = Object.entries(value).map(([field, inner]) => {
    const text = inner === null ? 'none' : simpleText(inner);
    return text === null ? null : `${fieldWords(field)}: ${text}`;
  });
  return fields.includes(null) ? null : fields.join(', ');
}

/** A list of such objects; null for anything else. */
function textOfItems(value: unknown): string | null {
  if (!Array.isArray(value)) return null;
  const items = value.map(textOfFields);
  return items.includes(null) ? null : items.join('; ');
}
