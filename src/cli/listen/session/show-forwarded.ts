import type { ListenRequest } from '../../../client/listen/listen-sessions.ts';
import { networkName } from '../../../domain/networks.ts';
import { paint, printable, showTime } from '../../terminal/output.ts';
import type { Forwarded } from './forwarder.ts';

type RequestFields = {
  readonly deliveryId: string;
  readonly eventId: string | null;
  readonly event: string | null;
  readonly networkId: number | null;
  readonly attempt: number;
};

/** The fields of a request that matter to a program. */
export function requestFields({ deliveryId, attempt, headers, body }: ListenRequest): RequestFields {
  const { event, networkId } = JSON.parse(body) as { event?: unknown; networkId?: unknown };
  return {
    deliveryId,
    eventId: headers['paybell-event-id'] ?? null,
    event: typeof event === 'string' ? event : null,
    networkId: typeof networkId === 'number' ? networkId : null,
    attempt,
  };
}

/** One line: the time, the event, the status and how long it took. */
export function showForwarded(request: ListenRequest, { statusCode, error, durationMs }: Forwarded): string {
  const { event, networkId, eventId } = requestFields(request);
  const network = networkId === null ? '' : ` on ${networkName(networkId)}`;
  const isSuccess = statusCode !== undefined && statusCode >= 200 && statusCode < 300;
  const outcome = paint(
    statusCode === undefined ? printable(error ?? '') : String(statusCode),
    isSuccess ? 'green' : 'red',
  );
  const title = paint(printable(event ?? 'event') + network, 'bold');
  const id = paint(printable(eventId ?? request.deliveryId), 'dim');
  return `${paint(showTime(Date.now()), 'dim')}  ${title}  ${outcome}  ${durationMs} ms  ${id}`;
}
