import { expect, test } from 'bun:test';
import { type FinalityByAmount, webhookFinalityText } from '../../../../src/domain/chain/finality-by-amount.ts';
import { newInvoiceScene } from '../../../support/chain/invoice-scene.ts';
import { onSuiteEngine } from '../../../support/stores.ts';
import { setFinality } from '../../../support/webhooks.ts';

/** Rules of amounts are for the tokens of the dollar, each of which is on one network. */
const USDC = { networkId: 1, token: '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48' };
const RULES: FinalityByAmount = {
  rules: [
    { maxAmount: '50', tokens: ['usd'], finality: 'seen' },
    { maxAmount: '100', tokens: ['usd'], finality: 3 },
  ],
  otherwise: 'final',
};

onSuiteEngine('an invoice paid in parts, with finality by amount', (store) => {
  test('gets no payment earlier than one payment in full', async () => {
    const scene = await newInvoiceScene(store.db, USDC);
    await setFinality(store.db, scene.entityId, { event: 'TransferProcessed' }, webhookFinalityText(RULES));
    const [small, middle, large] = [
      await scene.create(40, 60),
      await scene.create(80, 60),
      await scene.create(120, 60),
    ];
    await scene.followBlocks(1);
    // A third of each, and one payment that is larger than its invoice.
    scene.chain.mine([
      ...[13, 13, 14].map((part) => scene.transfer(small, part)),
      ...[26, 26, 28].map((part) => scene.transfer(middle, part)),
      ...[40, 40, 40].map((part) => scene.transfer(large, part)),
      scene.transfer(small, 120),
    ]);
    const sums = async (invoice: typeof small) =>
      (await scene.eventsOf(invoice)).flatMap(({ event, finality, invoice: { received, state } }) =>
        event === 'TransferProcessed' ? `${finality}: ${received} ${state}` : [],
      );
    await scene.poll();
    expect(await sums(small)).toEqual(Array(3).fill('seen: 160 overpaid'));
    expect(await sums(middle)).toEqual([]);
    expect(await sums(large)).toEqual([]);
    await scene.followBlocks(2);
    expect(await sums(middle)).toEqual(Array(3).fill('3: 80 paid'));
    expect(await sums(large)).toEqual([]);
    await scene.followBlocks(14);
    expect(await sums(large)).toEqual(Array(3).fill('final: 120 paid'));
    expect((await sums(small)).toSorted()).toEqual(['final: 160 overpaid', ...Array(3).fill('seen: 160 overpaid')]);
  });
});
