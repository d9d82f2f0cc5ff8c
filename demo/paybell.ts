import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const MAIN = resolve(import.meta.dir, '../src/main.ts');

/** Waits of milliseconds in place of minutes, so that a retry can be watched. */
const RETRY_SCHEDULE = '0s,250ms,500ms,1s,2s,4s,8s';

export type DemoPaybell = {
  /** One request with the key of the first entity; throws what was answered unless that is 2xx. */
  call: <Answer>(method: string, path: string, body?: unknown) => Promise<Answer>;
  stop: () => Promise<void>;
};

/** `paybell serve` as a process of its own on an empty store, which is removed with it. */
export async function startPaybell(): Promise<DemoPaybell> {
  const folder = mkdtempSync(join(tmpdir(), 'paybell-demo-'));
  const child = Bun.spawn([process.execPath, MAIN, 'serve'], {
    cwd: folder,
    env: { PATH: process.env.PATH ?? '', PORT: '0', ALLOW_INSECURE_TARGETS: 'true', RATE_LIMIT: 'off', RETRY_SCHEDULE },
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
    const { url, headers } = await readWelcome(child.stdout);
    const call = async <Answer>(method: string, path: string, body?: unknown): Promise<Answer> => {
      const json = body === undefined ? {} : { body: JSON.stringify(body) };
      const answer = await fetch(`${url}/api/v1/crypto${path}`, { method, headers, ...json });
      if (!answer.ok) throw new Error(`${method} ${path} was answered with ${answer.status}: ${await answer.text()}`);
      return (await answer.json()) as Answer;
    };
    return { call, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

type Welcome = { url: string; headers: Record<string, string> };

/** What a person would copy from the terminal on the first start; what follows is read too, or the pipe would fill. */
function readWelcome(stdout: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<Welcome> {
  const welcome = Promise.withResolvers<Welcome>();
  const read = async () => {
    const decoder = new TextDecoder();
    let text = '';
    for await (const chunk of stdout) {
      text += decoder.decode(chunk, { stream: true });
      const [url, entityId, apiKey] = [/is listening on (\S+)/, /entity-id {2}(\S+)/, /api-key {4}(\S+)\n/].map(
        (line) => line.exec(text)?.[1],
      );
      if (url === undefined || entityId === undefined || apiKey === undefined) continue;
      welcome.resolve({
        url,
        headers: { 'api-key': apiKey, 'entity-id': entityId, 'content-type': 'application/json' },
      });
    }
    welcome.reject(new Error(`Paybell ended before it listened: ${text}`));
  };
  read().catch(welcome.reject);
  return welcome.promise;
}
