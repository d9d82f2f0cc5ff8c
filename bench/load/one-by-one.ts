import { readFileSync } from 'node:fs';

/** Sends each request once the one before is answered, and prints how long each took: `bun one-by-one.ts plan.json`. */

type Input = {
  requests: { url: string; headers: Record<string, string>; method?: string; body?: string }[];
  /** Between one answer and the next request. */
  pauseMs: number;
};

const { requests, pauseMs } = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as Input;
const WARM_UP = 100;
const ms: number[] = [];
const nowMs = () => performance.timeOrigin + performance.now();

// The first hundred would be about this process, which has yet to warm up.
const origins = new Set(requests.map(({ url }) => new URL(url).origin));
for (const origin of origins) {
  for (let i = 0; i < WARM_UP; i++) await (await fetch(`${origin}/healthz`)).arrayBuffer();
}

for (const { url, method = 'GET', headers, body } of requests) {
  // A receiver can tell from it how long the event was on its way.
  const stamped = body?.replace('"sentAtMs":0', () => `"sentAtMs":${nowMs()}`);
  const startedAtMs = performance.now();
  const answer = await fetch(url, { method, headers, ...(stamped !== undefined && { body: stamped }) });
  await answer.arrayBuffer();
  ms.push(performance.now() - startedAtMs);
  if (!answer.ok) throw new Error(`${method} ${url} was answered with ${answer.status}`);
  if (pauseMs > 0) await Bun.sleep(pauseMs);
}

console.log(JSON.stringify({ ms }));
