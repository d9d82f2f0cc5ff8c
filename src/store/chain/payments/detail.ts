import { MAX_TIMELINE_SHOWN, type PaymentDetail, type TimelineEntry } from '../../../contract/chain/payments.ts';
import { factIdOfPayment } from '../../../domain/chain/payments.ts';
import { timeOfHex } from '../../../domain/ids.ts';
import type { Database, Queries } from '../../database/database.ts';
import { findEventNo } from '../../events/event-ids.ts';
import { readFact } from '../read/facts.ts';
import { readNetworkLevels } from './levels.ts';
import { paymentRowColumns, toPayments } from './view.ts';
import { readWebhookStatuses } from './webhook-statuses.ts';

/** One payment with its timeline, its webhooks and its events. Null for an unknown id, and for the id of another entity. */
export async function readPayment(db: Database, entityId: string, paymentId: string): Promise<PaymentDetail | null> {
  const factId = factIdOfPayment(paymentId);
  // The fact has the history and the deliveries of each event; a payment adds to it.
  const fact = factId === null ? null : await readFact(db, entityId, factId);
  if (fact === null) return null;
  return db.snapshot(async (queries) => {
    const networks = await readNetworkLevels(queries);
    const row = await paymentRowColumns.get(
      queries,
      `select ${paymentRowColumns.list} from facts where entity_id = $1 and id = $2 and is_payment = 1`,
      [entityId, fact.factId],
    );
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

/** Each state of the payment, by the state before it. */
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
  for (const { eventId, deliveries } of events) {
    const no = eventId === null ? null : await findEventNo(queries, dialect, entityId, eventId);
    if (no === null) continue;
    const date = Math.floor(timeOfHex(no) / 1000);
    entries.push({ date, what: 'event', blockNumber: null, eventId, webhookId: null });
    for (const { dateDelivered, webhookId } of deliveries) {
      if (dateDelivered === null) continue;
      entries.push({ date: dateDelivered, what: 'delivered', blockNumber: null, eventId, webhookId });
    }
  }
  return entries;
}
