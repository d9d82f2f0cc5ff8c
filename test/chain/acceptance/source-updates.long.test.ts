import { describe, expect, test } from 'bun:test';
import type { Source } from '../../../src/contract/chain/sources.ts';
import { ChainStage } from '../../support/chain/chain-stage.ts';
import { ENGINES } from '../../support/stores.ts';
import { until } from '../../support/until.ts';

describe.each([...ENGINES])('a source that changes on %s', (engine) => {
  async function setUp() {
    const stage = await ChainStage.start(engine);
    await stage.service.webhook('all', 'TransferProcessed', 'seen');
    const sourceId = await stage.service.source(stage.payments);
    const other = stage.chain.account(19);
    const payTo = (payee: string, value: number, from: number) =>
      stage.chain.send(stage.chain.account(from), stage.token.call('mint(address,uint256)', [payee, value]));
    const update = (changes: object) => stage.service.call<Source>('PATCH', `/sources/${sourceId}`, changes);
    const amounts = () => stage.inbox.arrivals.map(({ body }) => Number(body.amountBase)).sort((a, b) => a - b);
    const settle = async () => {
      await stage.mineAndFollow(2);
      await stage.service.delivered();
    };
    return { stage, other, payTo, update, amounts, settle };
  }

  test('takes the payments of each block by the settings of that block', async () => {
    const { stage, other, payTo, update, amounts, settle } = await setUp();
    await using _ = stage;
    await payTo(stage.payee, 1, 2);
    await payTo(other, 2, 3);
    await stage.mineAndFollow();
    const { appliesFromBlock, revision } = await update({ where: { to: [other] } });
    expect({ appliesFromBlock, revision }).toEqual({
      appliesFromBlock: (await stage.chain.head()).number + 1,
      revision: 2,
    });
    await payTo(stage.payee, 3, 4);
    await payTo(other, 4, 5);
    await stage.mineAndFollow();
    await update({ where: { to: [other, stage.payee] }, minAmount: '0.000006' });
    await payTo(stage.payee, 5, 6);
    await payTo(other, 6, 7);
    await payTo(stage.payee, 7, 8);
    await stage.mineAndFollow();
    await until('four payments have arrived', () => stage.inbox.arrivals.length >= 4);
    await settle();
    expect(amounts()).toEqual([1, 4, 6, 7]);
    // Until the payments are final, each block is read again with its own settings.
    await stage.mineAndFollow(20);
    await stage.service.delivered();
    expect(amounts()).toEqual([1, 4, 6, 7]);
  });

  test('reads unread blocks from before the change by the old settings', async () => {
    const { stage, other, payTo, update, amounts, settle } = await setUp();
    await using _ = stage;
    await stage.mineAndFollow();
    let isDown = true;
    stage.node.behaviour.fault = (methods) =>
      isDown && methods.includes('eth_getLogs') ? { kind: 'status', status: 503 } : null;
    await payTo(stage.payee, 1, 2);
    await payTo(other, 2, 3);
    await stage.chain.mine();
    await update({ where: { to: [other] } });
    await payTo(stage.payee, 3, 4);
    await payTo(other, 4, 5);
    await stage.chain.mine();
    isDown = false;
    await until('two payments have arrived', () => stage.inbox.arrivals.length >= 2);
    await settle();
    expect(amounts()).toEqual([1, 4]);
  });

  test('keeps a payment that a reorg moves past a change that does not take it', async () => {
    const { stage, other, payTo, update, amounts, settle } = await setUp();
    await using _ = stage;
    const payment = await payTo(stage.payee, 1, 2);
    await stage.mineAndFollow();
    await until('the payment has arrived', () => stage.inbox.arrivals.length === 1);
    await update({ where: { to: [other] } });
    await stage.mineAndFollow(2);
    // In the last of the four blocks that replace these three, which is past the change.
    await stage.chain.fork(3, { length: 4, place: ({ hash }) => (hash === payment ? 3 : null) });
    await stage.followed();
    await stage.mineAndFollow(6);
    await settle();
    expect(amounts()).toEqual([1]);
    expect(await stage.service.factOf(payment)).toMatchObject({ state: 'seen', revision: 1 });
    await stage.mineAndFollow(20);
    await stage.service.delivered();
    expect(await stage.service.factOf(payment)).toMatchObject({ state: 'final', revision: 1 });
    expect(stage.inbox.arrivals).toHaveLength(1);
  });

  test('reads the blocks of its pause when it is resumed, each payment once', async () => {
    const { stage, payTo, update, amounts, settle } = await setUp();
    await using _ = stage;
    await payTo(stage.payee, 1, 2);
    await stage.mineAndFollow();
    await until('the first payment has arrived', () => stage.inbox.arrivals.length === 1);
    await update({ isPaused: true });
    for (let payment = 2; payment <= 6; payment++) {
      await payTo(stage.payee, payment, payment + 1);
      await stage.mineAndFollow();
    }
    await stage.service.delivered();
    expect(amounts()).toEqual([1]);
    await update({ isPaused: false });
    await payTo(stage.payee, 7, 8);
    await stage.mineAndFollow();
    await until('all payments have arrived', () => stage.inbox.arrivals.length >= 7);
    await settle();
    expect(amounts()).toEqual([1, 2, 3, 4, 5, 6, 7]);
  });
});
