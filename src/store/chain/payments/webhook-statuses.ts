import type { PaymentDetail, WebhookStatus } from '../../../contract/chain/payments.ts';
import { kindsOf } from '../../../domain/chain/facts.ts';
import { defaultFinality, finalityText } from '../../../domain/chain/finality.ts';
import { finalityFor, reasonOfLevel } from '../../../domain/chain/finality-by-amount.ts';
import { MAX_WEBHOOKS_SHOWN } from '../../../domain/chain/payments.ts';
import { deliveryHex, MAX_ROUND } from '../../../domain/ids.ts';
import type { Dialect, Queries } from '../../database/database.ts';
import { entityKey, Parameters, type RowOf } from '../../database/sql.ts';
import { type ResolvedDelivery, readRows, toDeliveries } from '../../deliveries/list/rows.ts';
import { findEventNo } from '../../events/event-ids.ts';
import { webhookTable } from '../../tables.ts';
import { finalityAsOf } from '../../webhooks/option-changes.ts';
import type { NetworkLevels } from './levels.ts';
import { hasFinality, type PaymentRow, registryOf } from './view.ts';

/** The status of each webhook for the events of a payment, with the reason. */

export type PaymentContext = {
  readonly entityId: string;
  readonly row: PaymentRow;
  readonly network: NetworkLevels | null;
  readonly events: PaymentDetail['events'];
};

/** The context with the numbers of the payment's events, by event id. A number is null if retention has removed the event. */
type NumberedContext = PaymentContext & { readonly numbers: ReadonlyMap<string, string | null> };

const webhookColumns = webhookTable.pick(['webhookId', 'postUrl', 'event', 'finality', 'filterHash', 'createdSeq']);
type Webhook = RowOf<typeof webhookColumns> & { readonly webhookNo: number };

export async function readWebhookStatuses(
  queries: Queries,
  dialect: Dialect,
  context: PaymentContext,
): Promise<WebhookStatus[]> {
  const { entityId, row } = context;
  const parameters = new Parameters();
  const which = webhookTable.where(parameters, { entityId, networkId: row.networkId, event: kindsOf(row.kind) });
  const found = await webhookColumns.all(
    queries,
    `select ${webhookColumns.list} from webhooks where ${which} order by created_seq limit ${MAX_WEBHOOKS_SHOWN}`,
    parameters.values,
  );
  const numbered: Webhook[] = found.map((webhook) => ({ ...webhook, webhookNo: webhook.createdSeq }));
  const webhooks = await finalityAsOf(queries, entityId, registryOf(row), numbered);
  const numbers = new Map<string, string | null>();
  for (const { eventId } of context.events) {
    if (eventId !== null) numbers.set(eventId, await findEventNo(queries, dialect, entityId, eventId));
  }
  const statuses: WebhookStatus[] = [];
  for (const webhook of webhooks) statuses.push(await statusOf(queries, dialect, { ...context, numbers }, webhook));
  return statuses;
}

async function statusOf(
  queries: Queries,
  dialect: Dialect,
  context: NumberedContext,
  webhook: Webhook,
): Promise<WebhookStatus> {
  const { row, events } = context;
  const { webhookId, postUrl, event } = webhook;
  const chosen = webhook.finality ?? finalityText(defaultFinality(event));
  const finality = finalityFor(chosen, row.ruleAmount);
  const made = events.find(
    (each) => each.event === event && each.finality === finality && each.revision === row.revision,
  );
  const delivery = made?.eventId == null ? null : await readOne(queries, dialect, context, made.eventId, webhook);
  const said =
    delivery === null
      ? withoutDelivery(context, { finality, chosen }, made !== undefined)
      : withDelivery(row, delivery);
  const result = said ?? (await afterAcceptance(queries, dialect, context, webhook, made?.eventId ?? null));
  return {
    ...{ webhookId, postUrl, event, finality, status: result.status },
    ...{ eventId: made?.eventId ?? null, deliveryId: delivery?.deliveryId ?? null, reason: result.reason },
  };
}

type Said = Pick<WebhookStatus, 'status' | 'reason'>;

