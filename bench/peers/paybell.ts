import { eventTemplates } from '../harness/event-bodies.ts';
import { API, deliverySettings, firstCaller, register } from '../harness/paybell-api.ts';
import { createPostgresDatabase } from '../harness/postgres.ts';
import { startPaybell, tempFolder } from '../harness/processes.ts';
import { cpuOf, JSON_TYPE, type Peer, routesTo, timed, withPostgres } from './peer.ts';

export async function startPaybellPeer(engine: 'SQLite' | 'PostgreSQL', urls: readonly string[]): Promise<Peer> {
  const databaseUrl = engine === 'SQLite' ? `sqlite:${tempFolder()}/paybell.db` : await createPostgresDatabase();
  const settings = deliverySettings(databaseUrl);
  const [server, startMs] = await timed(() => startPaybell({ settings, place: 'anywhere' }));
  const caller = firstCaller(server);
  for (const [event, receivers] of Object.entries(routesTo(urls))) await register(server, caller, event, receivers);
  const url = `${server.url}${API}/events`;
  return {
    name: `Paybell, ${engine}`,
    durability: 'a crash of the machine',
    server,
    startMs,
    caller,
    request: (event) => ({ url, headers: JSON_TYPE, bodies: eventTemplates(event) }),
    cpuSeconds: engine === 'SQLite' ? () => cpuOf(server) : withPostgres(databaseUrl, () => cpuOf(server)),
  };
}
