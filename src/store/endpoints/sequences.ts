import type { Dialect, Queries, SqlUuid, SqlValue } from '../database/database.ts';
import { chunks, entityKey, type RowOf, textByRows, valuesList } from '../database/sql.ts';
import type { Claimed } from '../deliveries/claim/claimed.ts';
import { sequenceTable } from '../tables.ts';

/**
 * The sequence numbers of an endpoint: 1, 2, 3 … in the order in which its deliveries were committed. An index by number would
 * cost an insertion for every delivery. So the row of the counter keeps the ids of the last deliveries, and full blocks of ids
 * move to `endpoint_numbers`.
 */

/** A delivery that is about to be inserted. Deliveries of one group may share their receivers. */
export type Unnumbered = {
  readonly entityId: string;
  /** The id, as 32 hex digits. */
  readonly hex: string;
  readonly receiver: { readonly endpointNo: number };
  sequence: number | null;
  /** The claim if this process dispatches the delivery. It contains the sequence number too. */
  readonly claim: Pick<Claimed, 'sequence'> | null;
};

export const ID_DIGITS = 32;
/** Few enough ids that a row stays below the size at which PostgreSQL stores it elsewhere. */
const BLOCK_IDS = 32;

type Taken = { readonly entityId: string; readonly endpointNo: number; readonly members: Unnumbered[]; ids: string };

/** Whether the ids fill a block. Such ids are written as a block at once, and never enter the row of the counter. */
function isBlock(ids: string): boolean {
  return ids.length >= BLOCK_IDS * ID_DIGITS;
}

const sequenceColumns = sequenceTable.pick(['entity', 'endpointNo', 'lastSequence', 'recent']);
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

const emptyText = ({ uuid, ofEntity }: Dialect, rows: number) => `update endpoint_sequences set recent = ''
  where (entity_id, endpoint_no) in (values ${valuesList(rows, 2, 0, [uuid, 'bigint'])})${ofEntity('endpoint_sequences')}`;

/**
 * Gives each delivery its sequence number, in the order given. The row of an endpoint stays locked until the commit, so
 * that its numbers are committed in order and without a gap. Call this as late in the transaction as possible.
 */
export async function takeNumbers(
  queries: Queries,
  dialect: Dialect,
  deliveries: readonly Unnumbered[],
): Promise<void> {
  for (const chunk of chunks(byEndpoint(deliveries))) {
    const rows = await sequenceColumns.all(
      queries,
      takeText(chunk.length),
      chunk.flatMap(({ entityId, endpointNo, members, ids }): SqlValue[] => [
        entityKey(dialect, entityId),
        endpointNo,
        members.length,
        isBlock(ids) ? '' : ids,
      ]),
    );
    const byKey = new Map(rows.map((row) => [keyOf(dialect, row.entity, row.endpointNo), row]));
    const full: FullBlock[] = [];
    for (const { entityId, endpointNo, members, ids } of chunk) {
      const row = byKey.get(keyOf(dialect, entityKey(dialect, entityId), endpointNo));
      if (row === undefined) throw new Error(`endpoint ${endpointNo} has no counter`);
      number(members, row.lastSequence - members.length + 1);
      const last = isBlock(ids) ? row.recent + ids : row.recent;
      if (isBlock(last)) full.push({ row, ids: last });
    }
    await writeBlocks(queries, dialect, full);
  }
}

function number(deliveries: readonly Unnumbered[], first: number): void {
  let next = first;
  for (const delivery of deliveries) {
    if (delivery.claim !== null) delivery.claim.sequence = next;
    delivery.sequence = next++;
  }
}

/** Groups deliveries by endpoint. Groups are sorted, because every transaction locks endpoints in this order. */
function byEndpoint(deliveries: readonly Unnumbered[]): Taken[] {
  const byReceiver = new Map<Unnumbered['receiver'], Taken>();
  const taken = new Map<string, Taken>();
  for (const delivery of deliveries) {
    const { entityId, receiver, hex } = delivery;
    let one = byReceiver.get(receiver);
    if (one === undefined) {
      const { endpointNo } = receiver;
      const key = `${entityId} ${endpointNo}`;
      one = taken.get(key) ?? { entityId, endpointNo, members: [], ids: '' };
      taken.set(key, one);
      byReceiver.set(receiver, one);
    }
    one.members.push(delivery);
    one.ids += hex;
  }
  return [...taken.values()].sort((a, b) =>
    a.entityId === b.entityId ? a.endpointNo - b.endpointNo : a.entityId < b.entityId ? -1 : 1,
  );
}

function keyOf({ hexOf }: Dialect, entity: SqlUuid, endpointNo: number): string {
  return `${hexOf(entity)} ${endpointNo}`;
}

/** Ids of the last numbers that fill a block, and leave the row of the counter. */
type FullBlock = { readonly row: SequenceRow; readonly ids: string };

async function writeBlocks(queries: Queries, dialect: Dialect, blocks: readonly FullBlock[]): Promise<void> {
  if (blocks.length === 0) return;
  await queries.send(
    insertText(blocks.length),
    blocks.flatMap(({ row: { entity, endpointNo, lastSequence }, ids }): SqlValue[] => [
      entity,
      endpointNo,
      lastSequence - ids.length / ID_DIGITS + 1,
      ids,
    ]),
  );
  const moved = blocks.filter(({ row }) => row.recent !== '');
  if (moved.length === 0) return;
  await queries.send(
    emptyText(dialect, moved.length),
    moved.flatMap(({ row: { entity, endpointNo } }): SqlValue[] => [entity, endpointNo]),
  );
}
