import { expect, test } from 'bun:test';
import { newInvoiceScene } from '../../../support/chain/invoice-scene.ts';
import { onEveryEngine } from '../../../support/stores.ts';

/** Blocks decide when an invoice expires, and which payments are late. */

const YEARS_S = 200_000_000;

onEveryEngine('the expiry of an invoice', (store) => {
  test('waits while the network stalls, however late it is', async () => {
    const scene = await newInvoiceScene(store.db);
    const invoice = await scene.create(25, 5);
    await scene.followBlocks(5);
    // Ten minutes of polls without a block.
    await scene.poll(300);
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
    await scene.poll(300);
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
