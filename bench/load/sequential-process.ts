import { readFileSync } from 'node:fs';
import type { SequentialInput, SequentialOutput } from './sequential.ts';

/** Sends each request after the response to the one before, and prints how long each took: `bun sequential-process.ts requests.json`. */

const { requests, pauseMs } = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as SequentialInput;
const WARM_UP = 100;
const ms: number[] = [];
const nowMs = () => performance.timeOrigin + performance.now();

// Without these, the first hundred measurements would be of this process, whose code is not compiled yet.
const origins = new Set(requests.map(({ url }) => new URL(url).origin));
for (const origin of origins) {
  for (let i = 0; i < WARM_UP; i++) await (await fetch(`${origin}/healthz`)).arrayBuffer();
}

for (const { url, method = 'GET', headers, body } of requests) {
  // The receiver subtracts it from the time of arrival.
  const stamped = body?.replace('"sentAtMs":0', () => `"sentAtMs":${nowMs()}`);
  const startedAtMs = performance.now();
  const response = await fetch(url, { method, headers, ...(stamped !== undefined && { body: stamped }) });
  await response.arrayBuffer();
  ms.push(performance.now() - startedAtMs);
  if (!response.ok) throw new Error(`${method} ${url} returned ${response.status}`);
  if (pauseMs > 0) await Bun.sleep(pauseMs);
}

console.log(JSON.stringify({ ms } satisfies SequentialOutput));
