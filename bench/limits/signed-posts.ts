import { headersFor } from '../../src/delivery/attempt.ts';
import { makeSecret, parseKeys } from '../../src/domain/signature.ts';
import { newId, randomBytes } from '../../src/store/new-id.ts';

/**
 * The limit of a delivery: sign, post, read the answer, in a loop, with no store and no retries.
 * `bun signed-posts.ts '{"urls": […], "concurrency": 16, "seconds": 3, "body": "…"}'`, concurrency for each URL.
 */

type Input = { urls: string[]; concurrency: number; seconds: number; body: string };

const { urls, concurrency, seconds, body } = JSON.parse(process.argv[2] ?? '{}') as Input;
const keys = parseKeys([makeSecret(randomBytes(32))]);
let posts = 0;
let errors = 0;

async function postUntil(url: string, endsAtMs: number): Promise<void> {
  while (performance.now() < endsAtMs) {
    const nowS = Math.floor(Date.now() / 1_000);
    const headers = headersFor({ deliveryId: newId('dlv'), eventId: newId('evt'), body, keys, nowS });
    const answer = await fetch(url, { method: 'POST', headers, body, redirect: 'manual' });
    await answer.text();
    if (answer.status === 200) posts++;
    else errors++;
  }
}

async function run(forSeconds: number): Promise<number> {
  posts = 0;
  const startedAtMs = performance.now();
  const endsAtMs = startedAtMs + forSeconds * 1_000;
  await Promise.all(urls.flatMap((url) => Array.from({ length: concurrency }, () => postUntil(url, endsAtMs))));
  return posts / ((performance.now() - startedAtMs) / 1_000);
}

await run(Math.min(1, seconds / 3));
console.log(JSON.stringify({ perSecond: await run(seconds), errors }));
