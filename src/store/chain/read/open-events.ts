import type { FactState } from '../../../domain/chain/facts.ts';
import {
  defaultFinality,
  finalityOf,
  finalityText,
  type Levels,
  reachedBlock,
} from '../../../domain/chain/finality.ts';
import { finalityFor } from '../../../domain/chain/finality-by-amount.ts';
import { RETRACTION } from '../../../domain/event-kinds.ts';
import type { Dialect, Queries, SqlUuid } from '../../database/database.ts';
import { Columns, integer, nullable, type RowOf, text, uuid, valuesList } from '../../database/sql.ts';
import { finalityAsOf } from '../../webhooks/option-changes.ts';
import { factEventTable, networkTable } from '../tables.ts';
import { readWanted } from '../wanted.ts';

/** Finds accepted events for which the publisher has more work that neither the queue nor a task shows. */

/** Some webhooks: at most one for each network and event kind. */
type SomeWebhooks = {
  readonly of: (networkId: number, event: string) => Parameters<typeof finalityAsOf>[3][number] | undefined;
};

/**
 * Finds the numbers, as hex, of held events with deliveries to come and of events whose retraction is not published yet. With
 * `only`, only deliveries to these webhooks count.
 */
export async function findOpenEvents(
  queries: Queries,
  dialect: Dialect,
  entityId: string,
  events: readonly SqlUuid[],
  only?: SomeWebhooks,
): Promise<Set<string>> {
  if (events.length === 0) return new Set();
  const retracted = await readRetracted(queries, entityId, events);
  const numbers = [...retracted, ...(await readHeld(queries, entityId, events, only))];
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
  ruleAmount: nullable(text('f.rule_amount')),
});
type HeldEvent = RowOf<typeof heldColumns>;

async function readHeld(
  queries: Queries,
  entityId: string,
  events: readonly SqlUuid[],
  only: SomeWebhooks | undefined,
): Promise<SqlUuid[]> {
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
      const all = releases.get(keyOf(event)) ?? [];
      if (only === undefined) {
        const { kind, seenRevision: moment, ruleAmount } = event;
        const finalities = wanted.of({ entityId, event: kind, moment, ruleAmount });
        if (isOpen(event, all, finalities, levels)) open.push(event.no);
        continue;
      }
      const finalities = await finalitiesOf(queries, entityId, event, only);
      const own = all.filter((release) => release.event !== event.kind || finalities.has(release.finality));
      if (isOpen(event, own, finalities, levels)) open.push(event.no);
    }
  }
  return open;
}

async function finalitiesOf(
  queries: Queries,
  entityId: string,
  { networkId, kind, seenRevision, ruleAmount }: HeldEvent,
  only: SomeWebhooks,
): Promise<ReadonlySet<string>> {
  const webhook = only.of(networkId, kind);
  const then = webhook === undefined ? [] : await finalityAsOf(queries, entityId, seenRevision, [webhook]);
  return new Set(then.map(({ finality }) => finalityFor(finality ?? finalityText(defaultFinality(kind)), ruleAmount)));
}

/**
 * Whether the event will get deliveries, or its retraction will be published. A webhook that was registered after the event had
 * the webhook's finality gets no delivery.
 */
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
