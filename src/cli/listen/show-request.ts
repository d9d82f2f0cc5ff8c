import { networkName } from '../../domain/networks.ts';
import { prettyJson } from '../formats/pretty-json.ts';
import { paint, printable, showTime } from '../terminal/output.ts';
import type { ReceivedRequest, SentResponse } from './receiver.ts';

const INDENT = '  ';

/** A request as lines for a person: time, event, signature, ids, and the body with one field per line. */
export function showRequest(request: ReceivedRequest): string[] {
  const ids = [request.deliveryId, request.eventId].filter((id) => id !== null).map(printable);
  const attempt = request.attempt > 1 ? paint(`  attempt ${request.attempt}`, 'yellow') : '';
  return [
    `${paint(showTime(request.receivedAtMs), 'dim')}  ${paint(titleOf(request), 'bold')}${attempt}`,
    INDENT + showSignature(request),
    ...(ids.length === 0 ? [] : [INDENT + paint(ids.join('  '), 'dim')]),
    // Control characters are removed first, because the layout adds its own for colours.
    ...prettyJson(printable(request.body))
      .split('\n')
      .map((line) => INDENT + line),
  ];
}

/** Names the delivery unless the response is shown directly under its request. */
export function showResponse(request: ReceivedRequest, response: SentResponse, isUnderRequest: boolean): string {
  const isSuccess = response.status >= 200 && response.status < 300;
  const status = paint(String(response.status), isSuccess ? 'green' : 'red');
  const after = response.durationMs >= 1000 ? ` after ${(response.durationMs / 1000).toFixed(1)} s` : '';
  const remarks = [
    response.simulated ? 'simulated' : null,
    response.aborted ? 'the sender had closed the connection' : null,
    response.error === null ? null : printable(response.error),
  ].filter((remark) => remark !== null);
  const to = isUnderRequest ? '' : ` to ${printable(request.deliveryId ?? 'a request')}`;
  return `${INDENT}→ ${status}${to}${after}${remarks.length === 0 ? '' : `, ${remarks.join(', ')}`}`;
}

function titleOf(request: ReceivedRequest): string {
  const { event, networkId } = fieldsOf(request.body);
  if (typeof event !== 'string') return `POST ${printable(request.path)}`;
  const network = typeof networkId === 'number' ? ` on ${networkName(networkId)}` : '';
  return printable(event) + network;
}

function fieldsOf(body: string): { event?: unknown; networkId?: unknown } {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}

function showSignature({ signature }: ReceivedRequest): string {
  const { state, text } = signature;
  if (state === 'verified') return paint(`✓ ${text}`, 'green');
  return state === 'unchecked' ? paint(text, 'yellow') : paint(`✗ ${printable(text)}`, 'red');
}
