import { Database } from 'bun:sqlite';
import { mkdtempSync, rmSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/**
 * The files of `src` with a function that ran because of one of several equal requests. The first reads from the store,
 * the second may fill caches, and the later ones use them.
 */
export type Entered = {
  readonly first: readonly string[];
  readonly second: readonly string[];
  readonly later: readonly string[];
};
export type ServiceRun = { readonly list: Entered; readonly event: Entered };

const ROOT = resolve(import.meta.dir, '../..');
const API = '/api/v1/crypto';
/** What the service does by itself may fall into one of these requests, but not into all. */
const LATER_REQUESTS = 5;
/** How long what timers began before they were held may take to end. */
const SETTLE_MS = 500;
/** A shorter timer belongs to the request that set it. */
const HELD_FROM_MS = 100;
const POLL_MS = 2;
/** As `deliveries.status` stores it; nothing of `src` is imported here, since that would count as entered. */
const DELIVERED = 1;
const MAX_POLLS = 30_000;
/** What runs after the commit, such as freeing the destination's slot, still belongs to the event. */
const AFTER_COMMIT_MS = 30;

let timersAreHeld = false;
holdTimersOnDemand();

const coverage = new Session();
coverage.connect();
await coverage.post('Profiler.enable');
await coverage.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });

// Only what is loaded after this point is covered.
const { loadConfig } = await import('../../src/config.ts');
const { createLogger } = await import('../../src/log.ts');
const { startService } = await import('../../src/service.ts');

const folder = mkdtempSync(join(tmpdir(), 'paybell-files-entered-'));
const databaseFile = join(folder, 'paybell.db');
const config = loadConfig({
  PORT: '0',
  DATABASE_URL: `sqlite:${databaseFile}`,
  SECRET_KEY: Buffer.alloc(32, 9).toString('base64'),
  ALLOW_INSECURE_TARGETS: 'true',
});
const service = await startService(config, createLogger('silent'));
const receiver = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() });
const database = new Database(databaseFile);
try {
  const registration = { postUrl: `http://127.0.0.1:${receiver.port}/`, events: ['LatePayment'], networkIds: [1] };
  await request('POST', '/webhooks/classic', registration);
  timersAreHeld = true;
  await Bun.sleep(SETTLE_MS);
  const run: ServiceRun = { list: await enteredBy(listWebhooks), event: await enteredBy(deliverEvent) };
  process.stdout.write(JSON.stringify(run));
} finally {
  timersAreHeld = false;
  database.close();
  await receiver.stop(true);
  await service.stop();
  rmSync(folder, { recursive: true, force: true });
}

/** While they are held, what the jobs of the service do on their own is not taken for the work of a request. */
function holdTimersOnDemand(): void {
  const { setTimeout: later, setInterval: repeatedly } = globalThis;
  const isHeld = (ms: number | undefined) => timersAreHeld && (ms ?? 0) >= HELD_FROM_MS;
  const timeout = (callback: (...values: unknown[]) => void, ms?: number, ...values: unknown[]) =>
    later(() => {
      if (!isHeld(ms)) callback(...values);
    }, ms);
  const interval = (callback: (...values: unknown[]) => void, ms?: number, ...values: unknown[]) =>
    repeatedly(() => {
      if (!isHeld(ms)) callback(...values);
    }, ms);
  Object.assign(globalThis, { setTimeout: timeout, setInterval: interval });
}

async function enteredBy(work: () => Promise<void>): Promise<Entered> {
  const first = await filesEntered(work);
  const second = await filesEntered(work);
  let later = await filesEntered(work);
  for (let request = 1; request < LATER_REQUESTS; request++) {
    const files = await filesEntered(work);
    later = later.filter((file) => files.includes(file));
  }
  return { first, second, later };
}

async function filesEntered(work: () => Promise<void>): Promise<string[]> {
  // Taking the coverage sets its counts back to zero.
  await coverage.post('Profiler.takePreciseCoverage');
  await work();
  const { result } = await coverage.post('Profiler.takePreciseCoverage');
  const source = `file://${ROOT}/src/`;
  return result
    .filter(({ url, functions }) => {
      // The first "function" of a script is the module itself.
      const [, ...inModule] = functions;
      return url.startsWith(source) && inModule.some(({ ranges }) => ranges.some(({ count }) => count > 0));
    })
    .map(({ url }) => `src/${url.slice(source.length)}`)
    .sort();
}

async function listWebhooks(): Promise<void> {
  await request('GET', '/webhooks/classic?networkId=1&event=LatePayment&page=1&limit=10&sortBy=postUrl&sortDir=asc');
}

/** Polls the store directly: a request to the API would add its own files. */
async function deliverEvent(): Promise<void> {
  const { eventId } = (await request('POST', '/events', { event: 'LatePayment', networkId: 1 })) as { eventId: string };
  // The number of the event is in its id, and that of its only delivery follows it.
  const id = Uint8Array.fromHex(`${eventId.slice('evt_'.length, -4)}0001`);
  const statusOf = database.query<{ status: number }, [Uint8Array]>('select status from deliveries where id = ?');
  for (let polls = 0; statusOf.get(id)?.status !== DELIVERED; polls++) {
    if (polls === MAX_POLLS) throw new Error(`The delivery of ${eventId} was not completed in time.`);
    await Bun.sleep(POLL_MS);
  }
  await Bun.sleep(AFTER_COMMIT_MS);
}

async function request(method: string, path: string, body?: object): Promise<unknown> {
  if (service.firstEntity === null) throw new Error('The store was not empty.');
  const { entityId, apiKey } = service.firstEntity;
  const response = await fetch(service.url + API + path, {
    method,
    headers: { 'api-key': apiKey, 'entity-id': entityId, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return response.json();
}
