import { attemptErrorText } from '../../contract/attempt-error-text.ts';
import type { Delivery, DeliveryDetail, Redelivery } from '../../contract/deliveries.ts';
import { showCount } from '../../domain/errors.ts';
import { paint, printable, printJson, printLine, showDate } from '../terminal/output.ts';
import { printFields, printTable, printTotal } from '../terminal/table.ts';

/** Deliveries as people read them, whether they come from the store or over HTTP. */

const MAX_BODY_SHOWN = 40;

export function printDeliveries({ totalResults, deliveries }: { totalResults: number; deliveries: Delivery[] }) {
  printTable(
    ['delivery-id', 'event', 'status', 'attempts', 'last result', 'created', 'next attempt', 'url'],
    deliveries.map((delivery) => [
      delivery.deliveryId,
      delivery.event,
      paintStatus(delivery.status),
      String(delivery.attempts),
      showLastResult(delivery),
      showDate(delivery.dateCreated),
      showDate(delivery.dateNextAttempt),
      delivery.postUrl,
    ]),
    'No deliveries match.',
    {
      shorten: { url: 16, 'last result': 5, event: 12 },
      leaveOut: ['next attempt', 'attempts', 'url', 'created'],
    },
  );
  printTotal(totalResults, deliveries.length);
}

export function printDelivery(delivery: DeliveryDetail): void {
  printFields({
    delivery: delivery.deliveryId,
    event: `${delivery.event} ${delivery.eventId} on network ${delivery.networkId}`,
    webhook: delivery.webhookId,
    status: paintStatus(delivery.status),
    ...(delivery.supersededBy !== null && { 'superseded by': `event ${delivery.supersededBy}` }),
    ...(delivery.sequence !== null && { number: `${delivery.sequence} of ${delivery.endpointId}` }),
    created: showDate(delivery.dateCreated),
    delivered: showDate(delivery.dateDelivered),
    'next attempt': showDate(delivery.dateNextAttempt),
    body: printable(delivery.body),
  });
  printLine();
  printTable(
    ['attempt', 'kind', 'started', 'ms', 'result', 'response body', 'url'],
    delivery.attemptLog.map((attempt) => [
      String(attempt.attempt),
      attempt.kind,
      new Date(attempt.startedAtMs).toISOString(),
      String(attempt.durationMs),
      showResult(attempt.statusCode, attempt.error),
      printable(attempt.response ?? '')
        .replace(/\s+/g, ' ')
        .slice(0, MAX_BODY_SHOWN),
      attempt.postUrl,
    ]),
    'No attempts yet.',
  );
}

/** What `redeliver --dry-run` prints. */
export function printRedeliveryCount(totalResults: number, json: boolean): void {
  if (json) printJson({ totalResults });
  else printLine(`${showCount(totalResults, 'delivery', 'deliveries')} would be sent again.`);
}

export function printRedelivery({ queued, sent, delivered, skipped }: Redelivery): void {
  printLine(`${queued} queued, ${sent} sent, ${delivered} delivered, ${skipped} skipped.`);
}

export function showLastResult({ lastStatusCode, lastError }: Delivery): string {
  return lastStatusCode === null && lastError === null ? '–' : showResult(lastStatusCode, lastError);
}

/** The status that the receiver responded with, or why there was no response. */
export function showResult(statusCode: number | null, error: string | null): string {
  return statusCode === null ? attemptErrorText(error) : String(statusCode);
}

export function paintStatus(status: Delivery['status']): string {
  if (status === 'delivered') return paint(status, 'green');
  if (status === 'failed') return paint(status, 'red');
  return status === 'held' || status === 'retrying' ? paint(status, 'yellow') : status;
}
