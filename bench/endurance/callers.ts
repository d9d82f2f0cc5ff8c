import { nextSubjects } from '../harness/event-bodies.ts';
import { API, type Caller, credentials, LIST_PATH } from '../harness/paybell-api.ts';
import type { Server } from '../harness/processes.ts';
import { quantile } from '../harness/rounds.ts';

/** A few callers that send valid requests one after another: the latency that an ordinary client sees. */

export type Latency = {
  readonly requests: number;
  readonly failed: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
};

const CALLERS = 4;
const PAUSE_MS = 10;

/** Alternates between lists and events. */
export async function callFor(seconds: number, { url }: Server, caller: Caller): Promise<Latency> {
  const endsAtMs = performance.now() + seconds * 1_000;
  const tookMs: number[] = [];
  let failed = 0;
  const headers = credentials(caller);
  const one = async (count: number) => {
    const event = JSON.stringify({ event: 'LatePayment', networkId: 1, ...nextSubjects() });
    const json = { ...headers, 'content-type': 'application/json' };
    const startedAtMs = performance.now();
    try {
      const response = await (count % 2 === 0
        ? fetch(url + LIST_PATH, { headers })
        : fetch(`${url}${API}/events`, { method: 'POST', body: event, headers: json }));
      await response.arrayBuffer();
      if (!response.ok) failed++;
    } catch {
      failed++;
    }
    tookMs.push(performance.now() - startedAtMs);
  };
  const callUntilEnd = async () => {
    for (let count = 0; performance.now() < endsAtMs; count++) {
      await one(count);
      await Bun.sleep(PAUSE_MS);
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, callUntilEnd));
  const [p50, p99] = [quantile(tookMs, 0.5), quantile(tookMs, 0.99)];
  return { requests: tookMs.length, failed, p50, p99, max: Math.max(...tookMs) };
}

export function latencyAsText({ requests, failed, p50, p99, max }: Latency): string {
  const ms = (value: number) => `${value.toFixed(1)} ms`;
  return `${requests} requests, ${failed} failed, median ${ms(p50)}, 99th percentile ${ms(p99)}, slowest ${ms(max)}`;
}
