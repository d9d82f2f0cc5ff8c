import { expect, test } from 'bun:test';
import { onEveryEngine } from '../support/stores.ts';
import { FuzzRun } from './fuzz-run.ts';
import { intoTheApp, type OpenRoad, throughASocket } from './sequences.ts';

/** The short form; `npm run fuzz` sends many more. A failure prints its seed, which finds the same request again. */
const ROADS: [name: string, road: OpenRoad, requests: number][] = [
  ['into the app', intoTheApp, 1_200],
  ['through a socket', throughASocket, 600],
];

onEveryEngine('requests made from the document', (store) => {
  test.each(ROADS)(
    '%s are never answered with 5xx and always in the documented shape',
    async (name, road, requests) => {
      const seed = Number(process.env.FUZZ_SEED ?? Math.trunc(Math.random() * 0x7fffffff));
      console.log(`fuzz ${name} on ${store.engine}: seed ${seed}`);
      await using run = await FuzzRun.start(store.db, road);
      await run.fire(requests, seed);
      const statuses = new Set([...run.statuses.keys()].map((key) => key.split(' ').at(-1)));
      for (const status of ['200', '201', '400', '401', '404', '405', '415']) expect(statuses).toContain(status);
      expect(run.sent).toBeGreaterThan(requests * 0.8);
    },
  );
});
