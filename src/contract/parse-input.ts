import type { z } from 'zod';
import { type InputError, MAX_INPUT_ERRORS_SHOWN } from './problems.ts';

/** Parsed input, or every fault of it at once: a caller should not have to send a request five times to mend it. */
export type Parsed<Value> = { ok: true; value: Value } | { ok: false; faults: InputError[] };

const MAX_ECHO = 64;

/** Reads a query string (without the `?`) by a schema that names every known parameter. */
export function parseQuery<Schema extends z.ZodObject>(schema: Schema, search: string): Parsed<z.output<Schema>> {
  const known = Object.keys(schema.shape);
  const { values, faults } = readParameters(search, known);
  const faulty = new Set(faults.map((fault) => fault.name));
  const result = schema.safeParse(values);
  if (result.success && faults.length === 0) return { ok: true, value: result.data };
  const refused = result.success ? [] : faultsOf(result.error, 'query').filter((fault) => !faulty.has(fault.name));
  return { ok: false, faults: [...faults, ...refused] };
}

/** Reads a parsed JSON body by a strict schema; an unknown field gets the nearest known name as a hint. */
export function parseBody<Schema extends z.ZodType>(schema: Schema, body: unknown): Parsed<z.output<Schema>> {
  const result = schema.safeParse(body);
  if (result.success) return { ok: true, value: result.data };
  return { ok: false, faults: firstOfEach(faultsOf(result.error, 'body', fieldsOf(schema))) };
}

/** One value can break several rules at once, and the first of them says enough. */
function firstOfEach(faults: readonly InputError[]): InputError[] {
  const named = new Set<string>();
  return faults.filter(({ name }) => !named.has(name) && named.add(name));
}

function readParameters(search: string, known: readonly string[]) {
  const values: Record<string, string> = {};
  const faults = new Map<string, InputError>();
  const fault = (name: string, message: string) => {
    const shown = clip(name);
    if (!faults.has(shown)) faults.set(shown, { in: 'query', name: shown, message });
  };
  // Most queries have nothing to decode, and then the decoder need not look at each part.
  const read = ENCODED.test(search) ? decode : (text: string) => text;
  for (const pair of search.split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const name = read(equals < 0 ? pair : pair.slice(0, equals));
    const value = read(equals < 0 ? '' : pair.slice(equals + 1));
    if (name === null) fault(pair, 'is not valid percent-encoded UTF-8');
    else if (!known.includes(name)) fault(name, unknownName('parameter', name, known, faults.size));
    else if (value === null) fault(name, 'is not valid percent-encoded UTF-8');
    else if (Object.hasOwn(values, name)) fault(name, 'is given more than once; give it once');
    else values[name] = value;
  }
  return { values, faults: [...faults.values()] };
}

const ENCODED = /[%+]/;

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return null;
  }
}

function faultsOf(error: z.ZodError, where: InputError['in'], known: readonly string[] = []): InputError[] {
  return error.issues.flatMap((issue) => {
    const name = issue.path.join('.');
    if (issue.code !== 'unrecognized_keys') return [{ in: where, name, message: issue.message }];
    return issue.keys.map((key, index) => ({
      in: where,
      name: clip([...issue.path, key].join('.')),
      message: unknownName('field', key, known, index),
    }));
  });
}

function fieldsOf(schema: z.ZodType): string[] {
  return 'shape' in schema && typeof schema.shape === 'object' ? Object.keys(schema.shape ?? {}) : [];
}

/** Only what is shown gets a hint: looking for the nearest name of twenty thousand would keep everybody else waiting. */
function unknownName(kind: 'parameter' | 'field', name: string, known: readonly string[], index: number): string {
  if (index >= MAX_INPUT_ERRORS_SHOWN) return `is not a known ${kind}`;
  if (known.length === 0) return `is not a known ${kind}; there are none here`;
  const near = nearest(name, known);
  if (near !== null) return `is not a known ${kind}; did you mean ${near}?`;
  return `is not a known ${kind}; known are ${known.join(', ')}`;
}

/** The known name within two edits, upper and lower case aside; long names are not worth the comparison. */
export function nearest(name: string, known: readonly string[]): string | null {
  if (name.length > MAX_ECHO) return null;
  let best: { candidate: string; distance: number } | null = null;
  for (const candidate of known) {
    if (Math.abs(candidate.length - name.length) > 2) continue;
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance <= 2 && (best === null || distance < best.distance)) best = { candidate, distance };
  }
  return best?.candidate ?? null;
}

function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      current[j] = Math.min((previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1, substitution);
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}

function clip(text: string): string {
  return text.length <= MAX_ECHO ? text : `${text.slice(0, MAX_ECHO)}…`;
}
