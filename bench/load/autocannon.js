import { readFileSync } from 'node:fs';
import autocannon from 'autocannon';

/** Runs on Node, as npm installs it: `node autocannon.js load.json` prints one line of JSON. */

const load = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8'));
const { callers, queries = [''] } = load;
const path = new URL(load.url).pathname;
let number = load.from ?? 0;

function nextRequest(request) {
  const caller = callers[number % callers.length];
  const query = queries[Math.floor(number / callers.length) % queries.length];
  number++;
  const headers = { ...load.headers, 'api-key': caller.apiKey, 'entity-id': caller.entityId };
  return { ...request, path: path + query, headers };
}

const only = callers[0];
const request =
  callers.length * queries.length > 1
    ? { setupRequest: nextRequest }
    : { headers: { ...load.headers, 'api-key': only.apiKey, 'entity-id': only.entityId } };

const run = autocannon({
  url: load.url,
  method: load.method ?? 'GET',
  ...(load.body === undefined ? {} : { body: load.body }),
  connections: load.connections,
  ...(load.amount === undefined ? { duration: Math.ceil(load.seconds) + 1 } : { amount: load.amount }),
  requests: [request],
});
// It counts in whole seconds; stopped, it reports on as much as it did.
const timer = load.amount === undefined ? setTimeout(() => run.stop(), load.seconds * 1_000) : undefined;
const result = await run;
clearTimeout(timer);
const requests = result['2xx'] + result.non2xx;
console.log(
  JSON.stringify({
    requests,
    perSecond: requests / result.duration,
    p50Ms: result.latency.p50,
    p99Ms: result.latency.p99,
    errors: result.errors + result.non2xx,
  }),
);
