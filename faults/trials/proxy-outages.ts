import { ENGINES } from '../../test/support/stores.ts';
import type { Fault, RunOptions } from '../fault.ts';
import { ForwardProxy } from '../harness/forward-proxy.ts';
import { Testbed } from '../harness/testbed.ts';
import { waitUntil } from '../harness/waiting.ts';

/** So many attempts that none fails for good. */
const RETRY_SCHEDULE = `0s${',500ms'.repeat(49)}`;
const STOPPED_MS = { short: 1_500, long: 5_000 };
const LOAD = { concurrency: 8, most: 400, pauseMs: 10 };
/** Of one destination: as many requests may have been in a tunnel that was cut, which looks like the receiver's doing. */
const DESTINATION_CONCURRENCY = 4;

/** Everything goes out through a proxy, which is killed and started again. */
export const proxyStopped: Fault = {
  name: 'proxy-stopped',
  what: 'the proxy of `EGRESS_PROXY` is killed and started again under load: its failures do not count against the receivers',
  engines: ENGINES,
  trials: { long: 10, short: 1 },
  run: async (options) => {
    await using proxy = new ForwardProxy();
    await proxy.start();
    const settings = {
      EGRESS_PROXY: proxy.url,
      RETRY_SCHEDULE,
      DESTINATION_CONCURRENCY: String(DESTINATION_CONCURRENCY),
    };
    await using testbed = await Testbed.open(options, { settings, destinations: 3 });
    const { client } = await testbed.start();
    for (let round = 1; round <= options.trials; round++) {
      options.progress(`outage ${round} of ${options.trials}`);
      const load = testbed.load([client], LOAD);
      const busyAfter = testbed.ledger.requests.length + 60;
      await waitUntil('the receivers are busy', () => testbed.ledger.requests.length >= busyAfter);
      await proxy.stop();
      await throughOutage(testbed, options, async (path) => {
        const response = await client.request('GET', `/webhooks/classic/${testbed.webhookIds.get(path)}/health`);
        return (await response.json()) as Health;
      });
      await proxy.start();
      const startedAtMs = performance.now();
      await load.ended;
      if (load.rejections.length > 0) testbed.violations.push('events were rejected while the proxy was down');
      await testbed.recover(startedAtMs);
    }
    if (proxy.tunnels === 0) testbed.violations.push('nothing went through the proxy');
    return await testbed.finding();
  },
};

type Health = { readonly state: string; readonly failuresInARow: number };

async function throughOutage(
  testbed: Testbed,
  { fast }: RunOptions,
  healthOf: (path: string) => Promise<Health>,
): Promise<void> {
  await Bun.sleep(fast ? STOPPED_MS.short : STOPPED_MS.long);
  for (const path of testbed.webhookIds.keys()) {
    const { state, failuresInARow } = await healthOf(path);
    if (state !== 'active' || failuresInARow > DESTINATION_CONCURRENCY)
      testbed.violations.push(`a receiver was blamed for the proxy: ${state}, ${failuresInARow} failures in a row`);
  }
}
