import type { Server } from '../harness/processes.ts';

/** A few callers that each wait for their answer and a moment more: what the service is like for somebody who just uses it. */

export type Felt = {
  readonly requests: number;
  readonly failed: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
};

export type Credentials = { 'api-key': string; 'entity-id': string };

const CALLERS = 4;
const PAUSE_MS = 10;

export function credentialsOf({ greeting }: Server): Credentials {
  const [, entityId = '', apiKey = ''] = /PAYBELL_ENTITY_ID=(\S+) PAYBELL_API_KEY=(\S+)/.exec(greeting) ?? [];
  return { 'api-key': apiKey, 'entity-id': entityId };
}

/** Lists and events in turn, for so long. */
export async function callFor(seconds: number, { url }: Server, credentials: Credentials): Promise<Felt> {
  const endsAtMs = performance.now() + seconds * 1_000;
  const tookMs: number[] = [];
  let failed = 0;
  const api = `${url}/api/v1/crypto`;
  const one = async (count: number) => {
    const event = JSON.stringify({ event: 'LatePayment', networkId: 1 });
    const post = { method: 'POST', body: event, headers: { ...credentials, 'content-type': 'application/json' } };
    const startedAtMs = performance.now();
    try {
      const answer = await (count % 2 === 0
        ? fetch(`${api}/webhooks/classic`, { headers: credentials })
        : fetch(`${api}/events`, post));
      await answer.arrayBuffer();
      if (!answer.ok) failed++;
    } catch {
      failed++;
    }
    tookMs.push(performance.now() - startedAtMs);
  };
  const caller = async () => {
    for (let count = 0; performance.now() < endsAtMs; count++) {
      await one(count);
      await Bun.sleep(PAUSE_MS);
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  const sorted = tookMs.toSorted((a, b) => a - b);
  const at = (part: number) => sorted[Math.min(sorted.length - 1, Math.trunc(sorted.length * part))] ?? 0;
  return { requests: sorted.length, failed, p50: at(0.5), p99: at(0.99), max: sorted.at(-1) ?? 0 };
}

export function feltAsText({ requests, failed, p50, p99, max }: Felt): string {
  const ms = (value: number) => `${value.toFixed(1)} ms`;
  return `${requests} requests, ${failed} failed, median ${ms(p50)}, 99th percentile ${ms(p99)}, slowest ${ms(max)}`;
}
