import type { Fact, FactDetail, FactList, FactListQuery } from '../../../contract/chain/facts.ts';
import { isFactId } from '../../../domain/chain/fact-id.ts';
import { MAX_DELIVERIES_SHOWN, MAX_FACT_EVENTS_SHOWN, MAX_HISTORY_SHOWN } from '../../../domain/chain/facts.ts';
import { storedTransactionId } from '../../../domain/chain/families/families.ts';
import { type Database, longReadsOf, type Queries } from '../../database/database.ts';
import { Columns, Parameters, type RowOf, seconds } from '../../database/sql.ts';
import { listDeliveries } from '../../deliveries/read.ts';
import { nameOfEvent } from '../../events/event-ids.ts';
import { readPage } from '../../list/page.ts';
import { parseHistory } from '../facts/fact-history.ts';
import { factEventTable, factTable, IS_NOT_FINAL } from '../tables.ts';

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
const detailColumns = new Columns({ ...shownColumns.shape, ...factTable.pick(['history']).shape });

/** From this many skipped rows on, reading them costs more than a second statement. */
const DEEP = 1_000;

/** The number of final facts: all facts minus the few that are not final. `$2` is the state. */
const FINAL_COUNT = `(select count(*) from facts where entity_id = $1)
  - (select count(*) from facts where entity_id = $1 and state <> $2 and ${IS_NOT_FINAL})`;

export async function listFacts(db: Database, entityId: string, query: FactListQuery): Promise<FactList> {
  const { transactionHash, transferId, agreementId, state, networkId } = query;
  const parameters = new Parameters();
  const where = factTable.where(parameters, {
    entityId,
    transactionHash: transactionHash && (storedTransactionId(transactionHash) ?? transactionHash),
    transferId,
    agreementId,
    state,
    networkId,
  });
  const isStateOnly = [transactionHash, transferId, agreementId, networkId].every((given) => given === undefined);
  const source = {
    table: 'facts',
    columns: shownColumns,
    where: state === undefined || state === 'final' ? where : `${where} and ${IS_NOT_FINAL}`,
    count: state === 'final' && isStateOnly ? FINAL_COUNT : undefined,
    order: ['created_at_ms', 'id'],
    parameters: parameters.values,
    keys: { name: 'factId', from: DEEP } as const,
  };
  const { totalResults, rows } = await readPage(longReadsOf(db, entityId), source, query);
  return { totalResults, facts: rows.map(toFact) };
}

/** Null for the id of another entity, and for an unknown one. */
export async function readFact(db: Database, entityId: string, factId: string): Promise<FactDetail | null> {
  if (!isFactId(factId)) return null;
  const read = await db.snapshot(async (queries) => {
    const where = 'where entity_id = $1 and id = $2';
    const key = [entityId, factId];
    const row = await detailColumns.get(queries, `select ${detailColumns.list} from facts ${where}`, key);
    return row === undefined ? null : { row, events: await readEvents(queries, db, key) };
  }, entityId);
  if (read === null) return null;
  const { history, ...row } = read.row;
  const { events } = read;
  const published: FactDetail['events'] = [];
  for (const event of events) published.push({ ...event, ...(await readDeliveries(db, entityId, event.eventId)) });
  return { ...toFact(row), history: stepsOf(history), events: published };
}

function stepsOf(history: string): FactDetail['history'] {
  const latest = parseHistory(history).slice(-MAX_HISTORY_SHOWN);
  return latest.map(({ atMs, isDisputed, ...step }) => ({
    ...step,
    isDisputed: isDisputed === 1,
    dateCreated: Math.floor(atMs / 1000),
  }));
}

const eventColumns = factEventTable.pick(['revision', 'event', 'finality', 'eventNo']);

type PublishedEvent = Pick<FactDetail['events'][number], 'eventId' | 'event' | 'finality' | 'revision'>;

async function readEvents(queries: Queries, { dialect }: Database, key: readonly string[]): Promise<PublishedEvent[]> {
  const rows = await eventColumns.all(
    queries,
    `select ${eventColumns.list} from fact_events where entity_id = $1 and fact_id = $2
     order by no desc limit ${MAX_FACT_EVENTS_SHOWN}`,
    key,
  );
  const events: PublishedEvent[] = [];
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
