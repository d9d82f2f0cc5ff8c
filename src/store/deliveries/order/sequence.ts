import type { Dialect, Queries, SqlInteger, SqlUuid, SqlValue } from '../../database/database.ts';
import { chunks, entityKey, textByRows, valuesList } from '../../database/sql.ts';
import type { Claimed } from '../claimed.ts';

/**
 * The sequence of an endpoint: every delivery gets the next number in the transaction that inserts it, so that a number is
 * neither left out nor given twice. The counter is one row for each endpoint, which all instances that accept events for it
 * write in turn: take the numbers last, directly before the deliveries are inserted.
 */

/** The delivery of every thousandth number, from the first on, is kept in `endpoint_marks`. */
export const NUMBERS_PER_MARK = 1_000;

/** A delivery before it is inserted. */
export type Unnumbered = {
  readonly entityId: string;
  readonly hex: string;
  readonly receiver: { readonly endpointNo: number };
  sequence: number | null;
  /** Where this process dispatches it. */
  readonly claim: Claimed | null;
};

const takeText = textByRows(
  (rows) => `insert into endpoint_sequences (entity_id, endpoint_no, last_sequence) values ${valuesList(rows, 3)}
    on conflict (entity_id, endpoint_no) do update
      set last_sequence = endpoint_sequences.last_sequence + excluded.last_sequence
    returning entity_id, endpoint_no, last_sequence`,
);

type Taken = { entity_id: SqlUuid; endpoint_no: SqlInteger; last_sequence: SqlInteger };

/** Numbers the deliveries in their order. */
export async function takeNumbers(queries: Queries, dialect: Dialect, rows: readonly Unnumbered[]): Promise<void> {
  const byEndpoint = Map.groupBy(rows, ({ entityId, receiver }) => `${entityId} ${receiver.endpointNo}`);
  // In one order everywhere, so that two instances never wait for each other.
  const groups = [...byEndpoint].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, group]) => group);
  const marks: SqlValue[][] = [];
  for (const chunk of chunks(groups)) {
    const values = chunk.flatMap((group): SqlValue[] => {
      const [first] = group;
      return [entityKey(dialect, first?.entityId ?? ''), first?.receiver.endpointNo ?? 0, group.length];
    });
    const taken = await queries.all<Taken>(takeText(chunk.length), values);
    const last = new Map(
      taken.map((row) => [`${dialect.hexOf(row.entity_id)} ${row.endpoint_no}`, Number(row.last_sequence)]),
    );
    for (const group of chunk) marks.push(...numberGroup(dialect, group, last));
  }
  for (const chunk of chunks(marks)) {
    const sql = `insert into endpoint_marks (entity_id, endpoint_no, sequence, id) values ${valuesList(chunk.length, 4)}`;
    await queries.run(sql, chunk.flat());
  }
}

function numberGroup(
  dialect: Dialect,
  group: readonly Unnumbered[],
  lastNumbers: ReadonlyMap<string, number>,
): SqlValue[][] {
  const marks: SqlValue[][] = [];
  let next: number | null = null;
  for (const row of group) {
    const entity = entityKey(dialect, row.entityId);
    const { endpointNo } = row.receiver;
    const key = `${dialect.hexOf(entity)} ${endpointNo}`;
    const sequence: number = next ?? (lastNumbers.get(key) ?? group.length) - group.length + 1;
    next = sequence + 1;
    row.sequence = sequence;
    if (row.claim !== null) row.claim.sequence = sequence;
    if (sequence % NUMBERS_PER_MARK === 1) marks.push([entity, endpointNo, sequence, dialect.bindUuid(row.hex)]);
  }
  return marks;
}
