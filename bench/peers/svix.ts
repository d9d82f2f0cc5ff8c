import { eventTemplates } from '../harness/event-bodies.ts';
import { createPostgresDatabase } from '../harness/postgres.ts';
import { freePort, runCommand, startServer, tempFolder } from '../harness/processes.ts';
import { cpuOf, JSON_TYPE, NOBODY, type Peer, routesTo, timed, withPostgres } from './peer.ts';
import { setUp, versionOf } from './programs.ts';
import { startRedis } from './redis.ts';

/**
 * Svix with its default settings, apart from its log: messages and attempts in PostgreSQL, the queue in Redis. Its tables are
 * made before the start that is timed.
 */
export async function startSvixPeer(binary: string, redisBinary: string, urls: readonly string[]): Promise<Peer> {
  const redis = await startRedis(redisBinary, 'everysec');
  const databaseUrl = await createPostgresDatabase();
  const port = freePort();
  const environment = settings(port, databaseUrl, redis.port);
  const folder = tempFolder();
  await runCommand([binary, 'migrate'], environment);
  const listening = { url: `http://127.0.0.1:${port}`, path: '/api/v1/health/ping' };
  const [server, startMs] = await timed(() =>
    startServer({ place: 'anywhere', command: [binary], environment, folder, listening }),
  );
  const headers = { ...JSON_TYPE, authorization: `Bearer ${await tokenFor(binary, environment)}` };
  const application = await register(`${server.url}/api/v1`, headers, urls);
  return {
    name: `Svix ${await versionOf(binary)}`,
    durability: 'a crash of the machine, except for deliveries of the last second: Redis syncs each second',
    server,
    startMs,
    caller: NOBODY,
    request: (event) => ({
      url: `${application}/msg`,
      headers,
      bodies: eventTemplates(event).map((body) => `{"eventType":"${event}","payload":${body}}`),
    }),
    cpuSeconds: withPostgres(databaseUrl, () => cpuOf(server, redis)),
  };
}

function settings(port: number, databaseUrl: string, redisPort: number): Record<string, string> {
  return {
    SVIX_LISTEN_ADDRESS: `127.0.0.1:${port}`,
    SVIX_DB_DSN: databaseUrl,
    SVIX_REDIS_DSN: `redis://127.0.0.1:${redisPort}`,
    SVIX_QUEUE_TYPE: 'redis',
    SVIX_JWT_SECRET: 'a secret of the bench',
    SVIX_MAIN_SECRET: 'another secret of the bench',
    // The receivers are on this machine.
    SVIX_WHITELIST_SUBNETS: '[127.0.0.1/32]',
    // A line for each request would be read by the bench, on the same cores.
    RUST_LOG: 'warn',
  };
}

async function tokenFor(binary: string, environment: Readonly<Record<string, string>>): Promise<string> {
  const printed = await runCommand([binary, 'jwt', 'generate'], environment);
  const token = /Bearer\): (\S+)/.exec(printed)?.[1];
  if (token === undefined) throw new Error(`${binary} jwt generate printed no token: ${printed}`);
  return token;
}

/** The URL of an application with an endpoint for each receiver of each kind of event. */
async function register(
  api: string,
  headers: Readonly<Record<string, string>>,
  urls: readonly string[],
): Promise<string> {
  const { id } = await setUp<{ id: string }>('POST', `${api}/app`, headers, { name: 'bench' });
  const application = `${api}/app/${id}`;
  for (const [event, receivers] of Object.entries(routesTo(urls))) {
    await setUp('POST', `${api}/event-type`, headers, { name: event, description: event });
    for (const url of receivers) {
      await setUp('POST', `${application}/endpoint`, headers, { url, filterTypes: [event] });
    }
  }
  return application;
}
