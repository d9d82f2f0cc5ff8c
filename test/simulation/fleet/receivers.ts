import type { OutgoingRequest } from '../../../src/delivery/sender.ts';
import type { Outcome } from '../../../src/domain/attempt.ts';
import { asNobody } from '../world/owners.ts';
import { world } from '../world/world.ts';

/** How a receiver behaves. `late` responds with a 2xx when the sender has given up. */
export const RECEIVER_MODES = ['fine', 'slow', 'error', 'refused', 'late', 'gone'] as const;
export type ReceiverMode = (typeof RECEIVER_MODES)[number];

/** A request that a receiver got. */
export type Receipt = {
  readonly atMs: number;
  readonly postUrl: string;
  readonly deliveryId: string;
  readonly eventId: string;
  readonly event: string;
  /** Of a payment; undefined for events that were posted. */
  readonly revision: number | undefined;
  readonly transactionHash: string | undefined;
  readonly endpointId: string | undefined;
  readonly sequence: number | undefined;
  /** Whether the receiver accepted it; the sender may not know. */
  readonly isAccepted: boolean;
};

const TIMEOUT_MS = 15_000;
const WAY_MS = 20;
const SLOW_MS = 8_000;
const STATUS_CODES: Readonly<Record<ReceiverMode, number>> = {
  ...{ fine: 200, slow: 200, late: 200, refused: 0, error: 500, gone: 410 },
};

/** The receivers behind all URLs, and everything that they were sent. */
export class Receivers {
  readonly receipts: Receipt[] = [];
  readonly #modes = new Map<string, ReceiverMode>();

  setMode(postUrl: string, mode: ReceiverMode): void {
    this.#modes.set(postUrl, mode);
  }

  heal(): void {
    this.#modes.clear();
  }

  /** The request is on its way: the receiver gets it, whatever becomes of the instance that sent it. */
  async send(request: OutgoingRequest): Promise<Outcome> {
    const mode = this.#modes.get(request.postUrl) ?? 'fine';
    const startedMs = world.nowMs;
    const durationMs = () => Math.round(world.nowMs - startedMs);
    const received = asNobody(() => this.#receive(request, mode));
    await world.sleep(1 + world.random.next() * WAY_MS);
    if (!(await received)) return { kind: 'error', error: 'refused', durationMs: durationMs() };
    if (mode === 'late') {
      await world.sleep(TIMEOUT_MS - durationMs());
      return { kind: 'error', error: 'timeout', durationMs: durationMs() };
    }
    await world.sleep(world.random.next() * (mode === 'slow' ? SLOW_MS : WAY_MS));
    const statusCode = STATUS_CODES[mode];
    return { kind: 'response', statusCode, retryAfter: null, body: '', durationMs: durationMs() };
  }

  async #receive({ postUrl, headers, body }: OutgoingRequest, mode: ReceiverMode): Promise<boolean> {
    await world.sleep(world.random.next() * WAY_MS);
    if (mode === 'refused') return false;
    const payload = JSON.parse(String(body)) as {
      readonly event: string;
      readonly revision?: number;
      readonly transactionHash?: string;
    };
    const eventId = headers['paybell-event-id'] ?? '';
    const sequence = headers['paybell-sequence'];
    this.receipts.push({
      atMs: world.nowMs,
      postUrl,
      deliveryId: headers['webhook-id'] ?? '',
      eventId,
      event: payload.event,
      revision: payload.revision,
      transactionHash: payload.transactionHash,
      endpointId: headers['paybell-endpoint'],
      sequence: sequence === undefined ? undefined : Number(sequence),
      isAccepted: mode !== 'error' && mode !== 'gone',
    });
    world.note(`received ${postUrl} ${payload.event} ${mode}`);
    return true;
  }
}
