import type { DeliveryDetail, DeliveryView, Redelivery } from '../../contract/deliveries.ts';
import { paint, printable, printFields, printLine, printTable, printTotal, showDate } from '../terminal/output.ts';

/** Deliveries as people read them, whether they came from the store or over HTTP. */

const RESPONSE_SHOWN = 40;

export function printDeliveries({ totalResults, deliveries }: { totalResults: number; deliveries: DeliveryView[] }) {
  printTable(
    ['delivery-id', 'event', 'status', 'attempts', 'last answer', 'created', 'next attempt', 'url'],
    deliveries.map((delivery) => [
      delivery.deliveryId,
      delivery.event,
      paintStatus(delivery.status),
      String(delivery.attempts),
      answerOf(delivery),
      showDate(delivery.dateCreated),
      showDate(delivery.dateNextAttempt),
      delivery.postUrl,
    ]),
    'No such deliveries.',
  );
  printTotal(totalResults, deliveries.length);
}

export function printDelivery(delivery: DeliveryDetail): void {
  printFields({
    delivery: delivery.deliveryId,
    event: `${delivery.event} ${delivery.eventId} on network ${delivery.networkId}`,
    webhook: delivery.webhookId,
    status: paintStatus(delivery.status),
    created: showDate(delivery.dateCreated),
    delivered: showDate(delivery.dateDelivered),
    'next attempt': showDate(delivery.dateNextAttempt),
    body: printable(delivery.body),
  });
  printLine();
  printTable(
    ['attempt', 'kind', 'started', 'ms', 'answer', 'response', 'url'],
    delivery.attemptLog.map((attempt) => [
      String(attempt.attempt),
      attempt.kind,
      new Date(attempt.startedAtMs).toISOString(),
      String(attempt.durationMs),
      String(attempt.statusCode ?? attempt.error),
      printable(attempt.response ?? '')
        .replace(/\s+/g, ' ')
        .slice(0, RESPONSE_SHOWN),
      attempt.postUrl,
    ]),
    'Not attempted yet.',
  );
}

export function printCountOfDeliveries(totalResults: number): void {
  printLine(`${totalResults} ${totalResults === 1 ? 'delivery' : 'deliveries'} would be sent again.`);
}

export function printRedelivery({ queued, sent, delivered, skipped }: Redelivery): void {
  printLine(`${queued} queued, ${sent} sent, ${delivered} delivered, ${skipped} skipped.`);
}

export function answerOf(delivery: DeliveryView): string {
  return String(delivery.lastStatusCode ?? delivery.lastError ?? '–');
}

export function paintStatus(status: DeliveryView['status']): string {
  if (status === 'delivered') return paint(status, 'green');
  if (status === 'failed') return paint(status, 'red');
  return status === 'held' || status === 'retrying' ? paint(status, 'yellow') : status;
}
