import type { Database, Dialect, Queries, SqlUuid, SqlValue } from '../database/database.ts';
import type { PacedBatches } from '../database/paced-batches.ts';
import { chunks, type RowOf, valuesList } from '../database/sql.ts';
import { numberTable } from '../tables.ts';
import { ID_DIGITS } from './sequences.ts';

/** Deletes the sequence numbers of deliveries that retention has deleted, a block at a time and from the lowest number on. */

const blockColumns = numberTable.pick(['endpointNo', 'firstSequence', 'ids']);
type Block = RowOf<typeof blockColumns>;

const ENDPOINTS_PER_LOOK = 50;
/** Limit on the ids of existing deliveries that one statement reads. */
const MAX_LEFT = 1_000;

export type NumberRun = {
  readonly db: Database;
  readonly batches: PacedBatches;
  /** Sorts before every id that stays. */
  readonly beforeHex: string;
};

export async function* pruneNumbers(run: NumberRun, entity: SqlUuid): AsyncGenerator<void> {
  const { db, batches, beforeHex } = run;
  let after = -1;
  while (!batches.isStopped) {
    const blocks: Block[] = await batches.run(() =>
      // The counter names the lowest block of its endpoint. Ids begin with their time, so they compare as texts.
      blockColumns.all(
        db,
        `select ${blockColumns.of('b.')} from endpoint_sequences s
         ${db.dialect.lookUp('cross join', 'endpoint_numbers', 'b', {
           entity_id: 's.entity_id',
           endpoint_no: 's.endpoint_no',
           first_sequence: 's.first_sequence',
         })}
         where s.entity_id = $1 and s.endpoint_no > $2 and substr(b.ids, 1, ${ID_DIGITS}) < $3
         order by s.endpoint_no limit ${ENDPOINTS_PER_LOOK}`,
        [entity, after, beforeHex],
      ),
    );
    for (const block of blocks) yield* pruneEndpoint(run, entity, block);
    const last = blocks.at(-1);
    if (last === undefined || blocks.length < ENDPOINTS_PER_LOOK) return;
    after = last.endpointNo;
  }
}

/** Deletes the blocks of an endpoint up to the first one with a delivery that still exists. */
async function* pruneEndpoint(run: NumberRun, entity: SqlUuid, { endpointNo }: Block): AsyncGenerator<void> {
  const { db, batches } = run;
  for (let full = true; full && !batches.isStopped; ) {
    full = await batches.run((size) =>
      db.transaction((queries) => pruneBlocks(queries, run, entity, endpointNo, size)),
    );
    yield;
  }
}

/** Returns whether it deleted every block that it read. If so, there may be more. */
async function pruneBlocks(
  queries: Queries,
  run: NumberRun,
  entity: SqlUuid,
  endpointNo: number,
  size: number,
): Promise<boolean> {
  const ofEndpoint = 'entity_id = $1 and endpoint_no = $2';
  const blocks = await blockColumns.all(
    queries,
    `select ${blockColumns.list} from endpoint_numbers where ${ofEndpoint} order by first_sequence limit ${size}`,
    [entity, endpointNo],
  );
  const gone = await countGone(queries, run, entity, blocks);
  const last = blocks[gone - 1];
  if (last === undefined) return false;
  const next = last.firstSequence + last.ids.length / ID_DIGITS;
  const key: SqlValue[] = [entity, endpointNo, next];
  await queries.run(`delete from endpoint_numbers where ${ofEndpoint} and first_sequence < $3`, key);
  await queries.run(
    `update endpoint_sequences set first_sequence = $3 where ${ofEndpoint} and first_sequence < $3`,
    key,
  );
  return gone === size;
}

/** Counts the first blocks whose deliveries are all removed. */
async function countGone(
  queries: Queries,
  { db: { dialect }, beforeHex }: NumberRun,
  entity: SqlUuid,
  blocks: readonly Block[],
): Promise<number> {
  const older = await findLeft(queries, dialect, entity, 'id < $2', [dialect.bindUuid(beforeHex)]);
  // If all ids of older deliveries were read, only newer ids need a query.
  const isKnown = older.size < MAX_LEFT;
  for (const [index, { ids }] of blocks.entries()) {
    const digits = ids.match(new RegExp(`.{${ID_DIGITS}}`, 'g')) ?? [];
    if (digits.some((hex) => older.has(hex))) return index;
    for (const chunk of chunks(digits.filter((hex) => !isKnown || hex >= beforeHex))) {
      const which = `id in ${valuesList(1, chunk.length, 1)}`;
      const left = await findLeft(queries, dialect, entity, which, chunk.map(dialect.bindUuid));
      if (left.size > 0) return index;
    }
  }
  return blocks.length;
}

/** The deliveries of the entity that still exist, up to a limit. */
async function findLeft(
  queries: Queries,
  dialect: Dialect,
  entity: SqlUuid,
  which: string,
  parameters: readonly SqlUuid[],
): Promise<Set<string>> {
  const rows = await queries.all<{ id: SqlUuid }>(
    `select id from queue where entity_id = $1 and ${which}
     union all select id from deliveries where entity_id = $1 and ${which} limit ${MAX_LEFT}`,
    [entity, ...parameters],
  );
  return new Set(rows.map(({ id }) => dialect.hexOf(id)));
}
