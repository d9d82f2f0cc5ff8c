import {
  type Fact,
  type FactDetail,
  type FactList,
  type FactListQuery,
  MAX_DELIVERIES_SHOWN,
  MAX_FACT_EVENTS_SHOWN,
  MAX_HISTORY_SHOWN,
} from '../../../contract/chain/facts.ts';
import { isFactId } from '../../../domain/chain/fact-id.ts';
import { type Database, longReadsOf, type Queries } from '../../database/database.ts';
import { readPage } from '../../database/paginate.ts';
import { Columns, Parameters, type RowOf, seconds } from '../../database/sql.ts';
import { listDeliveries } from '../../deliveries/read.ts';
import { nameOfEvent } from '../../events/event-ids.ts';
import { factEventTable, factTable, historyTable } from '../tables.ts';

/** Reading facts: lists with exact totals, and one fact with its history, its events and their deliveries. */

const shownColumns = new Columns({
  ...factTable.pick([
    'factId',
    'networkId',
    'sourceId',
    'state',
    'revision',
    'kind',
    'isSilent',
    'isDisputed',
    'transactionHash',
    'contract',
    'blockNumber',
    'blockHash',
    'logIndex',
    'transferId',
    'agreementId',
    'fields',
  ]).shape,
  dateCreated: seconds('created_at_ms'),
  dateChanged: seconds('changed_at_ms'),
});

export async function listFacts(db: Database, entityId: string, query: FactListQuery): Promise<FactList> {
  const { transactionHash, transferId, agreementId, state, networkId } = query;
  const parameters = new Parameters();
  const where = factTable.where(parameters, {
    entityId,
    transactionHash: transactionHash?.toLowerCase(),
    transferId,
    agreementId,
    state,
    networkId,
  });
  const source = {
    table: 'facts',
    columns: shownColumns,
    where,
    order: ['created_at_ms', 'id'],
    parameters: parameters.values,
    keysFirst: true,
  };
  const { totalResults, rows } = await readPage(longReadsOf(db, entityId), source, query);
  return { totalResults, facts: rows.map(toFact) };
}

/** Null for the id of another entity, and for an unknown one. */
export async function readFact(db: Database, entityId: string, factId: string): Promise<FactDetail | null> {
  if (!isFactId(factId)) return null;
  const read = await db.snapshot(async (queries) => {
    const where = 'where entity_id = $1 and id = $2';
    const row = await shownColumns.get(queries, `select ${shownColumns.list} from facts ${where}`, [entityId, factId]);
    if (row === undefined) return null;
    const key = [entityId, factId];
    return { row, history: await readHistory(queries, key), events: await readEvents(queries, db, key) };
  }, entityId);
  if (read === null) return null;
  const { row, history, events } = read;
  const told: FactDetail['events'] = [];
  for (const event of events) told.push({ ...event, ...(await readDeliveries(db, entityId, event.eventId)) });
  return { ...toFact(row), history, events: told };
}

const stepColumns = new Columns({
  ...historyTable.pick(['state', 'revision', 'blockNumber', 'blockHash', 'logIndex', 'isDisputed']).shape,
  dateCreated: seconds('at_ms'),
});

async function readHistory(queries: Queries, key: readonly string[]): Promise<FactDetail['history']> {
  const rows = await stepColumns.all(
    queries,
    `select ${stepColumns.list} from fact_history where entity_id = $1 and fact_id = $2
     order by no desc limit ${MAX_HISTORY_SHOWN}`,
    key,
  );
  return rows.reverse().map((step) => ({ ...step, isDisputed: step.isDisputed === 1 }));
}

const eventColumns = factEventTable.pick(['revision', 'event', 'finality', 'eventNo']);

type ToldEvent = Pick<FactDetail['events'][number], 'eventId' | 'event' | 'finality' | 'revision'>;

async function readEvents(queries: Queries, { dialect }: Database, key: readonly string[]): Promise<ToldEvent[]> {
  const rows = await eventColumns.all(
    queries,
    `select ${eventColumns.list} from fact_events where entity_id = $1 and fact_id = $2
     order by no desc limit ${MAX_FACT_EVENTS_SHOWN}`,
    key,
  );
  const events: ToldEvent[] = [];
  for (const { revision, event, finality, eventNo } of rows.reverse()) {
    const no = eventNo === null ? null : dialect.hexOf(eventNo);
    const eventId = no === null ? null : await nameOfEvent(queries, dialect, key[0] ?? '', no);
    events.push({ eventId, event, finality, revision });
  }
  return events;
}

async function readDeliveries(
  db: Database,
  entityId: string,
  eventId: string | null,
): Promise<Pick<FactDetail['events'][number], 'totalDeliveries' | 'deliveries'>> {
  if (eventId === null) return { totalDeliveries: 0, deliveries: [] };
  const { totalResults, deliveries } = await listDeliveries(db, entityId, {
    eventId,
    page: 1,
    limit: MAX_DELIVERIES_SHOWN,
    sortBy: 'dateCreated',
    sortDir: 'asc',
  });
  return { totalDeliveries: totalResults, deliveries };
}

function toFact({ isSilent, isDisputed, fields, ...row }: RowOf<typeof shownColumns>): Fact {
  const flags = { isSilent: isSilent === 1, isDisputed: isDisputed === 1 };
  return { ...row, ...flags, fields: JSON.parse(fields) as Record<string, unknown> };
}
