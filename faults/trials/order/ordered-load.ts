import { EVENT_KINDS } from '../../../src/domain/event-kinds.ts';
import type { Client } from '../../../test/support/service.ts';

export type Size = { readonly agreements: number; readonly eventsEach: number };

const AGREEMENTS_EACH = 10;
const AFTER_FAILURE_MS = 25;
const GIVE_UP_AFTER_MS = 60_000;

/** Where an event belongs; its id says it, so that the receiver knows too. */
export type Place = { readonly agreement: string; readonly index: number };

export function placeOf(eventId: string): Place {
  const [agreement = '', index] = eventId.split('_');
  return { agreement, index: Number(index) };
}

/** Every agreement begins with another kind, so that each of the seven webhooks is the first of some. */
export function kindOf(eventId: string): string {
  const { agreement, index } = placeOf(eventId);
  return EVENT_KINDS[(Number(agreement) + index) % EVENT_KINDS.length] ?? '';
}

/** No two have a transfer in common, but a cancellation supersedes the scheduled one before it. */
export function bodyOf(eventId: string): string {
  const { agreement } = placeOf(eventId);
  return `{"event": "${kindOf(eventId)}","networkId":1,"eventId":"${eventId}","agreementId":"${agreement}","transferId":"${eventId}","amount":"25.00"}`;
}

/**
 * Sends the events of an agreement one after another, each until it is acknowledged, to whichever instance is there. Many
 * agreements are sent at a time, and the next event of one usually before the last is delivered.
 */
export class OrderedLoad {
  readonly acknowledged = new Set<string>();
  readonly ended: Promise<void>;

  constructor(
    private readonly clients: () => readonly Client[],
    { agreements, eventsEach }: Size,
  ) {
    const senders = Math.ceil(agreements / AGREEMENTS_EACH);
    this.ended = Promise.all(
      Array.from({ length: senders }, async (_, sender) => {
        const last = Math.min(agreements, (sender + 1) * AGREEMENTS_EACH);
        for (let index = 0; index < eventsEach; index++) {
          for (let agreement = sender * AGREEMENTS_EACH; agreement < last; agreement++) {
            await this.#send(`${agreement}_${index}`);
          }
        }
      }),
    ).then(() => undefined);
  }

  async #send(eventId: string): Promise<void> {
    const endsAtMs = performance.now() + GIVE_UP_AFTER_MS;
    while (performance.now() < endsAtMs) {
      const clients = this.clients();
      const client = clients[Math.floor(Math.random() * clients.length)];
      const response = await client?.request('POST', '/events', bodyOf(eventId)).catch(() => undefined);
      const text = await response?.text().catch(() => undefined);
      if (response?.ok && text !== undefined) {
        this.acknowledged.add(eventId);
        return;
      }
      if (response !== undefined && text !== undefined && response.status !== 503) {
        throw new Error(`an event was rejected with ${response.status}: ${text}`);
      }
      await Bun.sleep(AFTER_FAILURE_MS);
    }
    throw new Error(`${eventId} was not acknowledged within a minute`);
  }
}
