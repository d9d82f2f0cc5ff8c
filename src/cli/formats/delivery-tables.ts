import { attemptErrorText } from '../../contract/attempt-error-text.ts';
import type { Redelivery } from '../../contract/deliveries/redelivery.ts';
import { waitsForText } from '../../contract/deliveries/waits-for-text.ts';
import type { Delivery, DeliveryCounts, DeliveryDetail, DeliveryList } from '../../contract/deliveries.ts';
import { showCount } from '../../domain/errors.ts';
import { paint, printable, printJson, printLine, showDate, showShortDate } from '../terminal/output.ts';
import { printFields, printTable, printTotal } from '../terminal/table.ts';
import { showDuration } from './amounts.ts';

/** Deliveries as people read them, whether they come from the store or over HTTP. */

const MAX_BODY_SHOWN = 40;

export function printDeliveries({ totalResults, deliveries, searched }: DeliveryList): void {
  printTable(
    ['delivery-id', 'event', 'payment', 'status', 'waits for', 'attempts', 'result', 'created', 'url'],
    deliveries.map((delivery) => [
      delivery.deliveryId,
      showEvent(delivery),
      showSummary(delivery.summary),
      paintStatus(delivery.status),
      showWait(delivery, showShortDate),
      String(delivery.attempts),
      showLastResult(delivery),
      showDate(delivery.dateCreated),
      delivery.postUrl,
    ]),
    'No deliveries match.',
    {
      // Not the ID: a cut takes the middle, and only there do the IDs of one moment differ.
      shorten: { payment: 13, url: 24, result: 5, event: 17, 'waits for': 17 },
      leaveOut: ['attempts', 'payment', 'url', 'created', 'result'],
    },
  );
  printTotal(totalResults, deliveries.length);
  if (searched === null) return;
  const count = showCount(searched.deliveries, 'delivery', 'deliveries');
  printLine(`Searched the payloads of ${count}, back to ${showDate(searched.dateOldest)}.`);
}

/** Amount, token, and the agreement or transfer of a payload. */
export function showSummary(summary: Delivery['summary']): string {
  if (summary === null) return '–';
  const { amount, token, agreementId, transferId, payer } = summary;
  const parts = [amount, amount === null ? null : token, transferId ?? agreementId ?? payer];
  return printable(parts.filter((part) => part !== null).join(' ') || '–');
}

const WAIT_FORMAT = {
  duration: showDuration,
  actor: (actor: string, name: string | null) => printable(name ?? actor),
};

/** Why a delivery was not sent yet. */
function showWait({ waitsFor }: Delivery, at: (dateS: number) => string): string {
  return waitsFor === null ? '–' : waitsForText(waitsFor, Math.floor(Date.now() / 1000), { ...WAIT_FORMAT, at });
}

/** Marks test requests and alerts, because a bulk redelivery leaves them out. */
function showEvent({ event, kind }: Delivery): string {
  return kind === 'event' ? event : `${event} (${kind})`;
}

export function printDeliveryCounts({ total, ...counts }: DeliveryCounts): void {
  const rows = Object.entries(counts).map(([status, count]) => [paintStatus(status as Delivery['status']), `${count}`]);
  printTable(['status', 'deliveries'], [...rows, ['total', `${total}`]], 'No deliveries match.');
}

export function printDelivery(delivery: DeliveryDetail): void {
  printFields({
    delivery: delivery.deliveryId,
    event: `${showEvent(delivery)} ${delivery.eventId} on network ${delivery.networkId}`,
    webhook: delivery.webhookId,
    status: paintStatus(delivery.status),
    ...(delivery.supersededBy !== null && { 'superseded by': `event ${delivery.supersededBy}` }),
    ...(delivery.sequence !== null && { sequence: `${delivery.sequence} of ${delivery.endpointId}` }),
    created: showDate(delivery.dateCreated),
    delivered: showDate(delivery.dateDelivered),
    'next attempt': showDate(delivery.dateNextAttempt),
    ...(delivery.waitsFor !== null && { 'waits for': showWait(delivery, showDate) }),
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
  const last = delivery.attemptLog.at(-1);
  if (last === undefined) return;
  printHeaders(`Request headers of attempt ${last.attempt}`, last.requestHeaders);
  if (last.responseHeaders !== null) printHeaders('Response headers', last.responseHeaders);
}

function printHeaders(title: string, headers: DeliveryDetail['attemptLog'][number]['requestHeaders']): void {
  printLine();
  printLine(`${title}:`);
  for (const { name, value } of headers) printLine(`  ${printable(name)}: ${printable(value)}`);
}

/** The output of `redeliver --dry-run`. */
export function printRedeliveryCount(totalResults: number, json: boolean): void {
  if (json) printJson({ totalResults });
  else printLine(`${showCount(totalResults, 'delivery', 'deliveries')} would be sent again.`);
}

export function printRedelivery({ queued, sent, delivered, failed, waiting, skipped }: Redelivery): void {
  const became = `${delivered} delivered, ${failed} failed, ${waiting} waiting`;
  printLine(`${queued} queued, ${sent} sent, ${became}, ${skipped} skipped.`);
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
