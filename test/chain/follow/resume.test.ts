import { expect, test } from 'bun:test';
import { resumeNetwork } from '../../../src/store/chain/networks.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { newStoredNetwork } from '../../support/chain/stored-network.ts';
import { onSuiteEngine } from '../../support/stores.ts';

onSuiteEngine('a network that was reorganised below finality', (store) => {
  test('is halted, and when it is resumed what was final and is gone is taken back', async () => {
    const { network, payment, from } = await haltedNetwork(store.db);
    expect(await resumeNetwork(store.db, network.networkId, from)).toBe(true);
    await network.followBlocks(8);
    expect(await network.eventsOf(payment)).toEqual(TAKEN_BACK);
  });

  test('is read from where it was resumed, also when no node can be asked at first', async () => {
    const { network, payment, from } = await haltedNetwork(store.db);
    for (const { faults } of network.models) faults.unreachable = 100;
    expect(await resumeNetwork(store.db, network.networkId, from)).toBe(true);
    expect(await network.follow(2)).toEqual(['failed', 'failed']);
    for (const { faults } of network.models) faults.unreachable = 0;
    await network.followBlocks(12);
    expect(await network.eventsOf(payment)).toEqual(TAKEN_BACK);
  });

  test('is followed by its nodes at once when it is resumed, although they were taken for those of another one', async () => {
    const { network, from } = await haltedNetwork(store.db, 2);
    expect(await resumeNetwork(store.db, network.networkId, from)).toBe(true);
    expect(await network.follow(1)).toEqual(['followed']);
  });
});

const TAKEN_BACK = [
  'EventRetracted TransferFinalized_final',
  'EventRetracted TransferProcessed_4',
  'TransferFinalized final',
  'TransferProcessed 4',
];

/** A payment of it was final, and is in no block any more. */
async function haltedNetwork(db: Database, nodes = 1) {
  const network = await newStoredNetwork(db, nodes);
  const payment = network.pay();
  const from = network.chain.head;
  await network.followBlocks(25);
  await network.acceptFacts();
  expect(await network.eventsOf(payment)).toEqual(['TransferFinalized final', 'TransferProcessed 4']);
  const depth = network.chain.head - from + 1;
  network.chain.fork(
    depth,
    Array.from({ length: depth + 1 }, () => []),
  );
  expect(await network.follow(2)).toEqual(['in_doubt', 'halted']);
  return { network, payment, from };
}
