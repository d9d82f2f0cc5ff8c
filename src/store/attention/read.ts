import type { AttentionList, AttentionQuery, EntityAttention } from '../../contract/attention.ts';
import { SLOTS } from '../../domain/stats.ts';
import type { Database, SqlInteger, SqlUuid } from '../database/database.ts';
import { chunks, entityKey, Parameters } from '../database/sql.ts';
import { statsTable } from '../tables.ts';
import { entityTable } from '../tenants/tables.ts';
import { NO_TROUBLES, readTroubles, type Troubles } from './troubles.ts';

/** The entities of the store in the order in which an operator should look at them. */

const entityColumns = entityTable.pick(['entityId', 'name']);

type Standing = Troubles & { readonly entityId: string; readonly name: string; readonly waiting: number };

/** Lists entities with the worst first, unless the query asks for the opposite. */
export async function listAttention(db: Database, query: AttentionQuery, nowS: number): Promise<AttentionList> {
  const all = await readStandings(db);
  const found = all.filter(matcher(query.search)).sort(worstFirst);
  if (query.sortDir === 'asc') found.reverse();
  const shown = found.slice((query.page - 1) * query.limit, query.page * query.limit);
  const lastHour = await readLastHour(db, shown, nowS);
  const isTroubled = (standing: Standing) => levelOf(standing) !== 'none';
  return {
    totalResults: found.length,
    needAttention: found.filter(isTroubled).length,
    entities: shown.map((standing) => toAttention(standing, lastHour.get(standing.entityId) ?? NO_TRAFFIC)),
  };
}

async function readStandings(db: Database): Promise<Standing[]> {
  const { dialect, longReads } = db;
  const { hexOf } = dialect;
  const { ofDeliveries, ofSources } = await readTroubles(db);
  const counts = await longReads.all<{ entity_id: SqlUuid; waiting: SqlInteger }>(
    'select entity_id, sum(waiting) as waiting from queue_counts group by entity_id having sum(waiting) > 0',
  );
  const waiting = new Map(counts.map((row) => [hexOf(row.entity_id), Number(row.waiting)]));
  const entities = await entityColumns.all(longReads, `select ${entityColumns.list} from entities`);
  return entities.map(({ entityId, name }) => {
    const key = hexOf(entityKey(dialect, entityId));
    const troubles = { ...NO_TROUBLES, ...ofDeliveries.get(key), pausedSources: ofSources.get(entityId) ?? 0 };
    return { entityId, name, ...troubles, waiting: waiting.get(key) ?? 0 };
  });
}

function matcher(search: string | undefined): (standing: Standing) => boolean {
  const wanted = search?.trim().toLowerCase() ?? '';
  if (wanted === '') return () => true;
  return ({ entityId, name }) => entityId.toLowerCase() === wanted || name.toLowerCase().includes(wanted);
}

/** `urgent` if receivers miss events that should arrive now, and `warning` if an endpoint with deliveries or a source is paused. */
function levelOf(troubles: Troubles): EntityAttention['level'] {
  const { failingEndpoints, suspendedEndpoints, oldestDueMs, pausedEndpoints, pausedSources } = troubles;
  if (failingEndpoints + suspendedEndpoints > 0 || oldestDueMs !== null) return 'urgent';
  return pausedEndpoints + pausedSources > 0 ? 'warning' : 'none';
}

const RANKS = { urgent: 0, warning: 1, none: 2 } as const;

function worstFirst(a: Standing, b: Standing): number {
  const broken = ({ failingEndpoints, suspendedEndpoints }: Standing) => failingEndpoints + suspendedEndpoints;
  return (
    RANKS[levelOf(a)] - RANKS[levelOf(b)] ||
    broken(b) - broken(a) ||
    dueMsOf(a) - dueMsOf(b) ||
    b.waiting - a.waiting ||
    compareTexts(a.name, b.name) ||
    compareTexts(a.entityId, b.entityId)
  );
}

/** The time to sort by. It is finite even without overdue deliveries, so that two such entities are equal. */
function dueMsOf({ oldestDueMs }: Standing): number {
  return oldestDueMs ?? Number.MAX_SAFE_INTEGER;
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

type Traffic = Pick<EntityAttention, 'eventsLastHour' | 'failuresLastHour'>;

const NO_TRAFFIC: Traffic = { eventsLastHour: 0, failuresLastHour: 0 };
const MINUTE_S = 60;
const MINUTES = 60;

const minuteColumns = statsTable.pick(['entity', 'startS', 'counts']);

/** Entities for each statement: their rows of an hour are read and summed within milliseconds. */
const ENTITIES_PER_READ = 10;

/** Reads the traffic of the last 60 whole minutes and the current one, for the entities that are shown. */
async function readLastHour(db: Database, shown: readonly Standing[], nowS: number): Promise<Map<string, Traffic>> {
  const { dialect, longReads } = db;
  const idOf = new Map(shown.map(({ entityId }) => [dialect.hexOf(entityKey(dialect, entityId)), entityId]));
  const found = new Map<string, Traffic>();
  const starts = Array.from({ length: MINUTES + 1 }, (_, back) => nowS - (nowS % MINUTE_S) - back * MINUTE_S);
  for (const chunk of chunks(shown, ENTITIES_PER_READ)) {
    const parameters = new Parameters();
    const entities = parameters.list(chunk.map(({ entityId }) => entityKey(dialect, entityId)));
    const rows = await minuteColumns.all(
      longReads,
      `select ${minuteColumns.list} from interval_stats where entity_id in ${entities} and seconds = ${MINUTE_S}
         and start_s in ${parameters.list(starts)} and destination = ''`,
      parameters.values,
    );
    for (const { entity, counts } of rows) {
      const entityId = idOf.get(dialect.hexOf(entity)) ?? '';
      const before = found.get(entityId) ?? NO_TRAFFIC;
      found.set(entityId, addMinute(before, JSON.parse(counts) as Record<string, number>));
    }
  }
  return found;
}

function addMinute({ eventsLastHour, failuresLastHour }: Traffic, counts: Record<string, number>): Traffic {
  return {
    eventsLastHour: eventsLastHour + (counts[SLOTS.events] ?? 0),
    failuresLastHour: failuresLastHour + (counts[SLOTS.failedAttempts] ?? 0),
  };
}

function toAttention(standing: Standing, traffic: Traffic): EntityAttention {
  const { entityId, name, oldestDueMs, waiting, ...rest } = standing;
  const { failingEndpoints, suspendedEndpoints, pausedEndpoints, pausedSources } = rest;
  return {
    ...{ entityId, name, level: levelOf(standing), failingEndpoints, suspendedEndpoints, pausedEndpoints },
    ...{ pausedSources, waiting, ...traffic },
    dateOldestDue: oldestDueMs === null ? null : Math.floor(oldestDueMs / 1000),
  };
}
