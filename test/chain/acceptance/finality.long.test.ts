import { describe, expect, test } from 'bun:test';
import { ChainStage } from '../../support/chain/chain-stage.ts';
import { ENGINES } from '../../support/stores.ts';
import { until } from '../../support/until.ts';

describe.each([...ENGINES])('finality on %s', (engine) => {
  test('one payment is told at +0 to who wants it seen, at +11 with 12 confirmations, and at +16 when it is final', async () => {
    await using stage = await ChainStage.start(engine, { nodeCount: 2 });
    await stage.service.webhook('seen', 'TransferProcessed', 'seen');
    await stage.service.webhook('twelve', 'TransferProcessed', 12);
    await stage.service.webhook('final', 'TransferProcessed', 'final');
    await stage.service.source(stage.payments);
    await stage.pay(2);
    const { number: block } = await stage.chain.mine();
    const counts = () => ['seen', 'twelve', 'final'].map((path) => stage.inbox.at(path).length);
    const expectAfter = async (blocksAbove: number, expected: readonly number[]) => {
      await stage.chain.mine(block + blocksAbove - (await stage.chain.head()).number);
      await stage.followed();
      await until('the requests have arrived', () => counts().every((count, index) => count >= (expected[index] ?? 0)));
      await stage.service.delivered();
      expect({ blocksAbove, counts: counts() }).toEqual({ blocksAbove, counts: [...expected] });
    };
    await expectAfter(0, [1, 0, 0]);
    await expectAfter(10, [1, 0, 0]);
    await expectAfter(11, [1, 1, 0]);
    await expectAfter(15, [1, 1, 0]);
    await expectAfter(16, [1, 1, 1]);
    await expectAfter(20, [1, 1, 1]);
    expect(stage.inbox.arrivals.map(({ body }) => [body.finality, body.confirmations, body.blockNumber])).toEqual([
      ['seen', 1, block],
      [12, 12, block],
      ['final', 17, block],
    ]);
  });
});
