import { expect, test } from 'bun:test';
import { followCluster } from '../../../support/chain/solana/followed-cluster.ts';
import { onSuiteEngine } from '../../../support/stores.ts';

/** The calls of an hour with a poll every 4 seconds, and the calls of one payment. `SHOW_CALLS=1` prints them. */

const POLLS_AN_HOUR = 900;
/** The part of an hour in which the calls of many wallets are counted; `CALLS_SHARE=1` counts a whole one. */
const HOUR_SHARE = Number(process.env.CALLS_SHARE ?? 6);
const SLOTS_A_POLL = 10;

onSuiteEngine('calls to nodes of Solana', (store) => {
  test.each([
    [1, 1, POLLS_AN_HOUR],
    [10, 1, POLLS_AN_HOUR],
    [1_000, 20, POLLS_AN_HOUR / HOUR_SHARE],
  ])(
    '%i wallets with a token and SOL cost %i calls a poll, and one list of each account an hour',
    async (wallets, perPoll, polls) => {
      const network = await followCluster(store.db, { shops: wallets, nodes: [{}, {}] });
      const { cluster } = network;
      const calls = () =>
        network.fakes.reduce((sum, fake) => sum + [...fake.calls.values()].reduce((a, b) => a + b, 0), 0);
      const poll = async () => {
        for (let slot = 0; slot < SLOTS_A_POLL; slot++) cluster.add([]);
        await network.poll();
      };
      cluster.add([]);
      await network.addSource('spl');
      await network.addSource('native');
      for (let first = 0; first < 40; first++) await poll();
      const before = calls();
      for (let each = 0; each < polls; each++) await poll();
      const idle = calls() - before;
      // Each node is asked for its slots now and then.
      expect(idle).toBeLessThan(polls * perPoll + 2 * wallets + 300);
      cluster.add([network.pay(0, 1_000n)]);
      const start = calls();
      for (let each = 0; each < 20; each++) await poll();
      const payment = calls() - start - 20 * perPoll;
      if (process.env.SHOW_CALLS === '1') {
        const methods = network.fakes.map(({ calls: byMethod }) => Object.fromEntries(byMethod));
        console.log(JSON.stringify({ wallets, idle, payment, methods }));
      }
      // A poll also lists up to 10 accounts that were not listed for an hour.
      expect(payment).toBeLessThanOrEqual(wallets > 10 ? 225 : 25);
      expect(await network.judge(0)).toMatchObject({ payments: 1, missing: 0, extra: 0 });
    },
    600_000,
  );
});
