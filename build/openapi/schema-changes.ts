import { type Document, type Schema, schemaAt } from './document.ts';

/**
 * Changes of a schema that break programs. The reader of a value relies on what it may be: the server reads requests, clients
 * read responses, and receivers read what Paybell sends.
 */

export type Reader = 'server' | 'client';

type Side = { readonly document: Document; readonly schema: Schema };
type Context = { readonly reader: Reader; readonly seen: Set<string> };

/** Each as `place: what is wrong`. */
export function schemaChanges(released: Side, current: Side, reader: Reader, place: string): string[] {
  // A server that reads has to accept what was written for the old document, a client to understand what the new one writes.
  const [accepted, written] = reader === 'server' ? [current, released] : [released, current];
  return notAccepted(accepted, written, { reader, seen: new Set() }, place);
}

/** Why not everything that `written` describes is described by `accepted`. */
function notAccepted(accepted: Side, written: Side, context: Context, place: string): string[] {
  const pair = `${accepted.schema.$ref} ${written.schema.$ref}`;
  if (accepted.schema.$ref !== undefined && written.schema.$ref !== undefined) {
    if (context.seen.has(pair)) return [];
    context.seen.add(pair);
  }
  const choices = alternatives(accepted);
  return alternatives(written).flatMap((each) => {
    const found = choices.map((choice) => alternativeChanges(choice, each, context, place));
    return found.find((changes) => changes.length === 0) ?? fewest(found);
  });
}

function alternatives({ document, schema }: Side): Side[] {
  const { anyOf, oneOf, ...found } = schemaAt(document, schema);
  const choices = anyOf ?? oneOf;
  return choices === undefined
    ? typesOf(found).map((type) => ({ document, schema: type === undefined ? found : { ...found, type } }))
    : choices.flatMap((choice) => alternatives({ document, schema: choice }));
}

function typesOf({ type }: Schema): readonly (string | undefined)[] {
  return typeof type === 'object' ? type : [type];
}

function fewest(found: readonly string[][]): string[] {
  return found.reduce((best, each) => (each.length < best.length ? each : best));
}

function alternativeChanges(accepted: Side, written: Side, context: Context, place: string): string[] {
  const [a, w] = [accepted.schema, written.schema];
  if (!acceptsType(a, w)) return [`${place}: ${sayTypes(a, w, context)}`];
  return [
    ...valueChanges(a, w, context, place),
    ...(context.reader === 'server' ? boundChanges(a, w, place) : []),
    ...memberChanges(accepted, written, context, place),
    ...itemChanges(accepted, written, context, place),
  ];
}

function acceptsType(accepted: Schema, written: Schema): boolean {
  if (accepted.type === undefined || accepted.type === written.type) return true;
  return accepted.type === 'number' && written.type === 'integer';
}

function sayTypes(accepted: Schema, written: Schema, { reader }: Context): string {
  const [now, then] = reader === 'server' ? [accepted, written] : [written, accepted];
  return reader === 'server'
    ? `${then.type ?? 'any type'} is not accepted any more`
    : `can be ${now.type ?? 'of any type'}, and was ${then.type ?? 'of any type'}`;
}

function valueChanges(accepted: Schema, written: Schema, { reader }: Context, place: string): string[] {
  const [allowed, possible] = [valuesOf(accepted), valuesOf(written)];
  const isServer = reader === 'server';
  const hasFormat = accepted.format === undefined || accepted.format === written.format;
  const formats = hasFormat ? [] : [`${place}: has another format`];
  if (allowed === null) return formats;
  if (possible === null) {
    return [...formats, `${place}: ${isServer ? 'takes only some values now' : 'can have any value now'}`];
  }
  const foreign = possible.filter((value) => !allowed.includes(value));
  const verb = isServer ? 'is not accepted any more' : 'is a new value';
  return [...formats, ...foreign.map((value) => `${place}: ${JSON.stringify(value)} ${verb}`)];
}

function valuesOf(schema: Schema): readonly unknown[] | null {
  return schema.const === undefined ? (schema.enum ?? null) : [schema.const];
}

const LOWEST = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties'];
const HIGHEST = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties'];

function boundChanges(accepted: Schema, written: Schema, place: string): string[] {
  const bound = (schema: Schema, keyword: string, without: number) => Number(schema[keyword] ?? without);
  const { POSITIVE_INFINITY: highest, NEGATIVE_INFINITY: lowest } = Number;
  const raised = LOWEST.filter(
    (each) => bound(accepted, each, lowest) > Math.max(bound(written, each, lowest), least(each)),
  );
  const lowered = HIGHEST.filter((each) => bound(accepted, each, highest) < bound(written, each, highest));
  return [
    ...[...raised, ...lowered].map(
      (each) => `${place}: ${each} is ${accepted[each]}, and was ${written[each] ?? 'not set'}`,
    ),
    ...(accepted.pattern === undefined || accepted.pattern === written.pattern
      ? []
      : [`${place}: has another pattern`]),
  ];
}

/** No length is below zero, so a lower bound of zero on it says nothing. */
function least(keyword: string): number {
  return keyword.endsWith('inimum') ? Number.NEGATIVE_INFINITY : 0;
}

function memberChanges(accepted: Side, written: Side, context: Context, place: string): string[] {
  const isServer = context.reader === 'server';
  const members = { ...accepted.schema.properties };
  const shown = { ...written.schema.properties };
  const required = new Set(written.schema.required);
  return [
    ...(accepted.schema.required ?? [])
      .filter((name) => !required.has(name))
      .filter((name) => isServer || name in shown)
      .map((name) => `${place}.${name}: ${isServer ? 'is required now' : 'can be absent now'}`),
    ...Object.entries(shown).flatMap(([name, schema]) => {
      const other = members[name] ?? extraOf(accepted.schema, isServer);
      const side = { document: written.document, schema };
      if (other === null) return [`${place}.${name}: is not accepted any more`];
      return notAccepted({ document: accepted.document, schema: other }, side, context, `${place}.${name}`);
    }),
    ...(isServer ? [] : removedMembers(accepted.schema, shown, place)),
    ...mapChanges(accepted, written, context, place),
  ];
}

/** Optional ones too: programs name them. */
function removedMembers({ properties = {} }: Schema, shown: object, place: string): string[] {
  const removed = Object.keys(properties).filter((name) => !(name in shown));
  return removed.map((name) => `${place}.${name}: is removed`);
}

/** What a member without a description may be. Readers ignore what they do not know, and the server need not. */
function extraOf({ additionalProperties: extra }: Schema, isServer: boolean): Schema | null {
  if (!isServer) return {};
  return extra === false ? null : typeof extra === 'object' ? extra : {};
}

/** Of objects that are used as maps. */
function mapChanges(accepted: Side, written: Side, context: Context, place: string): string[] {
  const [a, w] = [accepted.schema.additionalProperties, written.schema.additionalProperties];
  if (w === false || (w === undefined && written.schema.properties !== undefined)) return [];
  if (a === false) return context.reader === 'server' ? [`${place}: takes no other members any more`] : [];
  if (typeof a !== 'object' || typeof w !== 'object') return [];
  const [one, other] = [
    { ...accepted, schema: a },
    { ...written, schema: w },
  ];
  return notAccepted(one, other, context, `${place}.*`);
}

function itemChanges(accepted: Side, written: Side, context: Context, place: string): string[] {
  if (accepted.schema.items === undefined) return [];
  return notAccepted(
    { document: accepted.document, schema: accepted.schema.items },
    { document: written.document, schema: written.schema.items ?? {} },
    context,
    `${place}[]`,
  );
}
