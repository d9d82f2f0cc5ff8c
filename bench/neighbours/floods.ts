import type { Client } from '../../test/support/service.ts';

/** The entity that floods. `day` is a day on which it has many events. */
export type Loud = { readonly client: Client; readonly entityId: string; readonly day: string };

/** Floods one shared resource until the signal aborts. Returns the number of its requests. */
export type Flood = {
  readonly name: string;
  readonly start: (loud: Loud, signal: AbortSignal) => Promise<number>;
};

const BATCH = 1_000;
const LONG_AMOUNT = '9'.repeat(250_000);

/** So many requests at a time, one after the other. A rejected one is repeated after a pause, as a client does that ignores limits. */
function repeat(
  width: number,
  send: (loud: Loud, no: number, signal: AbortSignal) => Promise<Response>,
): Flood['start'] {
  return async (loud, signal) => {
    let requests = 0;
    const worker = async () => {
      while (!signal.aborted) {
        const response = await send(loud, requests++, signal);
        await response.arrayBuffer();
        if (!response.ok) await Bun.sleep(20);
      }
    };
    await Promise.all(Array.from({ length: width }, worker));
    return requests;
  };
}

function event(no: number, fields: object = {}): string {
  return JSON.stringify({ event: 'TransferCreated', networkId: 1, eventId: `${no}-${crypto.randomUUID()}`, ...fields });
}

/** The floods that leave deliveries behind come last. */
export const FLOODS: readonly Flood[] = [
  { name: 'none', start: async () => 0 },
  {
    name: 'snapshots: deep pages of webhooks',
    start: repeat(50, ({ client }, no) =>
      client.request('GET', `/webhooks/classic?limit=100&page=${1 + (no % 20)}&sortBy=postUrl`),
    ),
  },
  {
    name: 'caches: lists with other filters',
    start: repeat(50, ({ client }, no) =>
      client.request('GET', `/webhooks/classic?limit=25&postUrl=https://a.example/${no}`),
    ),
  },
  {
    name: 'long reads: searches in payloads',
    start: repeat(50, ({ client }, no) =>
      client.request('GET', `/deliveries?payload=absent-${no}&since=${Math.floor(Date.now() / 1_000) - 172_800}`),
    ),
  },
  {
    name: 'reconciliations',
    start: repeat(10, ({ client, day }) => client.request('GET', `/reconciliation?day=${day}`)),
  },
  {
    name: 'statistics',
    start: repeat(20, ({ client }) => client.request('GET', '/stats')),
  },
  {
    name: 'event loop: large events',
    start: repeat(4, ({ client }, no) => client.request('POST', '/events', event(no, { amount: LONG_AMOUNT }))),
  },
  { name: 'feeds: 200 readers and their events', start: floodFeeds },
  {
    name: 'group commits: batches of 1,000',
    start: repeat(8, ({ client }, no) => {
      const lines = Array.from({ length: BATCH }, () => event(no));
      return client.request('POST', '/events/batch', lines.join('\n'), 'application/x-ndjson');
    }),
  },
  {
    name: 'tasks: fan-outs to 2,000 webhooks',
    start: repeat(2, ({ client }, no) =>
      client.request('POST', '/events', event(no, { event: 'TransferProcessed', transferId: String(no) })),
    ),
  },
];

const READERS = 200;

async function floodFeeds({ client, entityId }: Loud, signal: AbortSignal): Promise<number> {
  const listed = await client.request('GET', '/endpoints?limit=1&sortBy=lastSequence&sortDir=desc');
  const { endpoints } = (await listed.json()) as { endpoints: { endpointId: string; lastSequence: number }[] };
  const [endpoint] = endpoints;
  if (endpoint === undefined) throw new Error(`${entityId} has no endpoint`);
  const reading = Array.from({ length: READERS }, async () => {
    let after = endpoint.lastSequence;
    while (!signal.aborted) {
      const response = await client.request('GET', `/endpoints/${endpoint.endpointId}/feed?after=${after}&wait=25`);
      const { lastSequence } = (await response.json()) as { lastSequence?: number };
      if (lastSequence === undefined) await Bun.sleep(100);
      else after = lastSequence;
    }
  });
  const requests = await repeat(2, ({ client: publisher }, no) => publisher.request('POST', '/events', event(no)))(
    ...([{ client, entityId, day: '' }, signal] as const),
  );
  // The last event ends those that still wait.
  await client.request('POST', '/events', event(requests));
  await Promise.all(reading);
  return requests + READERS;
}
