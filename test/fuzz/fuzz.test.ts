import { expect, test } from 'bun:test';
import { onSuiteEngine } from '../support/stores.ts';
import { suiteRuns } from '../support/suite.ts';
import { FuzzRun } from './fuzz-run.ts';
import { fireRaw } from './raw-run.ts';
import { inProcess, type OpenTransport, overSocket } from './transports.ts';

/** `npm run fuzz` sends many more requests. A failure prints its seed, which repeats the same request. */
const TRANSPORTS: [name: string, transport: OpenTransport, requests: number][] = [
  ['in process', inProcess, suiteRuns(40, 1_200)],
  ['over a socket', overSocket, suiteRuns(40, 600)],
];

/** Responses that show how far requests get: past the route, the credentials, the body and the operation. */
const STATUSES: readonly string[] = ['200', '201', '400', '401', '404', '405', '415'];
/** A round of few requests misses one of them in about one of four seeds. */
const MOST_ROUNDS = 12;

onSuiteEngine('requests generated from the OpenAPI document and sent', (store) => {
  test.each(TRANSPORTS)(
    '%s never return 5xx, and every response matches the document',
    async (name, transport, requests) => {
      const seed = Number(process.env.FUZZ_SEED ?? Math.trunc(Math.random() * 0x7fffffff));
      console.log(`fuzz ${name} on ${store.engine}: seed ${seed}`);
      await using run = await FuzzRun.start(store.db, transport);
      const missing = () =>
        STATUSES.filter((status) => ![...run.statuses.keys()].some((key) => key.endsWith(` ${status}`)));
      for (let round = 0; round < MOST_ROUNDS && (round === 0 || missing().length > 0); round++) {
        await run.fire(requests, seed + round);
      }
      expect(missing()).toEqual([]);
      expect(run.sent).toBeGreaterThan(requests * 0.8);
    },
  );

  test('with bytes changed at random never return 5xx, and the server answers the next one', async () => {
    const statuses = new Set<string>();
    const missing = () => ['200', '400'].filter((status) => !statuses.has(status));
    // On a busy machine, responses can arrive after the connection was given up.
    for (let round = 0; round < MOST_ROUNDS && (round === 0 || missing().length > 0); round++) {
      for (const status of (await fireRaw(store.db, suiteRuns(16, 320), 16 + round)).keys()) statuses.add(status);
    }
    expect(missing()).toEqual([]);
  });
});
