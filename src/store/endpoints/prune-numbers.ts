import type { Database, Queries, SqlUuid, SqlValue } from '../database/database.ts';
import type { PacedBatches } from '../database/paced-batches.ts';
import { Columns, chunks, integer, type RowOf, text, valuesList } from '../database/sql.ts';
import { ID_DIGITS } from './sequences.ts';

/** Which deliveries had which numbers is forgotten with the deliveries, a block at a time and from the lowest number on. */

const blockColumns = new Columns({
  endpointNo: integer('endpoint_no'),
  firstSequence: integer('first_sequence'),
  ids: text('ids'),
});
type Block = RowOf<typeof blockColumns>;

const ENDPOINTS_PER_LOOK = 50;

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

/** Up to the first block of which a delivery is left. */
async function* pruneEndpoint({ db, batches }: NumberRun, entity: SqlUuid, lowest: Block): AsyncGenerator<void> {
  let block: Block | undefined = lowest;
  while (block !== undefined && !batches.isStopped) {
    const current: Block = block;
    block = await batches.run(() => db.transaction((queries) => pruneBlock(queries, db, entity, current)));
    yield;
  }
}

/** Returns the next block, or undefined where nothing more can go. */
async function pruneBlock(
  queries: Queries,
  db: Database,
  entity: SqlUuid,
  { endpointNo, firstSequence, ids }: Block,
): Promise<Block | undefined> {
  if (await isAnyLeft(queries, db, entity, ids)) return undefined;
  const key: SqlValue[] = [entity, endpointNo];
  const next = firstSequence + ids.length / ID_DIGITS;
  const ofBlock = 'from endpoint_numbers where entity_id = $1 and endpoint_no = $2 and first_sequence = $3';
  await queries.run(`delete ${ofBlock}`, [...key, firstSequence]);
  await queries.run(
    `update endpoint_sequences set first_sequence = $3
     where entity_id = $1 and endpoint_no = $2 and first_sequence < $3`,
    [...key, next],
  );
  return blockColumns.get(queries, `select ${blockColumns.list} ${ofBlock}`, [...key, next]);
}

async function isAnyLeft(queries: Queries, { dialect }: Database, entity: SqlUuid, ids: string): Promise<boolean> {
  const digits = ids.match(new RegExp(`.{${ID_DIGITS}}`, 'g')) ?? [];
  for (const chunk of chunks(digits)) {
    const within = `entity_id = $1 and id in ${valuesList(1, chunk.length, 1)}`;
    const row = await queries.get(
      `select 1 as found where exists (select 1 from queue where ${within})
         or exists (select 1 from deliveries where ${within})`,
      [entity, ...chunk.map((hex) => dialect.bindUuid(hex))],
    );
    if (row !== undefined) return true;
  }
  return false;
}
