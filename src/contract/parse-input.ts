import type { z } from 'zod';
import { type InputError, MAX_INPUT_ERRORS_SHOWN } from './problems.ts';

/** Parsed input, or all of its errors at once, so that a client can fix its request in one go. */
export type Parsed<Value> = { ok: true; value: Value } | { ok: false; errors: InputError[] };

const MAX_ECHO = 64;

/** Parses a query string (without the `?`) with a schema that has every known parameter. */
export function parseQuery<Schema extends z.ZodObject>(schema: Schema, search: string): Parsed<z.output<Schema>> {
  const known = Object.keys(schema.shape);
  const { values, errors } = readParameters(search, known);
  const reported = new Set(errors.map(({ name }) => name));
  const result = schema.safeParse(values);
  if (result.success && errors.length === 0) return { ok: true, value: result.data };
  const invalid = result.success ? [] : inputErrors(result.error, 'query').filter(({ name }) => !reported.has(name));
  return { ok: false, errors: [...errors, ...invalid] };
}

/** Parses a JSON value with a strict schema. The error of an unknown field suggests the closest known name. */
export function parseBody<Schema extends z.ZodType>(schema: Schema, body: unknown): Parsed<z.output<Schema>> {
  const result = schema.safeParse(body);
  if (result.success) return { ok: true, value: result.data };
  const errors = inputErrors(result.error, 'body', fieldsOf(schema), body);
  const explained = explanations.get(schema);
  const inWords = errors.map((error) => ({ ...error, message: explained?.get(error.name) ?? error.message }));
  return { ok: false, errors: firstOfEach(inWords) };
}

const explanations = new WeakMap<z.ZodType, ReadonlyMap<string, string>>();

/** Gives the errors of fields that the schema has not got a message that says why. */
export function explainFields(schema: z.ZodType, names: readonly string[], message: string): void {
  explanations.set(schema, new Map(names.map((name) => [name, message])));
}

/** One value can break several rules, and the first of them is enough to report. */
function firstOfEach(errors: readonly InputError[]): InputError[] {
  const named = new Set<string>();
  return errors.filter(({ name }) => !named.has(name) && named.add(name));
}

function readParameters(search: string, known: readonly string[]) {
  const values: Record<string, string> = {};
  const errors = new Map<string, InputError>();
  const report = (name: string, message: string) => {
    const shown = clip(name);
    if (!errors.has(shown)) errors.set(shown, { in: 'query', name: shown, message });
  };
  // Most query strings contain nothing to decode.
  const read = ENCODED.test(search) ? decode : (text: string) => text;
  for (const pair of search.split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const name = read(equals < 0 ? pair : pair.slice(0, equals));
    const value = read(equals < 0 ? '' : pair.slice(equals + 1));
    if (name === null) report(pair, 'is not valid percent-encoded UTF-8');
    else if (!known.includes(name)) report(name, unknownName('parameter', name, known, errors.size));
    else if (value === null) report(name, 'is not valid percent-encoded UTF-8');
    else if (Object.hasOwn(values, name)) report(name, 'is given more than once; give it once');
    else values[name] = value;
  }
  return { values, errors: [...errors.values()] };
}

const ENCODED = /[%+]/;

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return null;
  }
}

function inputErrors(error: z.ZodError, where: InputError['in'], known: readonly string[] = [], body?: unknown) {
  return error.issues.flatMap((issue): InputError[] => {
    const name = issue.path.join('.');
    if (issue.code !== 'unrecognized_keys') {
      const message = where === 'body' ? explainAbsence(issue, body) : issue.message;
      return [{ in: where, name, message }];
    }
    return issue.keys.map((key, index) => ({
      in: where,
      name: clip([...issue.path, key].join('.')),
      message: unknownName('field', key, known, index),
    }));
  });
}

/** The message of an issue, which begins with "is required" if the input does not have the field. */
export function explainAbsence({ path, message }: z.core.$ZodIssue, input: unknown): string {
  const isRule = path.length > 0 && message.startsWith('must be ');
  return isRule && !hasValueAt(input, path) ? `is required; it ${message}` : message;
}

function hasValueAt(input: unknown, path: readonly PropertyKey[]): boolean {
  let value = input;
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return false;
    value = Reflect.get(value, key);
  }
  return value !== undefined;
}

function fieldsOf(schema: z.ZodType): string[] {
  return 'shape' in schema && typeof schema.shape === 'object' ? Object.keys(schema.shape ?? {}) : [];
}

/** Only the errors that are shown get a suggestion: finding one for each of 20,000 names would block the event loop. */
function unknownName(kind: 'parameter' | 'field', name: string, known: readonly string[], index: number): string {
  if (index >= MAX_INPUT_ERRORS_SHOWN) return `is not a known ${kind}`;
  if (known.length === 0) return `is not a known ${kind}; this request has none`;
  const near = nearest(name, known);
  if (near !== null) return `is not a known ${kind}; did you mean ${near}?`;
  return `is not a known ${kind}; known ${kind}s are ${known.join(', ')}`;
}

/** The closest known name within two edits, ignoring case. Long names are not compared. */
export function nearest(name: string, known: readonly string[], maxEdits = 2): string | null {
  if (name.length > MAX_ECHO) return null;
  let best: { candidate: string; distance: number } | null = null;
  for (const candidate of known) {
    if (Math.abs(candidate.length - name.length) > maxEdits) continue;
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase(), maxEdits);
    if (distance <= maxEdits && (best === null || distance < best.distance)) best = { candidate, distance };
  }
  return best?.candidate ?? null;
}

/**
 * Insertions, deletions, substitutions, and neighbours that changed places, each at a cost of one. Infinite as soon as it is above
 * `most`: a start compares each variable of its environment with each setting.
 */
function editDistance(a: string, b: string, most: number): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    let least = i;
    for (let j = 1; j <= b.length; j++) {
      const substitution = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swap = isSwapped ? (beforePrevious[j - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY;
      const distance = Math.min((previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1, substitution, swap);
      current[j] = distance;
      if (distance < least) least = distance;
    }
    // A later row is at least this, and a swap past this row at least one more than what it started from.
    if (least > most) return Number.POSITIVE_INFINITY;
    [beforePrevious, previous] = [previous, current];
  }
  return previous[b.length] ?? 0;
}

function clip(text: string): string {
  return text.length <= MAX_ECHO ? text : `${text.slice(0, MAX_ECHO)}…`;
}
