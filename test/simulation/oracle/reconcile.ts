import type { Database, Queries, Reads } from '../../../src/store/database/database.ts';
import { readDay } from '../../../src/store/reconciliation/day-book.ts';
import { readOpenEvents } from './view.ts';

const WHOLE_TIME = { sinceMs: 0, untilMs: 2 ** 48 - 1, networkId: undefined, endpointNo: undefined, events: undefined };
const MOST_EVENTS = 10_000;

/** Reconciles everything, and returns the events that it calls acknowledged although work is left for them, at one moment. */
export function earlyAcknowledged(db: Database, entityId: string): Promise<string[]> {
  return db.snapshot(async (queries) => {
    const { events } = await readDay(at(db, queries), { entityId, ...WHOLE_TIME }, null, MOST_EVENTS);
    const open = await readOpenEvents(queries, db.dialect);
    return events.flatMap(({ eventId, progress }) => (progress === 'acknowledged' && open.has(eventId) ? eventId : []));
  });
}

/** The database as it is in a snapshot. */
function at(db: Database, queries: Queries): Database {
  const reads: Reads = {
    all: (sql, params) => queries.all(sql, params),
    get: (sql, params) => queries.get(sql, params),
    snapshot: (work) => work(queries),
  };
  const refused = () => Promise.reject(new Error('A snapshot is only read'));
  return {
    ...reads,
    ...{ engine: db.engine, dialect: db.dialect, longReads: reads, dataVersion: null },
    ...{ transaction: refused, announceWork: refused, onWork: refused, checkpoint: refused, close: refused },
  };
}
