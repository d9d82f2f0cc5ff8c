import { kindsOf } from '../../domain/chain/facts.ts';
import { defaultFinality, finalityOf, reachedBlock } from '../../domain/chain/finality.ts';
import { finalityFor } from '../../domain/chain/finality-by-amount.ts';
import { RETRACTION } from '../../domain/event-kinds.ts';
import { type NetworkLevels, readNetworkLevels } from '../chain/payments/levels.ts';
import { factEventTable, factTable } from '../chain/tables.ts';
import type { Database, Queries } from '../database/database.ts';
import { Columns, integer, nullable, Parameters, type RowOf, text } from '../database/sql.ts';
import type { EndpointWebhooks } from './endpoint-webhooks.ts';
import { findUnfinished, type ProgressScope, readDelivered } from './progress.ts';

/** The standing of payments in a reconciliation: on the chain, sent, acknowledged, retracted or missing. */

export const paymentColumns = factTable.pick([
  'factId',
  'networkId',
  'state',
  'revision',
  'kind',
  'isSilent',
  'isDisputed',
  'blockNumber',
  'seenRevision',
  'token',
  'amount',
  'ruleAmount',
  'blockS',
]);
export type PaymentRow = RowOf<typeof paymentColumns>;

const eventColumns = factEventTable.pick(['factId', 'revision', 'event', 'eventNo']);
type EventRow = RowOf<typeof eventColumns>;

/** The sums in which a payment counts. */
export type Standing = {
  readonly isOnChain: boolean;
  readonly isSent: boolean;
  readonly isAcknowledged: boolean;
  readonly isRetracted: boolean;
  readonly isMissing: boolean;
  readonly isRetractionOpen: boolean;
};

export async function readStandings(
  queries: Queries,
  db: Database,
  scope: ProgressScope,
  rows: readonly PaymentRow[],
  webhooks: EndpointWebhooks | undefined,
): Promise<Standing[]> {
  const { hexOf } = db.dialect;
  const eventsOf = await readEvents(queries, scope.entityId, rows);
  const numbers = [...eventsOf.values()].flat().flatMap(({ eventNo }) => eventNo ?? []);
  const delivered = await readDelivered(queries, db, scope, numbers);
  const unfinished = await findUnfinished(queries, db, scope.entityId, numbers, webhooks);
  const isUnwanted = (row: PaymentRow) => row.state !== 'final' || row.isSilent === 1 || row.isDisputed === 1;
  const wanted = await readWanting(
    queries,
    scope.entityId,
    rows.filter((row) => !isUnwanted(row)),
    webhooks,
  );
  return rows.map((row) => {
    const events = (eventsOf.get(row.factId) ?? []).filter(({ revision }) => revision === row.revision);
    const of = (isRetraction: boolean) =>
      events.flatMap(({ event, eventNo }) => {
        if ((event === RETRACTION) !== isRetraction || eventNo === null) return [];
        const no = hexOf(eventNo);
        const { progress = 'nothing', isSent = false } = delivered.get(no) ?? {};
        return { progress, isSent, isOpen: unfinished.has(no) };
      });
    const [originals, retractions] = [of(false), of(true)];
    const delivering = originals.filter(({ progress }) => progress !== 'nothing');
    const isRetracted = row.state === 'retracted';
    const isSent = originals.some((one) => one.isSent);
    const isUnpublished = events.some(({ event, eventNo }) => event === RETRACTION && eventNo === null);
    return {
      isOnChain: row.state === 'final',
      isSent,
      isAcknowledged:
        !isRetracted &&
        delivering.length > 0 &&
        delivering.every(({ progress, isOpen }) => progress === 'acknowledged' && !isOpen),
      isRetracted: isRetracted && isSent,
      isMissing: !isUnwanted(row) && originals.length === 0 && wanted(row),
      isRetractionOpen:
        isRetracted &&
        isSent &&
        (isUnpublished ||
          retractions.some(
            ({ progress, isOpen }) => isOpen || (progress !== 'acknowledged' && progress !== 'nothing'),
          )),
    };
  });
}

async function readEvents(
  queries: Queries,
  entityId: string,
  rows: readonly PaymentRow[],
): Promise<ReadonlyMap<string, EventRow[]>> {
  const parameters = new Parameters(entityId);
  const found = await eventColumns.all(
    queries,
    `select ${eventColumns.list} from fact_events
     where entity_id = $1 and fact_id in ${parameters.list(rows.map(({ factId }) => factId))}`,
    parameters.values,
  );
  return Map.groupBy(found, ({ factId }) => factId);
}

const wantingColumns = new Columns({
  event: text('event'),
  finality: nullable(text('finality')),
  firstNo: integer('min(created_seq)'),
});
type Wanting = RowOf<typeof wantingColumns>;

/**
 * Returns whether a webhook wants a payment: a webhook that existed when the payment was first seen, and whose finality the
 * payment has reached.
 */
async function readWanting(
  queries: Queries,
  entityId: string,
  rows: readonly PaymentRow[],
  webhooks: EndpointWebhooks | undefined,
): Promise<(row: PaymentRow) => boolean> {
  const wanting = new Map<number, readonly Wanting[]>();
  for (const networkId of new Set(rows.map((row) => row.networkId))) {
    wanting.set(networkId, await readWebhooks(queries, entityId, networkId, webhooks));
  }
  const networks: ReadonlyMap<number, NetworkLevels> = rows.length === 0 ? new Map() : await readNetworkLevels(queries);
  return ({ networkId, kind, blockNumber, seenRevision, ruleAmount }) => {
    const kinds = kindsOf(kind);
    const levels = networks.get(networkId)?.levels;
    return (wanting.get(networkId) ?? []).some(({ event, finality, firstNo }) => {
      if (!kinds.includes(event) || firstNo > seenRevision) return false;
      const wants = finality === null ? defaultFinality(event) : finalityOf(finalityFor(finality, ruleAmount));
      // A payment that is final has every level but, perhaps, a number of confirmations.
      return (
        typeof wants === 'string' || (levels !== undefined && (reachedBlock(wants, levels) ?? -1) >= (blockNumber ?? 0))
      );
    });
  };
}

async function readWebhooks(
  queries: Queries,
  entityId: string,
  networkId: number,
  webhooks: EndpointWebhooks | undefined,
): Promise<readonly Wanting[]> {
  if (webhooks !== undefined) {
    return kindsOf('Transfer').flatMap((event) => {
      const webhook = webhooks.of(networkId, event);
      return webhook === undefined ? [] : { event, finality: webhook.finality, firstNo: webhook.webhookNo };
    });
  }
  const parameters = new Parameters(entityId, networkId);
  return wantingColumns.all(
    queries,
    `select ${wantingColumns.list} from webhooks where entity_id = $1 and network_id = $2
       and event in ${parameters.list(kindsOf('Transfer'))} group by event, finality`,
    parameters.values,
  );
}
