import { dirname, join } from 'node:path';
import { TO_ONE, TO_TEN } from '../delivery/accept-and-deliver.ts';
import { eventTemplates } from '../harness/event-bodies.ts';
import { createPostgresDatabase } from '../harness/postgres.ts';
import { freePort, runCommand, startServer, tempFolder } from '../harness/processes.ts';
import { cpuOf, JSON_TYPE, NOBODY, type Peer, routesTo, timed, withPostgres } from './peer.ts';
import { setUp, versionOf } from './programs.ts';
import { startRabbitmq } from './rabbitmq.ts';
import { startRedis } from './redis.ts';

const API_KEY = 'bench';
const TENANT = 'bench';
/** As many requests at a time as Paybell sends to one destination, for each of ten; by default, it is one. */
const CONCURRENCY = '160';

type Stores = { readonly databaseUrl: string; readonly redisPort: number; readonly queueUrl: string };
type StoreBinaries = { readonly redis: string; readonly rabbitmq: string };

/**
 * Outpost with all its services in one process: the queues in RabbitMQ, destinations in Redis, attempts in PostgreSQL. Its tables
 * are made before the start that is timed, which it requires.
 */
export async function startOutpostPeer(binary: string, stores: StoreBinaries, urls: readonly string[]): Promise<Peer> {
  const redis = await startRedis(stores.redis, 'everysec');
  const rabbitmq = await startRabbitmq(stores.rabbitmq);
  const databaseUrl = `${await createPostgresDatabase()}?sslmode=disable`;
  const port = freePort();
  const environment = settings(port, { databaseUrl, redisPort: redis.port, queueUrl: rabbitmq.url });
  const folder = tempFolder();
  await runCommand([binary, 'migrate', 'apply', '--yes'], environment);
  // `outpost serve` may start this one as a process of its own, whose processor time would not be counted.
  const command = [join(dirname(binary), 'outpost-server')];
  const listening = { url: `http://127.0.0.1:${port}`, path: '/healthz' };
  const [server, startMs] = await timed(() =>
    startServer({ place: 'anywhere', command, environment, folder, listening }),
  );
  const headers = { ...JSON_TYPE, authorization: `Bearer ${API_KEY}` };
  const api = `${server.url}/api/v1`;
  await register(api, headers, urls);
  return {
    name: `Outpost ${await versionOf(binary)}`,
    durability: 'a crash of the machine: the quorum queue of RabbitMQ waits for the disk',
    server,
    startMs,
    caller: NOBODY,
    request: (event) => ({
      url: `${api}/publish`,
      headers,
      bodies: eventTemplates(event).map((body) => `{"tenant_id":"${TENANT}","topic":"${event}","data":${body}}`),
    }),
    cpuSeconds: withPostgres(databaseUrl, () => cpuOf(server, redis, rabbitmq)),
  };
}

function settings(port: number, { databaseUrl, redisPort, queueUrl }: Stores): Record<string, string> {
  return {
    API_PORT: String(port),
    API_KEY,
    API_JWT_SECRET: 'a secret of the bench',
    AES_ENCRYPTION_SECRET: '16 bytes of text',
    TOPICS: [TO_ONE.event, TO_TEN.event].join(','),
    POSTGRES_URL: databaseUrl,
    REDIS_HOST: '127.0.0.1',
    REDIS_PORT: String(redisPort),
    RABBITMQ_SERVER_URL: queueUrl,
    DELIVERY_MAX_CONCURRENCY: CONCURRENCY,
    // What it writes ten seconds later, by default, would be measured as the work of the next peer.
    LOG_BATCH_THRESHOLD_SECONDS: '1',
    // A line for each event would be read by the bench, on the same cores.
    LOG_LEVEL: 'warn',
    DISABLE_TELEMETRY: 'true',
  };
}

/** A destination for each receiver of each kind of event. */
async function register(api: string, headers: Readonly<Record<string, string>>, urls: readonly string[]) {
  const tenant = `${api}/tenants/${TENANT}`;
  await setUp('PUT', tenant, headers, {});
  for (const [event, receivers] of Object.entries(routesTo(urls))) {
    for (const url of receivers) {
      await setUp('POST', `${tenant}/destinations`, headers, { type: 'webhook', topics: [event], config: { url } });
    }
  }
}
