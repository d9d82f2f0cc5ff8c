import { MAX_TIMELINE_SHOWN, type PaymentDetail, type TimelineEntry } from '../../../contract/chain/payments.ts';
import { factIdOfPayment } from '../../../domain/chain/payments.ts';
import { hexIn, timeOfHex } from '../../../domain/ids.ts';
import type { Database, Dialect, Queries, SqlInteger, SqlUuid } from '../../database/database.ts';
import { chunks, entityKey, Parameters } from '../../database/sql.ts';
import { findEventNo } from '../../events/event-ids.ts';
import { readFact } from '../read/facts.ts';
import { readNetworkLevels } from './levels.ts';
import { paymentRowColumns, toPayments } from './view.ts';
import { readWebhookStatuses } from './webhook-statuses.ts';

/** One payment with its timeline, its webhooks and its events. Null for an unknown id, and for the id of another entity. */
export async function readPayment(db: Database, entityId: string, paymentId: string): Promise<PaymentDetail | null> {
  const factId = factIdOfPayment(paymentId);
  // The fact has the history and the deliveries of each event. The payment adds its own fields.
  const fact = factId === null ? null : await readFact(db, entityId, factId);
  if (fact === null) return null;
  return db.snapshot(async (queries) => {
    const [networks, row] = await Promise.all([
      readNetworkLevels(queries),
      paymentRowColumns.get(
        queries,
        `select ${paymentRowColumns.list} from facts where entity_id = $1 and id = $2 and is_payment = 1`,
        [entityId, fact.factId],
      ),
    ]);
    if (row === undefined) return null;
    const [payment] = await toPayments(queries, db.dialect, entityId, [row], networks);
    if (payment === undefined) return null;
    const network = networks.get(row.networkId) ?? null;
    return {
      ...payment,
      timeline: [...steps(fact.history), ...(await deliverySteps(queries, db, entityId, fact.events))]
        .sort((a, b) => a.date - b.date)
        .slice(-MAX_TIMELINE_SHOWN),
      webhooks: await readWebhookStatuses(queries, db.dialect, { entityId, row, network, events: fact.events }),
      events: fact.events,
    };
  }, entityId);
}

type History = NonNullable<Awaited<ReturnType<typeof readFact>>>['history'];

/** The entries of the timeline. Each state of the payment is described by its difference from the state before. */
function steps(history: History): TimelineEntry[] {
  return history.map((step, index) => ({
    date: step.dateCreated,
    what: whatHappened(step, history[index - 1]),
    blockNumber: step.blockNumber,
    eventId: null,
    webhookId: null,
  }));
}

function whatHappened(step: History[number], before: History[number] | undefined): TimelineEntry['what'] {
  if (step.isDisputed) return 'disputed';
  // The nodes agree again, and the payment is in the same block as before.
  if (before?.isDisputed && step.blockHash === before.blockHash) return step.state;
  if (step.state !== 'seen' || before === undefined || before.state === 'waiting') return step.state;
  return before.state === 'lost' || before.state === 'retracted' ? 'back' : 'moved';
}

async function deliverySteps(
  queries: Queries,
  { dialect }: Database,
  entityId: string,
  events: PaymentDetail['events'],
): Promise<TimelineEntry[]> {
  const entries: TimelineEntry[] = [];
  const failed = events.flatMap(({ deliveries }) => deliveries.filter(({ status }) => status === 'failed'));
  const failures = await readLastAttempts(
    queries,
    dialect,
    entityId,
    failed.map(({ deliveryId }) => deliveryId),
  );
  for (const { eventId, finality, deliveries } of events) {
    const no = eventId === null ? null : await findEventNo(queries, dialect, entityId, eventId);
    if (no === null) continue;
    const date = Math.floor(timeOfHex(no) / 1000);
    // The event is the only record of the moment at which the payment became safe.
    if (finality === 'safe' && !entries.some(({ what }) => what === 'safe')) {
      entries.push({ date, what: 'safe', blockNumber: null, eventId: null, webhookId: null });
    }
    entries.push({ date, what: 'event', blockNumber: null, eventId, webhookId: null });
    for (const { deliveryId, dateDelivered, webhookId } of deliveries) {
      const failedS = failures.get(deliveryId);
      if (dateDelivered !== null) {
        entries.push({ date: dateDelivered, what: 'delivered', blockNumber: null, eventId, webhookId });
      } else if (failedS !== undefined) {
        entries.push({ date: failedS, what: 'failed', blockNumber: null, eventId, webhookId });
      }
    }
  }
  return entries;
}

type LastAttempt = { id: SqlUuid; ended_ms: SqlInteger };

/** When the last attempt of each delivery ended, in Unix seconds. A delivery with one attempt has the attempt in its own row. */
async function readLastAttempts(
  queries: Queries,
  dialect: Dialect,
  entityId: string,
  deliveryIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const found = new Map<string, number>();
  const byHex = new Map(deliveryIds.map((id) => [hexIn(id), id]));
  for (const chunk of chunks([...byHex.keys()])) {
    const parameters = new Parameters(entityKey(dialect, entityId));
    const ids = parameters.list(chunk.map((hex) => dialect.bindUuid(hex)));
    const rows = await queries.all<LastAttempt>(
      `select delivery_id as id, max(started_at_ms + duration_ms) as ended_ms from attempts
       where entity_id = $1 and delivery_id in ${ids} group by delivery_id
       union all select id, started_at_ms + duration_ms from deliveries
       where entity_id = $1 and id in ${ids} and started_at_ms is not null`,
      parameters.values,
    );
    for (const { id, ended_ms } of rows) {
      const deliveryId = byHex.get(dialect.hexOf(id)) ?? '';
      found.set(deliveryId, Math.max(found.get(deliveryId) ?? 0, Math.floor(Number(ended_ms) / 1000)));
    }
  }
  return found;
}
