import { expect, test } from 'bun:test';
import type { Step } from '../../../../src/store/chain/network-store.ts';
import { NetworkStore } from '../../../../src/store/chain/networks.ts';
import { newInvoiceScene } from '../../../support/chain/invoice-scene.ts';
import { PLAIN_STEP } from '../../../support/chain/steps.ts';
import { onSuiteEngine } from '../../../support/stores.ts';

/** Blocks decide when an invoice expires, and which payments are late. */

const YEARS_S = 200_000_000;

onSuiteEngine('the expiry of an invoice', (store) => {
  test('waits while the network stalls, however late it is', async () => {
    const scene = await newInvoiceScene(store.db);
    const invoice = await scene.create(25, 5);
    await scene.followBlocks(5);
    // Minutes of polls without a block.
    await scene.poll(120);
    expect(await scene.kindsOf(invoice)).toEqual(['TransferCreated']);
    expect(await scene.read(invoice)).toMatchObject({ state: 'open' });
    await scene.followBlocks(1);
    expect(await scene.kindsOf(invoice)).toEqual(['TransferCreated', 'LatePayment']);
    expect(await scene.read(invoice)).toMatchObject({ state: 'expired', due: '25' });
  });

  test('counts a payment from before a stall that Paybell reads after it', async () => {
    const scene = await newInvoiceScene(store.db);
    const invoice = await scene.create(25, 5);
    await scene.followBlocks(2);
    for (const model of scene.models) model.freeze();
    scene.chain.mine([scene.transfer(invoice, 25)]);
    scene.chain.mineEmpty(10);
    await scene.poll(120);
    for (const model of scene.models) model.thaw();
    await scene.poll();
    await scene.followBlocks(10);
    expect(await scene.kindsOf(invoice)).toEqual(['TransferCreated', 'TransferProcessed']);
    expect(await scene.read(invoice)).toMatchObject({ state: 'paid', isLate: false });
  });

  test('that has passed leads to LatePayment when a payment is retracted', async () => {
    const scene = await newInvoiceScene(store.db);
    const invoice = await scene.create(25, 4);
    await scene.followBlocks(1);
    scene.chain.mine([scene.transfer(invoice, 10)]);
    await scene.followBlocks(1);
    scene.chain.mine([scene.transfer(invoice, 15)]);
    await scene.followBlocks(3);
    expect(await scene.read(invoice)).toMatchObject({ state: 'paid', isLate: false });
    // The second payment is gone, and the blocks after it.
    scene.chain.fork(4, [[], [], [], [], []]);
    await scene.followBlocks(8);
    const kinds = await scene.kindsOf(invoice);
    expect(kinds.slice(0, 3)).toEqual(['TransferCreated', 'TransferProcessed', 'TransferProcessed']);
    expect(kinds.slice(3).toSorted()).toEqual(['EventRetracted', 'LatePayment']);
    expect(await scene.read(invoice)).toMatchObject({ state: 'underpaid', received: '10', due: '15' });
    await scene.followBlocks(10);
    expect(await scene.kindsOf(invoice)).toEqual(kinds);
  });

  test('is not decided by a leader that leaves out the payment', async () => {
    const scene = await newInvoiceScene(store.db, { nodes: 2 });
    const invoice = await scene.create(25, 5);
    const [leader] = scene.models;
    if (leader === undefined) throw new Error('no such node');
    leader.faults.denies = () => true;
    // The other node has just checked the tail.
    await scene.followBlocks(2);
    scene.chain.mine([scene.transfer(invoice, 25)]);
    await scene.followBlocks(12);
    expect(await scene.kindsOf(invoice)).toEqual(['TransferCreated']);
    leader.faults.denies = () => false;
    await scene.poll(60);
    expect(await scene.kindsOf(invoice)).toEqual(['TransferCreated', 'TransferProcessed']);
    expect(await scene.read(invoice)).toMatchObject({ state: 'paid', isLate: false });
  });

  test('is not decided while the node that could confirm a payment of another one lags', async () => {
    const scene = await newInvoiceScene(store.db, { nodes: 3 });
    const invoice = await scene.create(25, 12);
    const [leader, , third] = scene.models;
    if (leader === undefined || third === undefined) throw new Error('no such node');
    leader.faults.denies = () => true;
    third.faults.lag = 9;
    await scene.followBlocks(9);
    scene.chain.mine([scene.transfer(invoice, 25)]);
    await scene.followBlocks(5);
    expect(await scene.kindsOf(invoice)).toEqual(['TransferCreated']);
    third.faults.lag = 0;
    await scene.followBlocks(20);
    expect(await scene.kindsOf(invoice)).toEqual(['TransferCreated', 'TransferProcessed']);
    expect(await scene.read(invoice)).toMatchObject({ state: 'paid', isLate: false });
  });

  test('is decided by the leader once no other node has shown the blocks for five minutes', async () => {
    const scene = await newInvoiceScene(store.db, { nodes: 2 });
    const invoice = await scene.create(25, 3);
    scene.models[1]?.freeze();
    await scene.followBlocks(30);
    expect(await scene.read(invoice)).toMatchObject({ state: 'open' });
    await scene.poll(150);
    await scene.followBlocks(1);
    expect(await scene.read(invoice)).toMatchObject({ state: 'expired' });
    expect(await scene.kindsOf(invoice)).toEqual(['TransferCreated', 'LatePayment']);
  });

  test('is not decided by a node that leads after another has left out the payment', async () => {
    const scene = await newInvoiceScene(store.db, { nodes: 2 });
    const invoice = await scene.create(25, 22);
    const [first, second] = scene.models;
    if (first === undefined || second === undefined) throw new Error('no such node');
    first.faults.denies = () => true;
    await scene.followBlocks(5);
    second.freeze();
    scene.chain.mine([scene.transfer(invoice, 25)]);
    await scene.followBlocks(10);
    second.thaw();
    first.freeze();
    await scene.followBlocks(15);
    first.thaw();
    await scene.followBlocks(12);
    expect(await scene.kindsOf(invoice)).toEqual(['TransferCreated']);
    first.faults.denies = () => false;
    await scene.poll(60);
    expect(await scene.kindsOf(invoice)).toEqual(['TransferCreated', 'TransferProcessed']);
  });

  test('is not decided by a node whose blocks are in the future', async () => {
    const scene = await newInvoiceScene(store.db, { nodes: 2 });
    const invoice = await scene.create(25, 30);
    await scene.followBlocks(2);
    for (const liar of scene.models) {
      liar.faults.aheadS = YEARS_S;
      await scene.followBlocks(3);
      liar.faults.aheadS = 0;
      await scene.followBlocks(2);
    }
    expect(await scene.read(invoice)).toMatchObject({ state: 'open' });
    expect(await scene.kindsOf(invoice)).toEqual(['TransferCreated']);
  });

  test('is not decided by nodes that are in the future one after another, at the same head', async () => {
    const scene = await newInvoiceScene(store.db, { nodes: 2 });
    const invoice = await scene.create(25, 30);
    await scene.followBlocks(2);
    const [leader, other] = scene.models;
    if (leader === undefined || other === undefined) throw new Error('no such node');
    other.faults.aheadS = YEARS_S;
    await scene.poll(10);
    other.faults.aheadS = 0;
    leader.faults.aheadS = YEARS_S;
    await scene.poll();
    expect(await scene.read(invoice)).toMatchObject({ state: 'open' });
  });

  test.each(['the leader', 'the other node'])(
    'is not decided by the times that %s sends with its logs',
    async (who) => {
      const scene = await newInvoiceScene(store.db, { nodes: 2 });
      const invoice = await scene.create(25, 30);
      await scene.followBlocks(2);
      const liar = scene.models[who === 'the leader' ? 0 : 1];
      if (liar === undefined) throw new Error('no such node');
      liar.faults.logsAheadS = YEARS_S;
      scene.chain.mine([scene.transfer(invoice, 25)]);
      scene.chain.mineEmpty(2);
      await scene.poll();
      await scene.followBlocks(3);
      expect(await scene.kindsOf(invoice)).toEqual(['TransferCreated', 'TransferProcessed']);
      expect(await scene.read(invoice)).toMatchObject({ state: 'paid', isLate: false });
    },
  );

  test('makes a later payment late, although the blocks of the leader are in the future', async () => {
    const scene = await newInvoiceScene(store.db, { nodes: 2 });
    const invoice = await scene.create(25, 2);
    const [leader] = scene.models;
    if (leader === undefined) throw new Error('no such node');
    leader.faults.aheadS = YEARS_S;
    scene.chain.mineEmpty(3);
    scene.chain.mine([scene.transfer(invoice, 25)]);
    scene.chain.mineEmpty(2);
    await scene.poll();
    expect(await scene.read(invoice)).toMatchObject({ state: 'paid', isLate: true });
  });

  test('waits for the time of the tip, which a step of a fork may not have', async () => {
    const scene = await newInvoiceScene(store.db);
    const invoice = await scene.create(25, 4);
    await scene.followBlocks(3);
    const networks = new NetworkStore(store.db, 'one', () => Promise.resolve([]));
    const commit = async (number: number, more: Partial<Step>) => {
      const lease = await networks.lease(scene.networkId);
      if (lease === null) throw new Error('another instance holds the lease');
      const levels = { head: number, safe: null, final: null, rangeBlocks: 1, blockTimeMs: 2_000 };
      const tip = { number, hash: `0xf${number}` };
      const none = { ...PLAIN_STEP, changes: [], backfilled: [], asked: [], nodes: [] };
      await networks.commit(lease, { tip, anchors: [tip], ...levels, ...none, ...more });
    };
    // As after a fork, whose first payments are written before the blocks up to the new head are read.
    await store.db.transaction((queries) =>
      queries.run('update chains set tip_s = $2 where network_id = $1', [scene.networkId, invoice.dateExpires + 1]),
    );
    await commit(scene.chain.head - 1, {});
    expect(await scene.read(invoice)).toMatchObject({ state: 'open' });
    await commit(scene.chain.head, { tipS: invoice.dateExpires + 1 });
    expect(await scene.read(invoice)).toMatchObject({ state: 'expired' });
  });

  test.each([1, 2])('makes later payments late, even if %d nodes send no time with a log', async (nodes) => {
    const scene = await newInvoiceScene(store.db, { nodes });
    const [late, punctual] = [await scene.create(25, 2), await scene.create(25, 2)];
    // Read in one poll, so that the header of the payment's block is not that of the tip.
    scene.chain.mine([scene.transfer(punctual, 25)]);
    scene.chain.mineEmpty(2);
    scene.chain.mine([scene.transfer(late, 25)]);
    scene.chain.mineEmpty(3);
    await scene.poll();
    expect(await scene.read(punctual)).toMatchObject({ state: 'paid', isLate: false });
    expect(await scene.read(late)).toMatchObject({ state: 'paid', isLate: true });
  });
});
