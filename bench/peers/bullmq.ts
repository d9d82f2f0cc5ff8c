import { eventTemplates } from '../harness/event-bodies.ts';
import { startProgram } from '../harness/processes.ts';
import { cpuOf, JSON_TYPE, NOBODY, type Peer, routesTo, timed } from './peer.ts';
import { type Fsync, startRedis } from './redis.ts';

export async function startBullmqPeer(binary: string, fsync: Fsync, urls: readonly string[]): Promise<Peer> {
  const redis = await startRedis(binary, fsync);
  const input = { redisPort: redis.port, receivers: routesTo(urls) };
  const [server, startMs] = await timed(() => startProgram('peers/bullmq-sender.js', input, 'anywhere', 'node'));
  return {
    name: `BullMQ, Redis ${fsync === 'always' ? 'waits for the disk' : 'syncs each second'}`,
    durability:
      fsync === 'always'
        ? 'a crash of the machine: each write waits for the disk'
        : 'all but the last second of writes',
    server,
    startMs,
    caller: NOBODY,
    request: (event) => ({ url: `${server.url}/`, headers: JSON_TYPE, bodies: eventTemplates(event) }),
    cpuSeconds: () => cpuOf(server, redis),
  };
}
