import { freePort, startServer, tempFolder } from '../harness/processes.ts';

export const REDIS = Bun.which('redis-server');

/** Whether Redis waits for the disk before it acknowledges a write, or once a second for all of them. */
export type Fsync = 'always' | 'everysec';

export async function startRedis(binary: string, fsync: Fsync) {
  const port = freePort();
  const options = { port, bind: '127.0.0.1', dir: tempFolder(), save: '', appendonly: 'yes', appendfsync: fsync };
  const { pid } = await startServer({
    place: 'anywhere',
    command: [binary, ...Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)])],
    listening: /(Ready to accept connections)/,
  });
  return { port, pid };
}
