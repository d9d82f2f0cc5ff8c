import { expect, test } from 'bun:test';
import { pauseByRequest, resumeByRequest } from '../../../../src/store/chain/sources/pauses.ts';
import { deleteSource } from '../../../../src/store/chain/sources/sources.ts';
import { createTenant, TEST_CHANGE } from '../../../support/api.ts';
import { followCluster } from '../../../support/chain/solana/followed-cluster.ts';
import type { FollowedCluster } from '../../../support/chain/solana/fork-trial.ts';
import { onSuiteEngine } from '../../../support/stores.ts';

onSuiteEngine('sources on Solana that change while they are followed', (store) => {
  /** Blocks without payments, with a poll after every tenth. */
  async function pass(network: FollowedCluster, blocks: number) {
    for (let block = 0; block < blocks; block++) {
      network.cluster.add([]);
      if (block % 10 === 0) await network.poll();
    }
    await network.poll();
    await network.publish();
  }

  const factsOf = (entityId: string) =>
    store.db.all<{ state: string }>('select state from facts where entity_id = $1', [entityId]);

  test('a source that was paused gets the payments of its pause once', async () => {
    const network = await followCluster(store.db, { seed: 21 });
    const { entityId, cluster } = network;
    cluster.add([]);
    const { sourceId } = await network.addSource('spl');
    await pass(network, 60);
    const { slot } = cluster.add([network.pay(0, 1n)]);
    await pass(network, 60);
    await store.db.transaction((queries) => pauseByRequest(queries, { entityId, sourceId }, Date.now()));
    for (let payment = 2; payment < 6; payment++) {
      cluster.add([network.pay(payment % 4, BigInt(payment))]);
      await pass(network, 50);
    }
    expect(await factsOf(entityId)).toHaveLength(1);
    await store.db.transaction((queries) => resumeByRequest(queries, { entityId, sourceId }));
    await pass(network, 100);
    expect(await network.judge(slot - 1)).toMatchObject({
      payments: 5,
      missing: 0,
      extra: 0,
      processed: 5,
      finalized: 5,
    });
  });

  test('a source that is paused before a final payment was read gets the payment after its pause', async () => {
    const network = await followCluster(store.db, { seed: 27, nodes: [{}, {}] });
    const { entityId, cluster } = network;
    cluster.add([]);
    const { sourceId } = await network.addSource('spl');
    await pass(network, 60);
    for (const { faults } of network.fakes) faults.thinned = 500;
    const { slot } = cluster.add([network.pay(0, 1n)]);
    await pass(network, 60);
    // Nodes are asked now and then what is final while no payment waits for it.
    network.wait(120_000);
    await pass(network, 20);
    expect(await network.final()).toBeGreaterThan(slot);
    await store.db.transaction((queries) => pauseByRequest(queries, { entityId, sourceId }, Date.now()));
    for (const { faults } of network.fakes) faults.thinned = 0;
    await pass(network, 60);
    await store.db.transaction((queries) => resumeByRequest(queries, { entityId, sourceId }));
    await pass(network, 100);
    expect(await network.judge(slot - 1)).toMatchObject({ payments: 1, missing: 0, extra: 0, processed: 1 });
  });

  test('a second source of the same wallets has its own history, and the payments from then on', async () => {
    const network = await followCluster(store.db, { seed: 22 });
    const { entityId, cluster } = network;
    const first = cluster.add([]).slot;
    await network.addSource('spl');
    for (let payment = 1; payment < 8; payment++) {
      cluster.add([network.pay(payment % 4, BigInt(payment))]);
      await pass(network, 20);
    }
    const other = await createTenant(store.db);
    cluster.add([network.pay(0, 100n)]);
    await network.addSource('spl', { fromBlock: first }, other.entityId);
    cluster.add([network.pay(1, 101n)]);
    await pass(network, 100);
    for (const each of [entityId, other.entityId]) {
      expect((await factsOf(each)).map(({ state }) => state)).toEqual(Array(9).fill('final'));
    }
  });

  test('a source that is deleted in the middle of a poll leaves its accounts to a later source', async () => {
    let remove: (() => Promise<unknown>) | null = null;
    const network = await followCluster(store.db, {
      seed: 23,
      onCommit: async ({ changes }, isWritten) => {
        if (isWritten || changes.length === 0) return;
        const once = remove;
        remove = null;
        await once?.();
      },
    });
    const { entityId, cluster } = network;
    cluster.add([]);
    const { sourceId } = await network.addSource('spl');
    await pass(network, 60);
    const { slot } = cluster.add([network.pay(0, 1n)]);
    remove = () => deleteSource(store.db, entityId, sourceId, TEST_CHANGE);
    await pass(network, 30);
    expect(remove).toBeNull();
    cluster.add([network.pay(0, 2n)]);
    await pass(network, 60);
    await network.addSource('spl', { fromBlock: slot });
    cluster.add([network.pay(0, 3n)]);
    await pass(network, 100);
    expect(await network.judge(slot - 1)).toMatchObject({ payments: 3, missing: 0, extra: 0, misplaced: 0 });
  });

  test('an account is dropped with its last source', async () => {
    const network = await followCluster(store.db, { seed: 26 });
    const { entityId, cluster } = network;
    const accounts = () =>
      store.db.all('select account from chain_accounts where network_id = $1', [network.networkId]);
    cluster.add([]);
    for (let time = 0; time < 3; time++) {
      const first = await network.addSource('spl');
      const other = await createTenant(store.db);
      const second = await network.addSource('spl', {}, other.entityId);
      await pass(network, 10);
      const watched = (await accounts()).length;
      expect(watched).toBeGreaterThan(0);
      await deleteSource(store.db, entityId, first.sourceId, TEST_CHANGE);
      await pass(network, 10);
      expect(await accounts()).toHaveLength(watched);
      await deleteSource(store.db, other.entityId, second.sourceId, TEST_CHANGE);
      await pass(network, 10);
      expect(await accounts()).toEqual([]);
    }
  });

  test.each([
    ['after', 60],
    ['before', 0],
  ])(
    'a source that is deleted, and made again %s a poll of another process, reads the time in between',
    async (_, blocks) => {
      const network = await followCluster(store.db, { seed: 24 });
      const { entityId, cluster } = network;
      cluster.add([]);
      const { sourceId } = await network.addSource('spl');
      await pass(network, 60);
      await deleteSource(store.db, entityId, sourceId, TEST_CHANGE);
      const { slot } = cluster.add([network.pay(0, 1n)]);
      await network.replace();
      if (blocks > 0) await pass(network, blocks);
      await network.addSource('spl', { fromBlock: slot });
      cluster.add([network.pay(0, 2n)]);
      await pass(network, 100);
      expect(await network.judge(slot - 1)).toMatchObject({ payments: 2, missing: 0, extra: 0, finalized: 1 });
    },
  );

  test('an instance that takes over in the middle of a poll finds the payment, and tells nothing twice', async () => {
    let isKilled = false;
    const network = await followCluster(store.db, {
      seed: 25,
      onCommit: async ({ changes }, isWritten) => {
        if (changes.length === 0 || isWritten || isKilled) return;
        isKilled = true;
        throw new Error('killed');
      },
    });
    const { cluster } = network;
    cluster.add([]);
    await network.addSource('spl');
    await pass(network, 60);
    const { slot } = cluster.add([network.pay(0, 1n)]);
    expect(await network.poll().catch(({ message }) => message)).toBe('killed');
    await network.replace();
    await pass(network, 60);
    expect(await network.judge(slot - 1)).toMatchObject({ payments: 1, missing: 0, processed: 1, finalized: 1 });
  });
});
