import { expect, test } from 'bun:test';
import { removeOldFacts } from '../../../../src/store/chain/retention.ts';
import { updateSource } from '../../../../src/store/chain/sources/update.ts';
import { TEST_CHANGE } from '../../../support/api.ts';
import { followCluster } from '../../../support/chain/solana/followed-cluster.ts';
import type { FollowedCluster } from '../../../support/chain/solana/fork-trial.ts';
import { MINT } from '../../../support/chain/solana/shops.ts';
import { onSuiteEngine } from '../../../support/stores.ts';

const HOUR_MS = 3_600_000;
const NO_EVENT = '0'.repeat(32);

onSuiteEngine('accounts on Solana', (store) => {
  /** Blocks without payments, with a poll after every tenth. */
  async function pass(network: FollowedCluster, blocks: number) {
    for (let block = 0; block < blocks; block++) {
      network.cluster.add([]);
      if (block % 10 === 0) await network.poll();
    }
    await network.poll();
    await network.publish();
  }

  const factsOf = ({ entityId }: FollowedCluster) =>
    store.db.all<{ state: string; is_silent: number; contract: string; source_id: string }>(
      'select state, is_silent, contract, source_id from facts where entity_id = $1 order by block_number',
      [entityId],
    );
  const cursorsOf = ({ networkId }: FollowedCluster) =>
    store.db.all<{ account: string; cursor_slot: number | string; cursor_balance: string }>(
      'select account, cursor_slot, cursor_balance from chain_accounts where network_id = $1 order by account',
      [networkId],
    );
  const callsOf = ({ fakes }: FollowedCluster, method: string) =>
    fakes.reduce((sum, { calls }) => sum + (calls.get(method) ?? 0), 0);

  async function newNetwork(options: Parameters<typeof followCluster>[1] = {}) {
    const network = await followCluster(store.db, options);
    network.cluster.add([]);
    await network.addSource('spl');
    await pass(network, 60);
    return network;
  }

  test('a payment is seen with the first poll, and final once a single node has called it finalized twice', async () => {
    const network = await newNetwork();
    const { slot } = network.cluster.add([network.pay(0, 500n)]);
    await network.poll();
    expect(await factsOf(network)).toMatchObject([{ state: 'seen' }]);
    await pass(network, 60);
    expect(await factsOf(network)).toMatchObject([{ state: 'final' }]);
    expect(await network.judge(slot - 1)).toMatchObject({ payments: 1, missing: 0, processed: 1, finalized: 1 });
  });

  test('the cursor of an account moves to its finalized payment', async () => {
    const network = await newNetwork();
    const { slot } = network.cluster.add([network.pay(0, 500n)]);
    await pass(network, 80);
    const cursors = await cursorsOf(network);
    expect(cursors.map((row) => row.cursor_balance).sort()).toEqual(['0', '0', '0', '500']);
    expect(Math.max(...cursors.map((row) => Number(row.cursor_slot)))).toBe(slot);
  });

  test('a balance that rises and falls between two polls is found by the sweep', async () => {
    const network = await newNetwork();
    network.cluster.add([network.pay(0, 700n)]);
    network.cluster.add([network.empty(0)]);
    await pass(network, 80);
    expect(await factsOf(network)).toEqual([]);
    network.wait(HOUR_MS);
    await pass(network, 20);
    expect(await factsOf(network)).toMatchObject([{ state: 'final' }]);
  });

  test('a change of the balance without a transaction makes no payment and hides none', async () => {
    const network = await newNetwork();
    network.cluster.add([network.reward(0, 33n)]);
    await pass(network, 80);
    expect(await factsOf(network)).toEqual([]);
    network.cluster.add([network.pay(0, 500n)]);
    await pass(network, 80);
    expect(await factsOf(network)).toMatchObject([{ state: 'final' }]);
    const balances = (await cursorsOf(network)).map((row) => row.cursor_balance);
    expect(balances).toContain('533');
  });

  test('history is read without deliveries, and every payment of it once', async () => {
    const network = await followCluster(store.db, { seed: 3 });
    const first = network.cluster.add([network.pay(0, 1n)]).slot;
    for (let block = 0; block < 30; block++) network.cluster.add([network.pay(block % 4, BigInt(block + 2))]);
    for (let block = 0; block < 40; block++) network.cluster.add([]);
    await network.addSource('spl', { fromBlock: first });
    await pass(network, 60);
    expect(await network.judge(first - 1)).toMatchObject({ payments: 31, missing: 0, extra: 0, processed: 0 });
    expect((await factsOf(network)).every((fact) => fact.is_silent === 1)).toBe(true);
  });

  test('history that is delivered comes in order, and new payments come after it', async () => {
    const network = await followCluster(store.db, { seed: 4 });
    const first = network.cluster.add([network.pay(0, 1n)]).slot;
    for (let block = 0; block < 10; block++) network.cluster.add([network.pay(0, BigInt(block + 2))]);
    await network.addSource('spl', { fromBlock: first, deliverHistory: true });
    for (let block = 0; block < 10; block++) {
      network.cluster.add([network.pay(0, BigInt(block + 100))]);
      await network.poll();
    }
    await pass(network, 120);
    const told = await store.db.all<{ block_number: number | string }>(
      `select f.block_number from fact_events e join facts f on f.entity_id = e.entity_id and f.id = e.fact_id
       where e.entity_id = $1 and e.event = 'TransferProcessed' order by e.no`,
      [network.entityId],
    );
    const slots = told.map((row) => Number(row.block_number));
    expect(slots).toHaveLength(21);
    expect(slots).toEqual(slots.toSorted((a, b) => a - b));
  });

  test('a payment that one of two nodes does not have is neither final nor lost', async () => {
    const network = await newNetwork({ nodes: [{}, {}] });
    const [, second] = network.fakes;
    if (second !== undefined) second.faults.thinned = 500;
    network.cluster.add([network.pay(0, 500n)]);
    await pass(network, 120);
    expect(await factsOf(network)).toMatchObject([{ state: 'seen' }]);
    if (second !== undefined) second.faults.thinned = 0;
    await pass(network, 60);
    expect(await factsOf(network)).toMatchObject([{ state: 'final' }]);
  });

  test('a payment that the network drops is lost, and retracted once its blockhash is too old', async () => {
    const network = await newNetwork();
    network.cluster.add([network.pay(0, 500n)]);
    await network.poll();
    await network.publish();
    network.cluster.drop(1);
    await pass(network, 100);
    expect(await factsOf(network)).toMatchObject([{ state: 'lost' }]);
    await pass(network, 200);
    expect(await factsOf(network)).toMatchObject([{ state: 'retracted' }]);
    expect(await network.judge(0)).toMatchObject({ payments: 0, extra: 0, processed: 1, finalized: 0, retracted: 1 });
  });

  test('a payment that one node brought back below finality is retracted once all nodes deny it', async () => {
    const network = await newNetwork({ nodes: [{}, {}] });
    const { entityId, cluster } = network;
    const [leader] = network.fakes;
    if (leader === undefined) throw new Error('no node');
    // Finality rises with the payments of this source.
    await network.addSource('native');
    const invented = async () => (await factsOf(network)).filter(({ contract }) => contract === MINT);
    const invents = cluster.imagine(network.pay(0, 500n));
    leader.faults.invents = invents;
    await network.poll();
    await network.publish();
    const [{ source_id: sourceId } = { source_id: '' }] = await invented();
    await updateSource(store.db, entityId, sourceId, 1, { isPaused: true }, TEST_CHANGE);
    leader.faults.invents = null;
    cluster.add([network.paySol(1, 5n)]);
    await pass(network, 80);
    expect(await invented()).toMatchObject([{ state: 'lost' }]);
    leader.faults.invents = invents;
    await pass(network, 20);
    expect(await invented()).toMatchObject([{ state: 'seen' }]);
    leader.faults.invents = null;
    await pass(network, 260);
    expect(await invented()).toMatchObject([{ state: 'retracted' }]);
  });

  test('a transaction that pays another amount in the same slot of another branch is read again at once', async () => {
    const network = await newNetwork();
    const payment = network.payShare(0);
    const { slot } = network.cluster.add([payment]);
    await network.poll();
    network.cluster.replace([network.pay(1, 5n), payment]);
    await network.poll();
    const amounts = async () =>
      (
        await store.db.all<{ fields: string; state: string }>(
          "select fields, state from facts where entity_id = $1 and state <> 'lost' order by fields",
          [network.entityId],
        )
      ).map(({ fields }) => JSON.parse(fields).amountBase);
    const share = ((10n ** 15n - 5n) % 97n) + 1n;
    expect(await amounts()).toContain(String(share));
    await pass(network, 60);
    expect((await amounts()).toSorted()).toEqual(['5', String(share)].toSorted());
    expect(await network.judge(slot - 1)).toMatchObject({ payments: 2, missing: 0, extra: 0, misplaced: 0 });
  });

  test('a payment whose transaction pays another amount on the branch that stands is retracted', async () => {
    const network = await newNetwork({ nodes: [{}, {}] });
    const payment = network.payShare(0);
    const { slot } = network.cluster.add([payment]);
    await network.poll();
    await network.publish();
    network.cluster.replace([network.pay(1, 5n), payment]);
    await pass(network, 100);
    expect(await network.judge(slot - 1)).toMatchObject({ payments: 2, missing: 0, extra: 0, retracted: 0 });
    await pass(network, 250);
    expect(await network.judge(slot - 1)).toMatchObject({
      processed: 3,
      finalized: 2,
      retracted: 1,
      retractedFacts: 1,
    });
  });

  test('finality never rises above the slot that the network calls finalized, whatever one node says', async () => {
    const network = await newNetwork({ nodes: [{ hasty: 50 }, {}] });
    for (let poll = 0; poll < 40; poll++) {
      network.cluster.add([]);
      // An idle network is asked this seldom for its finalized slot.
      network.wait(130_000);
      await network.poll();
      const truth = network.cluster.blocks[network.cluster.finalized]?.slot ?? 0;
      expect(await network.final()).toBeLessThanOrEqual(truth);
    }
    expect(await network.final()).toBeGreaterThan(0);
  });

  test.each([
    [0, 'A wallet of the source had more than 5000 transactions in an hour.'],
    [10, 'A wallet of the source had more than 100000 transactions since it was last read.'],
  ])('a list without an end, with %i seconds between two transactions, pauses its source', async (crowdS, reason) => {
    const network = await newNetwork();
    const before = await cursorsOf(network);
    const [node] = network.fakes;
    if (node !== undefined) node.faults.crowdS = crowdS;
    network.cluster.add([network.pay(0, 500n)]);
    await network.poll();
    const sources = await store.db.all('select paused_by, paused_reason from sources where entity_id = $1', [
      network.entityId,
    ]);
    expect(sources).toEqual([{ paused_by: 'flood', paused_reason: reason }]);
    expect(await cursorsOf(network)).toEqual(before);
  });

  test('a cursor stays until a second node has listed the same transactions', async () => {
    const network = await newNetwork({ nodes: [{}, {}] });
    const { slot } = network.cluster.add([network.pay(0, 500n)]);
    await pass(network, 20);
    const [, second] = network.fakes;
    if (second !== undefined) second.faults.missing = 100;
    await pass(network, 100);
    const highest = async () => Math.max(...(await cursorsOf(network)).map((row) => Number(row.cursor_slot)));
    expect(await factsOf(network)).toMatchObject([{ state: 'final' }]);
    expect(await highest()).toBeLessThan(slot);
    if (second !== undefined) second.faults.missing = 0;
    await pass(network, 60);
    expect(await highest()).toBe(slot);
  });

  test('retention keeps a payment until the cursor of its account has passed it', async () => {
    const network = await newNetwork({ nodes: [{}, {}] });
    const { entityId } = network;
    const [, second] = network.fakes;
    if (second !== undefined) second.faults.missing = 100;
    for (const shop of [0, 1]) {
      network.cluster.add([network.pay(shop, 500n)]);
      await pass(network, 100);
    }
    const retain = () => removeOldFacts(store.db, entityId, { beforeMs: 2 ** 48, eventsBeforeHex: NO_EVENT }, 100);
    // A process that takes over lists every account above its cursor, and would take a payment without a fact for a new one.
    expect(await retain()).toBe(0);
    if (second !== undefined) second.faults.missing = 0;
    await pass(network, 100);
    expect(await retain()).toBe(1);
    await network.replace();
    await pass(network, 100);
    expect(await factsOf(network)).toHaveLength(1);
  });

  test('a node of another network is never read', async () => {
    const network = await followCluster(store.db);
    for (const fake of network.fakes) fake.genesis = 'EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG';
    await network.addSource('spl');
    const { outcome, network: health } = await network.poll();
    expect(outcome).toBe('failed');
    expect(health?.nodes).toMatchObject([{ state: 'wrong_chain' }]);
  });

  test('polls keep their pace while a node does not show a payment', async () => {
    const network = await newNetwork();
    const [node] = network.fakes;
    if (node !== undefined) node.faults.thinned = 500;
    network.cluster.add([network.pay(0, 500n)]);
    expect(await network.run(120_000)).toBeWithin(20, 31);
  });

  test('an idle poll of one account costs one call', async () => {
    const network = await newNetwork();
    const before = callsOf(network, 'getMultipleAccounts');
    const lists = callsOf(network, 'getSignaturesForAddress');
    for (let poll = 0; poll < 20; poll++) {
      network.cluster.add([]);
      await network.poll();
    }
    expect(callsOf(network, 'getMultipleAccounts') - before).toBe(20);
    expect(callsOf(network, 'getSignaturesForAddress')).toBe(lists);
  });
});
