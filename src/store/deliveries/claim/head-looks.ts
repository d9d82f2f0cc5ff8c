import type { Dialect, Queries, SqlValue } from '../../database/database.ts';
import { Columns, chunks, integer, nullable, text, uuid, valuesList } from '../../database/sql.ts';
import { FULL_LOOK_MS, type Head, isFullLook, startOfLook, UNCOMMITTED_MS } from './claim-heads.ts';
import type { ClaimedRow } from './load-claimed.ts';

/** Decides when a head is looked at again after all its due deliveries were claimed. */

/** How long claims leave a head without waiting deliveries alone: longer each time, so that idle webhooks cost nothing. */
const IDLE_MS = [5_000, 30_000, 300_000, 3_600_000] as const;
const LONGEST_IDLE_MS = 3_600_000;
/** Rows that a look reads to find out when the next row can be claimed. */
const ROWS_PER_LOOK = 64;

/** How far a claim may be ahead of its head's mark, in due times, before the mark is moved. */
const MARK_LAG_MS = 5_000;

/**
 * Heads that have more due rows, but whose mark must move. While a long backlog is sent, every claim walks from the mark over the
 * rows that were sent since the mark moved. With an open snapshot, PostgreSQL reads each of these entries again and again.
 */
export function headsPastMark(
  { hexOf }: Dialect,
  heads: readonly Head[],
  rows: readonly ClaimedRow[],
  nowMs: number,
): Set<Head> {
  const keyOf = ({ entity, webhookNo, generation }: Pick<ClaimedRow, 'entity' | 'webhookNo' | 'generation'>) =>
    `${hexOf(entity)} ${webhookNo} ${generation}`;
  const firstDueMs = new Map<string, number>();
  for (const row of rows) {
    const key = keyOf(row);
    firstDueMs.set(key, Math.min(row.dueMs, firstDueMs.get(key) ?? Number.POSITIVE_INFINITY));
  }
  return new Set(
    heads.filter((head) => {
      const markMs = Math.min(firstDueMs.get(keyOf(head)) ?? 0, nowMs - UNCOMMITTED_MS);
      return markMs > startOfLook(head, nowMs).dueMs + MARK_LAG_MS;
    }),
  );
}

const LOOK_TYPES = Array<string>(6).fill('bigint');

const lookColumns = new Columns({
  entity: uuid('entity_id'),
  webhookNo: integer('webhook_no'),
  seen: nullable(text()),
});

/**
 * Postpones heads whose due rows were all claimed until their next row can be claimed. The hint may be too early, never too late:
 * if many rows have a lease, the hint is the due time of the last row read. For a head in `ahead`, which has more due rows, only
 * the first row is read: the mark moves there.
 */
export async function postponeHeads(
  queries: Queries,
  dialect: Dialect,
  heads: readonly Head[],
  ahead: ReadonlySet<Head>,
  nowMs: number,
): Promise<void> {
  const due = heads.filter(({ nextDueMs }) => nextDueMs <= nowMs);
  // Skips a head that an acceptance has locked, because the acceptance makes the head due at once.
  const { from, where } = dialect.rowsOf('queue_heads', 'looks', ['entity_id', 'webhook_no'], 'skip locked');
  for (const chunk of chunks(due)) {
    const [exhausted, unfinished] = [chunk.filter((head) => !ahead.has(head)), chunk.filter((head) => ahead.has(head))];
    const found = new Map([
      ...(await lookAt(queries, dialect, exhausted, ROWS_PER_LOOK, nowMs)),
      ...(await lookAt(queries, dialect, unfinished, 1, nowMs)),
    ]);
    const values = chunk.flatMap((head): SqlValue[] => {
      const { nextDueMs, idle, lookFromMs, fullLookMs } = nextLook(head, found.get(head) ?? null, nowMs);
      return [head.entity, head.webhookNo, head.writeCount, nextDueMs, idle, lookFromMs, fullLookMs];
    });
    await queries.send(
      `with looks (entity_id, webhook_no, write_count, next_due_ms, idle, look_from_ms, full_look_ms) as
         (values ${valuesList(chunk.length, LOOK_TYPES.length + 1, 0, [dialect.uuid, ...LOOK_TYPES])})
       update queue_heads set next_due_ms = looks.next_due_ms, idle = looks.idle, look_from_ms = looks.look_from_ms,
         full_look_ms = looks.full_look_ms
       from ${from} where ${where} and queue_heads.write_count = looks.write_count`,
      values,
    );
  }
}