/** Reads the delivery of an event to one webhook. Its id follows from the numbers of the event and the webhook. */
async function readOne(
  queries: Queries,
  dialect: Dialect,
  { entityId, row, numbers }: NumberedContext,
  eventId: string,
  { webhookNo }: Webhook,
): Promise<ResolvedDelivery | null> {
  const no = numbers.get(eventId) ?? null;
  if (no === null) return null;
  const entity = entityKey(dialect, entityId);
  // A held event has new deliveries for each revision of its payment.
  const round = row.eventNo === null ? 0 : Math.min(row.revision, MAX_ROUND);
  const rows = await readRows(queries, dialect, entity, [deliveryHex(no, webhookNo, round)]);
  const [delivery = null] = await toDeliveries(queries, dialect, entity, rows, 0);
  return delivery;
}

function withDelivery({ state }: PaymentRow, { status, lastStatusCode, lastError }: ResolvedDelivery): Said {
  const last = lastError ?? (lastStatusCode === null ? 'no response' : `HTTP ${lastStatusCode}`);
  if (state === 'retracted') {
    return {
      status: 'retracted',
      reason: 'The payment was retracted. A receiver that may have it gets EventRetracted.',
    };
  }
  switch (status) {
    case 'delivered':
      return { status, reason: null };
    case 'retrying':
      return { status, reason: `The last attempt failed: ${last}.` };
    case 'failed':
      return { status, reason: `All attempts failed; the last one: ${last}.` };
    case 'held':
      return { status, reason: 'The webhook is suspended, or its endpoint is paused.' };
    case 'pending':
      return { status: 'waits', reason: 'The first attempt is due.' };
    case 'cancelled':
      return { status: 'not_wanted', reason: 'The webhook was deleted before the first attempt.' };
    case 'superseded':
      return { status: 'not_wanted', reason: 'A later event superseded this one before the first attempt.' };
  }
}

/** The status of a webhook without a delivery. Null if Paybell has made the event, because the acceptance then decides. */
function withoutDelivery(
  { row, network }: PaymentContext,
  { finality, chosen }: { readonly finality: string; readonly chosen: string },
  isMade: boolean,
): Said | null {
  if (row.isDust === 1) return notWanted('The amount is 0, or below the least amount of its source or invoice.');
  if (row.isSilent === 1) return notWanted('The payment is older than its source.');
  if (row.state === 'retracted') {
    return { status: 'retracted', reason: 'The payment was retracted before it had the finality of this webhook.' };
  }
  if (isMade) return null;
  if (row.state === 'waiting') return waits('The transaction is not in a block yet.');
  if (row.state === 'lost') return waits('The block of the payment is gone. The payment may return in another block.');
  if (row.isDisputed === 1) return waits('Nodes disagree about the payment.');
  if (!hasFinality(row, finality, network)) {
    const because = reasonOfLevel(chosen, row.ruleAmount);
    const rule = because === null ? '' : `, which the webhook wants ${because}`;
    return waits(`The payment does not have the finality ${finality} yet${rule}.`);
  }
  return notWanted('The webhook was registered after the payment had this finality.');
}

/** The status of a webhook without a delivery after Paybell has made the event. */
async function afterAcceptance(
  queries: Queries,
  dialect: Dialect,
  { entityId, numbers }: NumberedContext,
  { filterHash }: Webhook,
  eventId: string | null,
): Promise<Said> {
  if (eventId === null) return waits('Paybell is about to accept the event.');
  const no = numbers.get(eventId) ?? null;
  const task =
    no === null
      ? undefined
      : await queries.get('select 1 as found from tasks where entity_id = $1 and subject = $2', [
          entityKey(dialect, entityId),
          dialect.bindUuid(no),
        ]);
  if (task !== undefined) return waits('Paybell is still creating the deliveries of the event.');
  if (no === null) return notWanted('The event is older than the retention period.');
  return notWanted(
    filterHash === null
      ? 'The webhook was registered after the event.'
      : 'The filter of the webhook rejects the event, or the webhook was registered after it.',
  );
}

function waits(reason: string): Said {
  return { status: 'waits', reason };
}

function notWanted(reason: string): Said {
  return { status: 'not_wanted', reason };
}
