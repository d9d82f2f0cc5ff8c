import type { Client } from './service.ts';

export type Sending = {
  /** Ids that were answered with 2xx. */
  readonly acknowledged: Set<string>;
  /** Resolves when every id was sent once, whatever was answered. */
  readonly done: Promise<void>;
};

type SendOptions = { atATime?: number; networkOf?: (index: number) => number };

/** Sends an event for each id, that many at a time, and notes those that were acknowledged. */
export function sendAll(clients: readonly Client[], ids: readonly string[], options: SendOptions = {}): Sending {
  const { atATime = 16, networkOf = () => 1 } = options;
  const acknowledged = new Set<string>();
  let next = 0;
  const work = async () => {
    while (next < ids.length) {
      const index = next++;
      const eventId = ids[index] ?? '';
      const body = JSON.stringify({ eventId, event: 'LatePayment', networkId: networkOf(index), amount: '25.00' });
      // A process that dies in the middle answers nothing, and what was not answered was not promised.
      const answer = await clients[index % clients.length]?.request('POST', '/events', body).catch(() => null);
      if (answer?.ok === true) acknowledged.add(eventId);
    }
  };
  const done = Promise.all(Array.from({ length: atATime }, work)).then(() => undefined);
  return { acknowledged, done };
}

export function eventIds(count: number, prefix = 'event'): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
}
