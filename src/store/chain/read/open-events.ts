import type { FactState } from '../../../domain/chain/facts.ts';
import { finalityOf, type Levels, reachedBlock } from '../../../domain/chain/finality.ts';
import { RETRACTION } from '../../../domain/event-kinds.ts';
import type { Dialect, Queries, SqlUuid } from '../../database/database.ts';
import { Columns, integer, nullable, type RowOf, text, uuid, valuesList } from '../../database/sql.ts';
import { factEventTable, networkTable } from '../tables.ts';
import { readWanted } from '../wanted.ts';

/** Accepted events that the publisher has more work for: neither the queue nor a task shows it. */

/** Finds the numbers, as hex, of held events with deliveries to come and of events whose retraction is not published yet. */
export async function findOpenEvents(
  queries: Queries,
  dialect: Dialect,
  entityId: string,
  events: readonly SqlUuid[],
): Promise<Set<string>> {
  if (events.length === 0) return new Set();
  const numbers = [...(await readRetracted(queries, entityId, events)), ...(await readHeld(queries, entityId, events))];
  return new Set(numbers.map((no) => dialect.hexOf(no)));
}

const retractedColumns = new Columns({ no: uuid('e.event_no') });

async function readRetracted(queries: Queries, entityId: string, events: readonly SqlUuid[]): Promise<SqlUuid[]> {
  const rows = await retractedColumns.all(
    queries,
    `select ${retractedColumns.list} from fact_events e
     join fact_events r on r.entity_id = e.entity_id and r.fact_id = e.fact_id and r.revision = e.revision
       and r.event = '${RETRACTION}' and r.finality = e.event || '_' || e.finality and r.event_no is null
     where e.entity_id = $1 and e.event_no in ${valuesList(1, events.length, 1)}`,
    [entityId, ...events],
  );
  return rows.map(({ no }) => no);
}

const heldColumns = new Columns({
  no: uuid('f.event_no'),
  factId: text('f.id'),
  networkId: integer('f.network_id'),
  state: text<FactState>('f.state'),
  revision: integer('f.revision'),
  seenRevision: integer('f.seen_revision'),
  kind: text('f.kind'),
  blockNumber: nullable(integer('f.block_number')),
});
type HeldEvent = RowOf<typeof heldColumns>;

async function readHeld(queries: Queries, entityId: string, events: readonly SqlUuid[]): Promise<SqlUuid[]> {
  const held = await heldColumns.all(
    queries,
    `select ${heldColumns.list} from facts f
     where f.entity_id = $1 and f.event_no is not null and f.event_no in ${valuesList(1, events.length, 1)}`,
    [entityId, ...events],
  );
  if (held.length === 0) return [];
  const releases = await readReleases(queries, entityId, held);
  const open: SqlUuid[] = [];
  for (const [networkId, ofNetwork] of Map.groupBy(held, (event) => event.networkId)) {
    const wanted = await readWanted(queries, networkId, [entityId]);
    const levels = await readLevels(queries, networkId);
    for (const event of ofNetwork) {
      const own = releases.get(keyOf(event)) ?? [];
      if (isOpen(event, own, wanted.of(entityId, event.kind, event.seenRevision), levels)) open.push(event.no);
    }
  }
  return open;
}

/** Webhooks that were registered after the event had their finality do not get it. */
function isOpen(
  { state, kind, blockNumber }: HeldEvent,
  releases: readonly Release[],
  wanted: ReadonlySet<string>,
  levels: Levels,
): boolean {
  if (state === 'waiting' || releases.some(({ eventNo }) => eventNo === null)) return true;
  if (state !== 'seen' && state !== 'lost') return false;
  const released = new Set(releases.filter(({ event }) => event === kind).map(({ finality }) => finality));
  return [...wanted].some((finality) => {
    if (released.has(finality)) return false;
    const reached = reachedBlock(finalityOf(finality), levels);
    return state === 'lost' || reached === null || reached < (blockNumber ?? 0);
  });
}

const levelColumns = networkTable.pick(['head', 'safe', 'final']);

async function readLevels(queries: Queries, networkId: number): Promise<Levels> {
  const sql = `select ${levelColumns.list} from chains where network_id = $1`;
  const { head = null, safe = null, final = null } = (await levelColumns.get(queries, sql, [networkId])) ?? {};
  return { head: head ?? 0, safe, final };
}

const releaseColumns = factEventTable.pick(['factId', 'revision', 'event', 'finality', 'eventNo']);
type Release = RowOf<typeof releaseColumns>;

/** The fact events of each held event, in its present revision. */
async function readReleases(
  queries: Queries,
  entityId: string,
  held: readonly HeldEvent[],
): Promise<ReadonlyMap<string, readonly Release[]>> {
  const rows = await releaseColumns.all(
    queries,
    `select ${releaseColumns.list} from fact_events where entity_id = $1 and fact_id in ${valuesList(1, held.length, 1)}`,
    [entityId, ...held.map(({ factId }) => factId)],
  );
  return Map.groupBy(rows, keyOf);
}

function keyOf({ factId, revision }: Pick<Release, 'factId' | 'revision'>): string {
  return `${factId} ${revision}`;
}
