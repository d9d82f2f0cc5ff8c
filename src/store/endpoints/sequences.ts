import type { Dialect, Queries, SqlUuid, SqlValue } from '../database/database.ts';
import {
  Columns,
  chunks,
  entityKey,
  integer,
  type RowOf,
  text,
  textByRows,
  uuid,
  valuesList,
} from '../database/sql.ts';
import type { Claimed } from '../deliveries/claim/claimed.ts';

/**
 * The numbers of an endpoint: 1, 2, 3 … in the order in which its deliveries were committed. An index by number would cost
 * every delivery an insertion, so the counter's own row keeps the ids of the last ones, and they move on in blocks.
 */

/** A delivery that is about to be inserted. */
export type NumberedDelivery = {
  readonly entityId: string;
  readonly endpointNo: number;
  /** The id, as 32 hex digits. */
  readonly hex: string;
};

export const ID_DIGITS = 32;
/** Few enough that a row stays below the size at which PostgreSQL stores it elsewhere. */
const BLOCK_IDS = 32;

type Taken = { readonly entityId: string; readonly endpointNo: number; readonly members: number[]; ids: string };

const sequenceColumns = new Columns({
  entity: uuid('entity_id'),
  endpointNo: integer('endpoint_no'),
  lastSequence: integer('last_sequence'),
  recent: text('recent'),
});
type SequenceRow = RowOf<typeof sequenceColumns>;

const takeText = textByRows(
  (
    rows,
  ) => `insert into endpoint_sequences (entity_id, endpoint_no, last_sequence, recent) values ${valuesList(rows, 4)}
    on conflict (entity_id, endpoint_no) do update set
      last_sequence = endpoint_sequences.last_sequence + excluded.last_sequence,
      recent = endpoint_sequences.recent || excluded.recent
    returning ${sequenceColumns.list}`,
);

const insertText = textByRows(
  (rows) => `insert into endpoint_numbers (entity_id, endpoint_no, first_sequence, ids) values ${valuesList(rows, 4)}`,
);

const emptyText = ({ uuid }: Dialect, rows: number) => `update endpoint_sequences set recent = ''
  where (entity_id, endpoint_no) in (values ${valuesList(rows, 2, 0, [uuid, 'bigint'])})`;

/**
 * The number of each delivery, in the order given. The row of an endpoint is locked from here to the commit, so that its
 * numbers are committed in their order and without a hole: call it as late in the transaction as possible.
 */
export async function takeSequences(
  queries: Queries,
  dialect: Dialect,
  deliveries: readonly NumberedDelivery[],
): Promise<number[]> {
  const numbers = new Array<number>(deliveries.length);
  for (const chunk of chunks(byEndpoint(deliveries))) {
    const rows = await sequenceColumns.all(
      queries,
      takeText(chunk.length),
      chunk.flatMap(({ entityId, endpointNo, members, ids }): SqlValue[] => [
        entityKey(dialect, entityId),
        endpointNo,
        members.length,
        ids,
      ]),
    );
    const lasts = new Map(
      rows.map(({ entity, endpointNo, lastSequence }) => [keyOf(dialect, entity, endpointNo), lastSequence]),
    );
    for (const { entityId, endpointNo, members } of chunk) {
      const last = lasts.get(keyOf(dialect, entityKey(dialect, entityId), endpointNo)) ?? 0;
      for (const [index, member] of members.entries()) numbers[member] = last - members.length + index + 1;
    }
    await moveFullBlocks(queries, dialect, rows);
  }
  return numbers;
}

/** A delivery before it is inserted. */
export type Unnumbered = {
  readonly entityId: string;
  readonly hex: string;
  readonly receiver: { readonly endpointNo: number };
  sequence: number | null;
  /** Where this process dispatches it. */
  readonly claim: Claimed | null;
};

/** Gives each delivery its number, also where it is dispatched with. */
export async function takeNumbers(queries: Queries, dialect: Dialect, rows: readonly Unnumbered[]): Promise<void> {
  const deliveries = rows.map(({ entityId, hex, receiver }) => ({ entityId, hex, endpointNo: receiver.endpointNo }));
  const numbers = await takeSequences(queries, dialect, deliveries);
  for (const [index, row] of rows.entries()) {
    row.sequence = numbers[index] ?? null;
    if (row.claim !== null) row.claim.sequence = row.sequence;
  }
}

/** In one order everywhere, so that two transactions never wait for each other. */
function byEndpoint(deliveries: readonly NumberedDelivery[]): Taken[] {
  const taken = new Map<string, Taken>();
  for (const [member, { entityId, endpointNo, hex }] of deliveries.entries()) {
    const key = `${entityId} ${endpointNo}`;
    const one = taken.get(key) ?? { entityId, endpointNo, members: [], ids: '' };
    one.members.push(member);
    one.ids += hex;
    taken.set(key, one);
  }
  return [...taken.values()].sort((a, b) =>
    a.entityId === b.entityId ? a.endpointNo - b.endpointNo : a.entityId < b.entityId ? -1 : 1,
  );
}

function keyOf({ hexOf }: Dialect, entity: SqlUuid, endpointNo: number): string {
  return `${hexOf(entity)} ${endpointNo}`;
}

async function moveFullBlocks(queries: Queries, dialect: Dialect, rows: readonly SequenceRow[]): Promise<void> {
  const full = rows.filter(({ recent }) => recent.length >= BLOCK_IDS * ID_DIGITS);
  if (full.length === 0) return;
  await queries.run(
    insertText(full.length),
    full.flatMap(({ entity, endpointNo, lastSequence, recent }): SqlValue[] => [
      entity,
      endpointNo,
      lastSequence - recent.length / ID_DIGITS + 1,
      recent,
    ]),
  );
  await queries.run(
    emptyText(dialect, full.length),
    full.flatMap(({ entity, endpointNo }): SqlValue[] => [entity, endpointNo]),
  );
}
