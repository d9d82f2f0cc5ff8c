import type { DeliveryFilter } from '../../../contract/deliveries/redelivery.ts';
import { firstHexAt } from '../../../domain/ids.ts';
import type { Dialect, Queries, SqlUuid } from '../../database/database.ts';
import { Columns, integer, nullable, Parameters, type RowOf, uuid } from '../../database/sql.ts';
import { kindOf } from '../list/rows.ts';
import { resolveScope, type Scope } from '../list/scope.ts';
import { type Source, sourcesOf, textWithin, walkOf } from '../list/sources.ts';

export const FIRST_ID = '0'.repeat(32);

type Search = {
  readonly entityId: string;
  readonly filter: DeliveryFilter;
  /** Later deliveries do not match. */
  readonly untilMs: number;
  /** An id, as 32 hex digits. */
  readonly after: string;
};

export type Share = {
  /** In the order of their ids. */
  readonly found: readonly { readonly hex: string; readonly webhookNo: number }[];
  /** The id up to which everything was read; null when there is no more. */
  readonly readTo: string | null;
};

const foundColumns = new Columns({
  id: uuid('id'),
  webhookNo: integer('webhook_no'),
  test: nullable(integer('test')),
});
type Found = { readonly hex: string } & Pick<RowOf<typeof foundColumns>, 'webhookNo' | 'test'>;

/**
 * Finds the next matches after an id among completed and waiting deliveries, without alerts and test requests. Both tables are
 * read only up to the limits.
 */
export async function findShare(queries: Queries, dialect: Dialect, search: Search): Promise<Share> {
  await queries.get(dialect.planForClaims);
  const scope = await resolveScope(queries, dialect, search.entityId, search.filter);
  if (scope === null) return { found: [], readTo: null };
  const narrowed = narrow(scope, search.untilMs);
  const sources = sourcesOf(narrowed);
  const found = new Map<string, Found>();
  let readTo: string | null = null;
  const parts: { source: Source; end: string | null }[] = [];
  for (const source of sources) {
    parts.push({ source, end: await endOfWalk(queries, dialect, walkOf(narrowed, source), search) });
  }
  const inTable = (name: string) => parts.filter(({ source }) => source.table === name);
  // PostgreSQL runs each read with a later snapshot. A delivery that is completed or sent again in between is in at least one of
  // the three reads.
  for (const { source, end } of [...inTable('queue'), ...inTable('deliveries'), ...inTable('queue')]) {
    const rows = await readMatches(queries, dialect, source, search, end);
    for (const { id, ...row } of rows) found.set(dialect.hexOf(id), { hex: dialect.hexOf(id), ...row });
    const last = rows.length === dialect.limits.rows ? rows.at(-1) : undefined;
    readTo = firstOf(readTo, last === undefined ? end : dialect.hexOf(last.id));
  }
  const sorted = [...found.values()].sort((a, b) => (a.hex < b.hex ? -1 : 1));
  const share = sorted.filter(({ hex }) => readTo === null || hex <= readTo).slice(0, dialect.limits.rows);
  const isFull = share.length === dialect.limits.rows;
  const events = share.filter((delivery) => kindOf(delivery) === 'event');
  return { found: events, readTo: isFull ? (share.at(-1)?.hex ?? null) : readTo };
}

/** Narrows the scope to deliveries that existed when the redelivery was started. */
function narrow(scope: Scope, startedAtMs: number): Scope {
  const untilMs = startedAtMs + 1;
  const toHex = firstHexAt(untilMs);
  return {
    ...scope,
    untilMs: Math.min(scope.untilMs ?? untilMs, untilMs),
    toHex: toHex < scope.toHex ? toHex : scope.toHex,
  };
}

/** The id at which this step stops. Null if the step reaches the end, or if every row it reads matches. */
async function endOfWalk(
  queries: Queries,
  dialect: Dialect,
  walk: Source | null,
  { after }: Search,
): Promise<string | null> {
  if (walk === null) return null;
  const parameters = new Parameters();
  const text = textWithin(walk, parameters);
  const row = await queries.get<{ id: SqlUuid }>(
    `select ${walk.order} as id ${text} and ${walk.order} > ${parameters.bind(dialect.bindUuid(after))}
     order by ${walk.order} limit 1 offset ${dialect.limits.searched - 1}`,
    parameters.values,
  );
  return row === undefined ? null : dialect.hexOf(row.id);
}

function readMatches(
  queries: Queries,
  { bindUuid, limits }: Dialect,
  source: Source,
  { after }: Search,
  end: string | null,
): Promise<RowOf<typeof foundColumns>[]> {
  const alias = source.table === 'deliveries' ? 'd.' : 'q.';
  const parameters = new Parameters();
  const text = textWithin(source, parameters);
  const upTo = end === null ? '' : `and ${alias}id <= ${parameters.bind(bindUuid(end))}`;
  return foundColumns.all(
    queries,
    `select ${foundColumns.of(alias)} ${text} and ${alias}id > ${parameters.bind(bindUuid(after))} ${upTo}
     order by ${source.order} limit ${limits.rows}`,
    parameters.values,
  );
}

function firstOf(one: string | null, other: string | null): string | null {
  if (one === null || other === null) return one ?? other;
  return one < other ? one : other;
}
