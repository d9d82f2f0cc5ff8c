import type { Queries, SqlInteger, SqlValue } from '../database/database.ts';
import { readInteger } from '../database/sql.ts';
import type { Direction, Slice } from './page.ts';

/**
 * Lists with counters: whole buckets of time come from these, and rows are counted one by one only in a bucket that the range
 * of dates cuts.
 */

/** A range of dates; null stands for no bound. */
type Timed = { readonly sinceMs: number | null; readonly untilMs: number | null };

type Counters = { readonly total: string; readonly from: string; readonly parameters: readonly SqlValue[] };

export type Buckets<Scope extends Timed> = {
  readonly bucketMs: number;
  /** The counters of the buckets from `first` up to `end`, for one statement or several. */
  readonly counters: (scope: Scope, first: number, end: number) => readonly Counters[];
  readonly countRows: (scope: Scope) => Promise<number>;
  /** The part of the scope within another range of dates. */
  readonly cut: (scope: Scope, range: Partial<Timed>) => Scope;
};

const FIRST_BUCKET = 0;
const LAST_BUCKET = 2 ** 31 - 1;

/** Buckets that lie wholly in the range of dates. */
function wholeBuckets({ sinceMs, untilMs }: Timed, bucketMs: number): { first: number; end: number } {
  return {
    first: sinceMs === null ? FIRST_BUCKET : Math.ceil(sinceMs / bucketMs),
    end: untilMs === null ? LAST_BUCKET : Math.floor(untilMs / bucketMs),
  };
}

export async function countByBuckets<Scope extends Timed>(
  queries: Queries,
  { bucketMs, counters, countRows, cut }: Buckets<Scope>,
  scope: Scope,
): Promise<number> {
  const { first, end } = wholeBuckets(scope, bucketMs);
  if (first >= end) return countRows(scope);
  const whole = counters(scope, first, end).map(({ total, from, parameters }) =>
    readInteger(queries, `sum(${total})`, from, parameters),
  );
  const before = scope.sinceMs === null ? 0 : countRows(cut(scope, { untilMs: first * bucketMs }));
  const after = scope.untilMs === null ? 0 : countRows(cut(scope, { sinceMs: end * bucketMs }));
  const totals = await Promise.all([...whole, before, after]);
  return totals.reduce((sum, total) => sum + total, 0);
}

/** Returns the part of the scope in which the rows of the window lie, and how many matches to skip in it. */
export async function findInBuckets<Scope extends Timed>(
  queries: Queries,
  { bucketMs, counters, countRows, cut }: Buckets<Scope>,
  scope: Scope,
  { skip, count, direction }: Slice,
): Promise<{ scope: Scope; skip: number }> {
  const { first, end } = wholeBuckets(scope, bucketMs);
  if (first >= end) return { scope, skip };
  const isUp = direction === 'asc';
  const from = (ms: number) => (isUp ? { sinceMs: ms } : { untilMs: ms });
  const to = (ms: number) => (isUp ? { untilMs: ms } : { sinceMs: ms });
  const isCut = (isUp ? scope.sinceMs : scope.untilMs) !== null;
  const atEdge = isCut ? await countRows(cut(scope, to((isUp ? first : end) * bucketMs))) : 0;
  if (skip < atEdge) return { scope, skip };
  let before = atEdge;
  let part: { scope: Scope; skip: number } | null = null;
  for (const { bucket, total } of await readBuckets(queries, counters(scope, first, end), direction)) {
    const [nearMs, farMs] = isUp
      ? [bucket * bucketMs, (bucket + 1) * bucketMs]
      : [(bucket + 1) * bucketMs, bucket * bucketMs];
    if (part === null && skip < before + total) part = { scope: cut(scope, from(nearMs)), skip: skip - before };
    before += total;
    if (part !== null && skip + count <= before) return { ...part, scope: cut(part.scope, to(farMs)) };
  }
  return part ?? { scope: cut(scope, from((isUp ? end : first) * bucketMs)), skip: skip - before };
}

async function readBuckets(
  queries: Queries,
  [counters]: readonly Counters[],
  direction: Direction,
): Promise<{ bucket: number; total: number }[]> {
  if (counters === undefined) return [];
  const rows = await queries.all<{ bucket: SqlInteger; total: SqlInteger }>(
    `select bucket, sum(${counters.total}) as total ${counters.from} group by bucket order by bucket ${direction}`,
    counters.parameters,
  );
  return rows.map((row) => ({ bucket: Number(row.bucket), total: Number(row.total) }));
}
