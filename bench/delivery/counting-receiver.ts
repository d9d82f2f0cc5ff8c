import { type Server, startProgram } from '../harness/processes.ts';

/** A receiver on one or more ports that counts the deliveries and notes how long each took. */
export type CountingReceiver = {
  /** One for each port, each a destination of its own. */
  readonly urls: readonly string[];
  readonly read: () => Promise<Received>;
  readonly reset: () => Promise<void>;
  readonly stop: Server['stop'];
};

export type Received = {
  readonly received: number;
  readonly firstAtMs: number;
  readonly lastAtMs: number;
  /** From the `sentAtMs` of an event's body to its arrival. */
  readonly delaysMs: readonly number[];
};

export async function startCountingReceiver(ports: number): Promise<CountingReceiver> {
  const server = await startProgram('delivery/counting-receiver-process.ts', { ports }, 'load');
  const get = async (path: string) => (await (await fetch(server.url + path)).json()) as Received & { ports: number[] };
  const { ports: opened } = await get('/');
  return {
    urls: opened.map((port) => `http://127.0.0.1:${port}/hook`),
    read: () => get('/'),
    reset: async () => void (await get('/reset')),
    stop: server.stop,
  };
}

const LOOK_EVERY_MS = 100;

/** Waits until so many have arrived, or for so long. */
export async function awaitArrival(receiver: CountingReceiver, expected: number, mostMs: number): Promise<Received> {
  const deadlineMs = performance.now() + mostMs;
  let arrived = await receiver.read();
  while (arrived.received < expected && performance.now() < deadlineMs) {
    await Bun.sleep(LOOK_EVERY_MS);
    arrived = await receiver.read();
  }
  return arrived;
}
