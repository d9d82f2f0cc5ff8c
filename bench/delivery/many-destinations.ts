import { join } from 'node:path';
import { Client, type Credentials } from '../../test/support/service.ts';
import { KIND } from '../harness/event-bodies.ts';
import { readPorts } from './ledger-receivers.ts';

/** What benches with hundreds or thousands of destinations share. */

/** The ADMIN_KEY of their services, with which `newClient` makes entities. */
export const ADMIN_KEY = 'operator-key-of-the-crowd-bench-0001';
const BATCH = 1_000;

/** With `responding`, it hangs only once `beginToHang` has been called. */
export async function startHanging({ responding = false } = {}) {
  const script = join(import.meta.dir, 'hanging-receiver-process.ts');
  const command = [process.execPath, script, ...(responding ? ['--responding'] : [])];
  const child = Bun.spawn(command, { stdout: 'pipe', stderr: 'inherit', stdin: 'ignore' });
  const [port] = await readPorts(child.stdout);
  const stop = async () => {
    child.kill('SIGKILL');
    await child.exited;
  };
  const beginToHang = () => child.kill('SIGUSR1');
  return { port: port ?? 0, beginToHang, stop };
}

/** A destination of its own for each number: loopback has sixteen million addresses. */
export const addressOf = (block: number, index: number) =>
  `127.${block}.${Math.floor(index / 250)}.${(index % 250) + 1}`;

export async function newClient(url: string): Promise<Client> {
  const response = await fetch(`${url}/admin/v1/entities`, {
    method: 'POST',
    headers: { 'api-key': ADMIN_KEY, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'bench' }),
  });
  if (!response.ok) throw new Error(await response.text());
  return new Client(url, (await response.json()) as Credentials);
}

/** One network for each destination, so that an event goes to that destination alone. */
export async function register(client: Client, urls: readonly string[]): Promise<void> {
  const numbered = [...urls.entries()];
  for (let done = 0; done < numbered.length; done += 50) {
    const some = numbered.slice(done, done + 50);
    await Promise.all(some.map(([index, url]) => client.register(url, [KIND], [index + 1])));
  }
}

export async function sendLines(client: Client, lines: readonly string[]): Promise<void> {
  for (let sent = 0; sent < lines.length; sent += BATCH) {
    const body = lines.slice(sent, sent + BATCH).join('\n');
    const response = await client.request('POST', '/events/batch', body, 'application/x-ndjson');
    if (!response.ok) throw new Error(await response.text());
  }
}