/** Summarises the first rows of each head, up to `most`. A head without rows has no entry. */
async function lookAt(
  queries: Queries,
  dialect: Dialect,
  heads: readonly Head[],
  most: number,
  nowMs: number,
): Promise<Map<Head, LookResult>> {
  if (heads.length === 0) return new Map();
  const behind = `cast($${heads.length * 4 + 1} as bigint)`;
  // One column with all results, so that the rows are read once.
  const rows = await lookColumns.all(
    queries,
    `with wanted (entity_id, webhook_no, generation, look_from_ms) as
       (values ${valuesList(heads.length, 4, 0, [dialect.uuid, 'bigint', 'bigint', 'bigint'])})
     select ${lookColumns.of('w.')}, (
       select count(*) || ' ' || min(case when l.lease_ms + ${behind} > l.due_ms then l.lease_ms + ${behind} else l.due_ms end)
         || ' ' || min(l.due_ms) || ' ' || max(l.due_ms) || ' ' || min(l.generation)
       from (select q.generation, q.due_ms, q.lease_ms from queue q
         where q.entity_id = w.entity_id and q.webhook_no = w.webhook_no
           and (q.generation, q.due_ms) >= (w.generation, w.look_from_ms)${dialect.ofEntity('q')}
         order by q.generation, q.due_ms, q.id limit ${most}) l) as seen
     from wanted w`,
    [
      ...heads.flatMap((head): SqlValue[] => {
        const { generation, dueMs } = startOfLook(head, nowMs);
        return [head.entity, head.webhookNo, generation, dueMs];
      }),
      nowMs - dialect.leaseClock.endedBy(nowMs),
    ],
  );
  const keyOf = ({ entity, webhookNo }: Pick<Head, 'entity' | 'webhookNo'>) => `${dialect.hexOf(entity)} ${webhookNo}`;
  const seen = new Map(rows.map((row) => [keyOf(row), row.seen]));
  const found = new Map<Head, LookResult>();
  for (const head of heads) {
    const text = seen.get(keyOf(head)) ?? null;
    if (text !== null) found.set(head, readLook(text, most));
  }
  return found;
}

/** Summary of a head's first rows, up to the limit of the look. */
export type LookResult = {
  /** Whether the head may have more rows. */
  readonly isCut: boolean;
  /** The earliest time at which one of these rows can be claimed. */
  readonly firstMs: number;
  readonly firstDueMs: number;
  readonly lastDueMs: number;
  readonly firstGeneration: number;
};

function readLook(text: string, most: number): LookResult {
  const [rows = 0, firstMs = 0, firstDueMs = 0, lastDueMs = 0, generation = 0] = text.split(' ').map(Number);
  return { isCut: rows === most, firstMs, firstDueMs, lastDueMs, firstGeneration: generation };
}

type Looked = Pick<Head, 'generation' | 'idle' | 'lookFromMs' | 'fullLookMs'>;
type NextLook = Pick<Head, 'nextDueMs' | 'idle' | 'lookFromMs' | 'fullLookMs'>;

export function nextLook(head: Looked, found: LookResult | null, nowMs: number): NextLook {
  const isFull = isFullLook(head, nowMs);
  const settledMs = nowMs - UNCOMMITTED_MS;
  // After a change that asked for a full look, an acceptance under way may still commit a row before the mark, so the next full
  // look comes sooner.
  const fullLookMs = isFull ? nowMs + (head.fullLookMs === 0 ? UNCOMMITTED_MS : FULL_LOOK_MS) : head.fullLookMs;
  if (found === null) {
    const idleMs = nowMs + (IDLE_MS[head.idle] ?? LONGEST_IDLE_MS);
    const idle = Math.min(head.idle + 1, IDLE_MS.length);
    // A head is left alone for an hour only after a full look that found nothing.
    const nextDueMs = isFull && head.fullLookMs !== 0 ? idleMs : Math.min(idleMs, fullLookMs);
    return { nextDueMs, idle, lookFromMs: settledMs, fullLookMs };
  }
  const bound = found.isCut ? found.lastDueMs : Number.POSITIVE_INFINITY;
  const nextMs = Math.min(found.firstMs, Math.max(bound, nowMs + 1), nowMs + LONGEST_IDLE_MS);
  const nextDueMs = Math.max(nextMs, nowMs + 1);
  // While rows of an older generation wait, every look is a full one.
  if (found.firstGeneration !== head.generation) return { nextDueMs, idle: 0, lookFromMs: 0, fullLookMs: 0 };
  return { nextDueMs, idle: 0, lookFromMs: Math.max(0, Math.min(found.firstDueMs, settledMs)), fullLookMs };
}
