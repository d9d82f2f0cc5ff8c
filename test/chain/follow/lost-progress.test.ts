import { expect, test } from 'bun:test';
import { newStoredNetwork } from '../../support/chain/stored-network.ts';
import { onSuiteEngine } from '../../support/stores.ts';

onSuiteEngine('a network of which it was lost how far it was read', (store) => {
  test('is told of the confirmations that it gained meanwhile', async () => {
    const network = await newStoredNetwork(store.db);
    const payment = network.pay();
    await network.follow();
    await network.lose();
    network.chain.mineEmpty(5);
    await network.follow();
    expect(await network.eventsOf(payment)).toEqual(['TransferProcessed 4']);
  });

  test('is not told of a payment that was undone meanwhile', async () => {
    const network = await newStoredNetwork(store.db);
    const payment = network.pay();
    await network.follow();
    await network.lose();
    network.chain.fork(1, [[], [], [], [], [], []]);
    await network.follow();
    expect(await network.eventsOf(payment)).toEqual([]);
  });

  test('is read from where it was confirmed, because the blocks after it may have been replaced', async () => {
    const network = await newStoredNetwork(store.db);
    network.chain.mineEmpty(10);
    network.pay();
    await network.follow();
    await network.lose();
    const added = network.payment();
    network.chain.fork(9, [[added], ...Array.from({ length: 9 }, () => [])]);
    // Past finality, so that no later poll reads these blocks again.
    network.chain.mineEmpty(60);
    // A lone node has to call a block final at two heads.
    await network.followBlocks(8);
    expect(await network.eventsOf(added)).toEqual(['TransferFinalized final', 'TransferProcessed 4']);
  });

  test('is told nothing of it a second time', async () => {
    const network = await newStoredNetwork(store.db);
    const payment = network.pay();
    await network.followBlocks(30);
    const before = await network.events();
    expect(await network.eventsOf(payment)).toEqual(['TransferFinalized final', 'TransferProcessed 4']);
    await network.lose();
    network.chain.mineEmpty(30);
    await network.follow();
    expect(await network.events()).toEqual(before);
  });
});
