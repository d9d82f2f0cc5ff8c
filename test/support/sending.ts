import type { Client } from './service.ts';

export type Sending = {
  /** Ids with a 2xx response. */
  readonly acknowledged: Set<string>;
  /** Resolves when every id was sent once, with any response. */
  readonly done: Promise<void>;
};

type SendOptions = { concurrency?: number; networkOf?: (index: number) => number };

/** Sends an event for each id and records those that are acknowledged. */
export function sendAll(clients: readonly Client[], ids: readonly string[], options: SendOptions = {}): Sending {
  const { concurrency = 16, networkOf = () => 1 } = options;
  const acknowledged = new Set<string>();
  let next = 0;
  const work = async () => {
    while (next < ids.length) {
      const index = next++;
      const eventId = ids[index] ?? '';
      const body = JSON.stringify({ eventId, event: 'LatePayment', networkId: networkOf(index), amount: '25.00' });
      // A process that is killed sends no response; such an event is not acknowledged.
      const response = await clients[index % clients.length]?.request('POST', '/events', body).catch(() => null);
      if (response?.ok === true) acknowledged.add(eventId);
    }
  };
  const done = Promise.all(Array.from({ length: concurrency }, work)).then(() => undefined);
  return { acknowledged, done };
}

export function eventIds(count: number, prefix = 'event'): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
}
