import { readFileSync } from 'node:fs';
import type { PacedInput, PacedOutput } from './paced.ts';

/** Sends one request again and again at a fixed rate and prints how many: `bun paced-process.ts request.json`. */

const { request, perSecond, seconds } = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as PacedInput;
const { url, method = 'POST', headers, body = '' } = request;
const WARM_UP = 100;
const total = perSecond * seconds;
const pending = new Set<Promise<void>>();

// Without these, the first requests would be slow because of this process, whose code is not compiled yet.
for (let i = 0; i < WARM_UP; i++) await (await fetch(new URL('/', url))).arrayBuffer();

async function send(dueAtMs: number): Promise<void> {
  const stamped = body.replace('"sentAtMs":0', () => `"sentAtMs":${performance.timeOrigin + dueAtMs}`);
  const response = await fetch(url, { method, headers, body: stamped });
  await response.arrayBuffer();
  if (!response.ok) throw new Error(`${method} ${url} returned ${response.status}`);
}

const startedAtMs = performance.now();
for (let sent = 0; sent < total; ) {
  const due = Math.min(total, 1 + Math.floor(((performance.now() - startedAtMs) / 1_000) * perSecond));
  for (; sent < due; sent++) {
    const sending = send(startedAtMs + (sent / perSecond) * 1_000).finally(() => pending.delete(sending));
    pending.add(sending);
  }
  await Bun.sleep(1);
}
await Promise.all(pending);

console.log(JSON.stringify({ sent: total } satisfies PacedOutput));
