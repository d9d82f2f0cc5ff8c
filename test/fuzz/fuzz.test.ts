import { expect, test } from 'bun:test';
import { onEveryEngine } from '../support/stores.ts';
import { FuzzRun, sendToApp } from './fuzz-run.ts';

/** The short form; `npm run fuzz` sends many more. A failure prints its seed, which finds the same request again. */
const REQUESTS = 1_500;

onEveryEngine('requests made from the document', (store) => {
  test('are never answered with 5xx and always in the documented shape', async () => {
    const seed = Number(process.env.FUZZ_SEED ?? Math.trunc(Math.random() * 0x7fffffff));
    console.log(`fuzz on ${store.engine}: seed ${seed}`);
    const run = await FuzzRun.start(store.db, sendToApp);
    await run.fire(REQUESTS, seed);
    const statuses = new Set([...run.statuses.keys()].map((key) => key.split(' ').at(-1)));
    for (const status of ['200', '201', '400', '401', '404', '405', '415']) expect(statuses).toContain(status);
    expect(run.sent).toBeGreaterThan(REQUESTS * 0.9);
  });
});
