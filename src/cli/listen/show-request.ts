import { networkName } from '../../domain/networks.ts';
import { prettyJson } from '../formats/pretty-json.ts';
import { paint, printable } from '../terminal/output.ts';
import type { Answer, Post } from './receiver.ts';

const MARGIN = '  ';

/** A post as lines for a person: when, what, whether it is genuine, and the body with one field a line. */
export function showPost(post: Post): string[] {
  const time = new Date(post.receivedAtMs).toTimeString().slice(0, 8);
  const ids = [post.deliveryId, post.eventId].filter((id) => id !== null).map(printable);
  const again = post.post > 1 ? paint(`  post ${post.post} of it`, 'yellow') : '';
  return [
    `${paint(time, 'dim')}  ${paint(titleOf(post), 'bold')}${again}`,
    MARGIN + showSignature(post),
    ...(ids.length === 0 ? [] : [MARGIN + paint(ids.join('  '), 'dim')]),
    // Made safe before it is laid out, since the colours of the layout are control characters as well.
    ...prettyJson(printable(post.body))
      .split('\n')
      .map((line) => MARGIN + line),
  ];
}

/** `alone` when nothing was shown since its post, so that it needs no name. */
export function showAnswer(post: Post, answer: Answer, alone: boolean): string {
  const isWell = answer.status >= 200 && answer.status < 300;
  const status = paint(String(answer.status), isWell ? 'green' : 'red');
  const after = answer.durationMs >= 1000 ? ` after ${(answer.durationMs / 1000).toFixed(1)} s` : '';
  const remarks = [
    answer.onPurpose ? 'on purpose' : null,
    answer.hungUp ? 'the sender had hung up' : null,
    answer.error === null ? null : printable(answer.error),
  ].filter((remark) => remark !== null);
  const of = alone ? '' : ` to ${printable(post.deliveryId ?? 'a post')}`;
  return `${MARGIN}→ ${status}${of}${after}${remarks.length === 0 ? '' : `, ${remarks.join(', ')}`}`;
}

function titleOf(post: Post): string {
  const { event, networkId } = fieldsOf(post.body);
  if (typeof event !== 'string') return `POST ${printable(post.path)}`;
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

function showSignature({ signature }: Post): string {
  const { state, words } = signature;
  if (state === 'verified') return paint(`✓ ${words}`, 'green');
  return state === 'unchecked' ? paint(words, 'dim') : paint(`✗ ${printable(words)}`, 'red');
}
