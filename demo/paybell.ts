import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Paybell } from '../src/client/paybell.ts';

const MAIN = resolve(import.meta.dir, '../src/main.ts');

/** Milliseconds instead of minutes, so that retries can be watched. */
const RETRY_SCHEDULE = '0s,250ms,500ms,1s,2s,4s,8s';

export type DemoService = {
  /** A client with the key of the first entity. */
  readonly client: Paybell;
  readonly stop: () => Promise<void>;
};

/** Runs `paybell serve` as a process of its own, on an empty store that is deleted with it. */
export async function startPaybell(settings: Readonly<Record<string, string>> = {}): Promise<DemoService> {
  const folder = mkdtempSync(join(tmpdir(), 'paybell-demo-'));
  const child = Bun.spawn([process.execPath, MAIN, 'serve'], {
    cwd: folder,
    env: {
      PATH: process.env.PATH ?? '',
      PORT: '0',
      ALLOW_INSECURE_TARGETS: 'true',
      RATE_LIMIT: 'off',
      EVENT_RATE_LIMIT: 'off',
      RETRY_SCHEDULE,
      ...settings,
    },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'inherit',
  });
  const stop = async () => {
    child.kill('SIGTERM');
    await child.exited;
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    return { client: new Paybell(await readWelcome(child.stdout, folder)), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

type Welcome = { url: string; entityId: string; apiKey: string };

/** Reads what the first start prints. The rest is read too, because a full pipe would block the process. */
function readWelcome(stdout: ReadableStream<Uint8Array<ArrayBuffer>>, folder: string): Promise<Welcome> {
  const welcome = Promise.withResolvers<Welcome>();
  const read = async () => {
    const decoder = new TextDecoder();
    let text = '';
    for await (const chunk of stdout) {
      text += decoder.decode(chunk, { stream: true });
      const [url, entityId] = [/is listening on (\S+)/, /PAYBELL_ENTITY_ID=(\S+) /].map((line) => line.exec(text)?.[1]);
      if (url === undefined || entityId === undefined) continue;
      const apiKey = readFileSync(join(folder, 'data/paybell.db.first-key'), 'utf8').trim();
      welcome.resolve({ url, entityId, apiKey });
    }
    welcome.reject(new Error(`Paybell exited before it listened: ${text}`));
  };
  read().catch(welcome.reject);
  return welcome.promise;
}
