import { raiseFetchLimit } from '../../src/cli/raise-fetch-limit.ts';

/** Run as `<this file> serve [platform]`: ends with 7 once 400 requests hang at the same time. */

const REQUESTS = 400;

await raiseFetchLimit(process.argv[3] as NodeJS.Platform | undefined);

let arrived = 0;
const all = Promise.withResolvers<void>();
const receiver = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  idleTimeout: 0,
  fetch: () => {
    arrived += 1;
    if (arrived === REQUESTS) all.resolve();
    return new Promise<Response>(() => undefined);
  },
});
for (let sent = 0; sent < REQUESTS; sent += 1) fetch(receiver.url).catch(all.reject);
await all.promise;
console.log(`${arrived} at a time`);
process.exit(7);
