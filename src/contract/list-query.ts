import { z } from 'zod';
import { EVENT_NAME } from '../domain/event-kinds.ts';

/**
 * The grammar that all lists share: `page`, `limit`, `sortBy`, `sortDir`, and filters by name. Parameters arrive as
 * text. Each schema here turns the text into its value, and its `meta` gives the OpenAPI document the type of the value.
 */

export const DEFAULT_LIMIT = 25;
export const MAX_LIMIT = 100;

/** Keeps offsets exact: this page times the largest limit is still below 2^53. */
const MAX_PAGE = 90_000_000_000_000;

/** Checked before the conversion, because `Number()` also accepts `0x10`, ` 5 `, `1e2` and `Infinity`. */
const DIGITS = /^[0-9]{1,16}$/;

type Documentation = { description: string; example?: string | number };

const wholeNumberRule = (min: number, max: number) =>
  `must be a whole number from ${min} to ${max}, in plain decimal digits`;

function digits(min: number, max: number, rule = wholeNumberRule(min, max)) {
  return z
    .string()
    .regex(DIGITS, { error: rule, abort: true })
    .transform(Number)
    .pipe(z.number().min(min, { error: rule }).max(max, { error: rule }));
}

export function wholeNumber(min: number, max: number, documentation: Documentation) {
  return digits(min, max)
    .optional()
    .meta({ type: 'integer', minimum: min, maximum: max, ...documentation });
}

/** A time in a filter. */
export function unixSeconds(documentation: Documentation) {
  const [min, max] = [0, Number.MAX_SAFE_INTEGER];
  return digits(min, max, 'must be a time in Unix seconds, such as 1767225600 for 2026-01-01')
    .optional()
    .meta({ type: 'integer', minimum: min, maximum: max, ...documentation });
}

export function wholeNumberOr(fallback: number, min: number, max: number, documentation: Documentation) {
  return digits(min, max)
    .default(fallback)
    .meta({ type: 'integer', minimum: min, maximum: max, default: fallback, ...documentation });
}

function choice<const Values extends readonly [string, ...string[]]>(values: Values) {
  return z.enum(values, { error: `must be one of ${values.join(', ')} (names are case-sensitive)` });
}

export function oneOf<const Values extends readonly [string, ...string[]]>(
  values: Values,
  documentation: Documentation,
) {
  return choice(values)
    .optional()
    .meta({ type: 'string', enum: [...values], ...documentation });
}

export function oneOfOr<const Values extends readonly [string, ...string[]]>(
  fallback: z.core.util.NoUndefined<Values[number]>,
  values: Values,
  documentation: Documentation,
) {
  const schema: z.ZodType<Values[number], Values[number]> = choice(values);
  return schema.default(fallback).meta({ type: 'string', enum: [...values], default: fallback, ...documentation });
}

/** A filter by an event kind. The settings of a server can add kinds, so a client checks only the form of the name. */
export function eventFilter(documentation: Documentation) {
  return z
    .string()
    .regex(EVENT_NAME, { error: 'must be the name of an event kind' })
    .optional()
    .meta({ type: 'string', ...documentation });
}

/** Several values in one parameter, separated by commas. */
function several<Value>(item: z.ZodType<Value, string>, pattern: string, documentation: Documentation) {
  return z
    .string()
    .transform((text, context): Value[] => {
      const values: Value[] = [];
      for (const part of text.split(',')) {
        const result = item.safeParse(part);
        if (!result.success) {
          // One error for the parameter, however many of its values are wrong.
          const message = `is a comma-separated list: each value ${ruleOf(result.error)}`;
          context.addIssue({ code: 'custom', message });
          return z.NEVER;
        }
        values.push(result.data);
      }
      return values;
    })
    .optional()
    .meta({ type: 'string', pattern: `^${pattern}(,${pattern})*$`, ...documentation });
}

const ruleOf = ({ issues }: z.ZodError) => issues[0]?.message ?? 'must be valid';

export function wholeNumbers(min: number, max: number, documentation: Documentation) {
  return several(digits(min, max), '[0-9]{1,16}', documentation);
}

export function eventsFilter(documentation: Documentation) {
  const name = z.string().regex(EVENT_NAME, { error: 'must be the name of an event kind' });
  return several(name, '[A-Za-z][A-Za-z0-9_.-]{0,63}', documentation);
}

type EventFields = { event: ReturnType<typeof eventFilter>; events?: ReturnType<typeof eventsFilter> };

/** The query as the server accepts it: its `event` and its `events` are of the kinds that the server knows. */
export function withKnownEvents<Query extends z.ZodObject<EventFields>>(
  query: Query,
  [first = '', ...others]: readonly string[],
): Query {
  const { event, events } = query.shape;
  const described = (field: z.ZodType) => ({ description: field.meta()?.description ?? '' });
  const kinds = [first, ...others] as const;
  const known = query.safeExtend({ event: oneOf(kinds, described(event)) }) as unknown as Query;
  if (events === undefined) return known;
  const severalKnown = several(choice(kinds), `(${kinds.join('|').replaceAll('.', '\\.')})`, described(events));
  return (known as z.ZodObject).safeExtend({ events: severalKnown }) as unknown as Query;
}

/** A filter by an id or another exact text. An unknown value is not an error: its list is empty. */
export function exactText(documentation: Documentation) {
  return z
    .string()
    .regex(/^[^\0]+$/, { error: 'must not be empty and must not contain a NUL character' })
    .optional()
    .meta({ type: 'string', minLength: 1, ...documentation });
}

/** A text to look for. */
export function textOf(minLength: number, maxLength: number, documentation: Documentation) {
  const error = `must have ${minLength} to ${maxLength} characters and no NUL character`;
  return z
    .string()
    .min(minLength, { error })
    .max(maxLength, { error })
    .regex(/^[^\0]*$/, { error })
    .optional()
    .meta({ type: 'string', minLength, maxLength, ...documentation });
}

/** The four parameters of every list. The first field is the default for `sortBy`. */
export function pagingFields<const Fields extends readonly [string, ...string[]]>(sortFields: Fields) {
  return {
    page: wholeNumberOr(1, 1, MAX_PAGE, { description: 'Page number, starting at 1.' }),
    limit: wholeNumberOr(DEFAULT_LIMIT, 1, MAX_LIMIT, { description: 'Number of results per page.' }),
    sortBy: oneOfOr(sortFields[0], sortFields, { description: 'Field to sort by.' }),
    sortDir: oneOfOr('desc', ['asc', 'desc'], { description: 'Sort direction.' }),
  };
}
