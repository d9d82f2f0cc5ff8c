import { resolve } from 'node:path';
import type { Claimed, DirectDispatch } from '../../src/store/deliveries/claim/claimed.ts';
import type { Acceptance } from '../../src/store/events/acceptance.ts';
import { eventTemplates, numbered, takeNumbers } from '../harness/event-bodies.ts';

/**
 * The store of one checkout without HTTP: accepts events in groups, then records a success for each delivery.
 * `bun hot-path-process.ts '{"checkout": ".", "databaseUrl": "sqlite:…", "webhooks": 1, "group": 64}'`. `GET /?groups=100` returns
 * the processor time of both halves in microseconds of this process per event.
 */

type Input = { checkout: string; databaseUrl: string; webhooks: number; group: number };

const KIND = 'TransferCreated';
const NETWORK = 8453;
const LEASE_MS = 30_000;
const SECRET_KEY = Buffer.alloc(32, 9).toString('base64');
const DELIVERED = { kind: 'response', statusCode: 200, retryAfter: null, body: 'ok', durationMs: 2 } as const;
const NEXT = { status: 'delivered', steps: 1, delayMs: null, suspend: null } as const;

const { checkout, databaseUrl, webhooks, group } = JSON.parse(process.argv[2] ?? '{}') as Input;
const source = <Module>(file: string): Promise<Module> => import(resolve(checkout, 'src', file));

const { loadConfig } = await source<typeof import('../../src/config.ts')>('config.ts');
const { openStore } = await source<typeof import('../../src/store/open-store.ts')>('store/open-store.ts');
const { createEntity } =
  await source<typeof import('../../src/store/tenants/entities.ts')>('store/tenants/entities.ts');
const { registerWebhooks } =
  await source<typeof import('../../src/store/webhooks/register.ts')>('store/webhooks/register.ts');
const { AcceptQueue } =
  await source<typeof import('../../src/store/events/accept-queue.ts')>('store/events/accept-queue.ts');
const { recordAttempts } = await source<typeof import('../../src/store/deliveries/record/record-attempts.ts')>(
  'store/deliveries/record/record-attempts.ts',
);

const { db, box } = await openStore(loadConfig({ DATABASE_URL: databaseUrl, SECRET_KEY }));
const nowS = Math.floor(Date.now() / 1_000);
const change = { actor: 'bench', nowS };
const { entityId } = await db.transaction((queries) => createEntity(queries, box, 'bench', change));
for (let index = 0; index < webhooks; index++) {
  const postUrl = `https://hooks.example.com/${index}`;
  const pairs = [{ networkId: NETWORK, event: KIND }];
  await registerWebhooks(db, entityId, { postUrl, pairs, entityWebhookLimit: 1_000 }, change);
}

const claimed: Claimed[] = [];
const directDispatch: DirectDispatch = {
  leaseMs: LEASE_MS,
  queued: 0,
  reserve: (_, wanted) => wanted,
  cancel: () => undefined,
  begin: (deliveries) => void claimed.push(...deliveries),
};
const queue = new AcceptQueue(db, { onDue: () => undefined, directDispatch });
const templates = eventTemplates(KIND);

function acceptGroup(): Promise<Acceptance[]> {
  const first = takeNumbers(group);
  return Promise.all(
    Array.from({ length: group }, (_, index) => {
      const body = numbered(templates, first + index);
      const { transferId, agreementId } = JSON.parse(body) as { transferId: string; agreementId?: string };
      const subjects = { transferId, agreementId: agreementId ?? null };
      return queue.accept({
        entityId,
        eventId: null,
        event: KIND,
        networkId: NETWORK,
        body,
        ...subjects,
        firstDelayMs: 0,
      });
    }),
  );
}

async function record(deliveries: readonly Claimed[]): Promise<void> {
  const made = deliveries.map((delivery) => ({
    delivery,
    startedAtMs: Date.now(),
    outcome: DELIVERED,
    next: NEXT,
  }));
  const recorded = await db.transaction((queries) => recordAttempts(queries, db.dialect, made));
  if (recorded.size !== deliveries.length) throw new Error(`${recorded.size} of ${deliveries.length} were recorded`);
}

async function run(groups: number): Promise<{ accept: number; record: number }> {
  const spent = { accept: 0, record: 0 };
  const timed = async (part: keyof typeof spent, work: () => Promise<unknown>) => {
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    spent[part] += (user + system) / (groups * group);
  };
  for (let done = 0; done < groups; done++) {
    await timed('accept', acceptGroup);
    const deliveries = claimed.splice(0);
    if (deliveries.length !== group * webhooks) throw new Error(`${deliveries.length} deliveries were dispatched`);
    await timed('record', async () => {
      for (let from = 0; from < deliveries.length; from += group) await record(deliveries.slice(from, from + group));
    });
  }
  return spent;
}

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  development: false,
  idleTimeout: 0,
  async fetch(request) {
    return Response.json(await run(Number(new URL(request.url).searchParams.get('groups'))));
  },
});

console.log(`listening on http://127.0.0.1:${server.port}`);
