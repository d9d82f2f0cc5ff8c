import { z } from 'zod';
import { type Parsed, parseQuery } from '../../contract/parse-input.ts';
import { BoundedMap } from '../../domain/bounded-map.ts';
import { searchOf } from './request-url.ts';

const MAX_KNOWN = 1_000;
const MAX_LENGTH = 256;

const noParameters = z.strictObject({});

/**
 * Reads the query of one operation by its schema. The same few texts come again and again, whoever asks, and always mean
 * the same: each is read once, and what came of it is never changed by anybody.
 */
export class QueryReader<Query extends z.ZodObject> {
  readonly #known = new BoundedMap<string, Parsed<z.output<Query>>>(MAX_KNOWN);
  readonly #schema: z.ZodObject;

  constructor(schema: Query | undefined) {
    this.#schema = schema ?? noParameters;
  }

  read(url: string): Parsed<z.output<Query>> {
    const search = searchOf(url);
    const known = this.#known.get(search);
    if (known !== undefined) return known;
    const parsed = parseQuery(this.#schema, search) as Parsed<z.output<Query>>;
    if (!parsed.ok || search.length > MAX_LENGTH) return parsed;
    Object.freeze(parsed.value);
    this.#known.set(search, parsed);
    return parsed;
  }
}
