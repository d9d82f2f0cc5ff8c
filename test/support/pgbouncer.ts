import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from './free-port.ts';
import { tempFolder } from './paybell.ts';
import { until } from './until.ts';

/** A PgBouncer on loopback before a PostgreSQL server. */
export class PgBouncer implements AsyncDisposable {
  private constructor(
    private readonly port: number,
    private readonly stop: () => Promise<void>,
  ) {}

  static async start(
    binary: string,
    serverUrl: string,
    settings: Readonly<Record<string, string>>,
  ): Promise<PgBouncer> {
    const { hostname, port: serverPort, username, password } = new URL(serverUrl);
    const folder = tempFolder();
    const port = freePort();
    const [users, configuration] = [join(folder.path, 'users.txt'), join(folder.path, 'pgbouncer.ini')];
    const all = {
      listen_addr: '127.0.0.1',
      listen_port: String(port),
      unix_socket_dir: '',
      auth_type: 'scram-sha-256',
      auth_file: users,
      max_client_conn: '2000',
      default_pool_size: '40',
      ...settings,
    };
    const lines = Object.entries(all).map(([name, value]) => `${name} = ${value}`);
    writeFileSync(users, `"${username}" "${password}"\n`);
    const database = `* = host=${hostname} port=${serverPort}`;
    writeFileSync(configuration, ['[databases]', database, '[pgbouncer]', ...lines, ''].join('\n'));
    // PgBouncer does not run as root, and has to read its files as another user.
    for (const file of [folder.path, users, configuration]) chmodSync(file, 0o755);
    const user = process.getuid?.() === 0 ? ['-u', 'nobody'] : [];
    const child = Bun.spawn([binary, ...user, configuration], { stdio: ['ignore', 'ignore', 'ignore'] });
    const stop = async () => {
      child.kill('SIGKILL');
      await child.exited;
      folder.remove();
    };
    await until('PgBouncer listens', () => listens(port)).catch(async (error) => {
      await stop();
      throw error;
    });
    return new PgBouncer(port, stop);
  }

  /** The same database through this pooler. */
  urlOf(directUrl: string): string {
    const url = new URL(directUrl);
    url.port = String(this.port);
    return url.href;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

async function listens(port: number): Promise<boolean> {
  try {
    const socket = await Bun.connect({ hostname: '127.0.0.1', port, socket: { data: () => undefined } });
    socket.end();
    return true;
  } catch {
    return false;
  }
}
