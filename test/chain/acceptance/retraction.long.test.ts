import { describe, expect, test } from 'bun:test';
import { ChainStage } from '../../support/chain/chain-stage.ts';
import { ENGINES } from '../../support/stores.ts';
import { until } from '../../support/until.ts';

const GRACE_BLOCKS = 3;

/** Mines until the receiver has this many requests: a lone node has to call a block final at two heads. */
async function mineUntil(stage: ChainStage, requests: number): Promise<void> {
  for (let mined = 0; mined < 60 && stage.inbox.at('all').length < requests; mined++) await stage.mineAndFollow();
  await until('the payment is final', () => stage.inbox.at('all').length >= requests);
}

describe.each([...ENGINES])('a dropped payment on %s', (engine) => {
  test('is retracted once for each of two that heard, and for neither of two that did not', async () => {
    await using stage = await ChainStage.start(engine, { settings: { RETRY_SCHEDULE: '0s,50ms,10m' } });
    const { inbox, chain } = stage;
    inbox.answer('suspended', () => 410);
    await stage.service.webhook('suspended', 'TransferProcessed');
    await stage.service.client.send({ event: 'TransferProcessed', networkId: 8453 });
    await stage.service.held(1);
    inbox.arrivals.length = 0;
    inbox.answer('failing', ({ event }) => (event === 'TransferProcessed' ? 503 : 200));
    await stage.service.webhook('delivered', 'TransferProcessed');
    await stage.service.webhook('failing', 'TransferProcessed');
    await stage.service.webhook('final', 'TransferProcessed', 'final');
    await stage.service.source(stage.payments);
    const payment = await stage.pay(2);
    await stage.mineAndFollow();
    await until('the payment was told', () => inbox.at('delivered').length === 1 && inbox.at('failing').length === 2);

    await chain.fork(1);
    await stage.followed();
    await stage.mineAndFollow(GRACE_BLOCKS + 1);
    await until('both were told that it is gone', () => inbox.arrivals.length >= 5);
    await stage.mineAndFollow(20);
    expect(inbox.titlesAt('delivered')).toEqual(['TransferProcessed 1', 'EventRetracted 1']);
    expect(inbox.titlesAt('failing')).toEqual(['TransferProcessed 1', 'TransferProcessed 1', 'EventRetracted 1']);
    expect([inbox.at('suspended').length, inbox.at('final').length]).toEqual([0, 0]);
    expect(await stage.service.factOf(payment)).toMatchObject({ state: 'retracted', revision: 1 });
    const [original, retraction] = inbox.at('delivered');
    const { deliveries } = await stage.service.call<{
      deliveries: { event: string; status: string; attempts: number }[];
    }>('GET', `/deliveries?eventId=${original?.eventId}`);
    expect(deliveries.map(({ status, attempts }) => `${status} after ${attempts}`).sort()).toEqual([
      'delivered after 1',
      'superseded after 0',
      'superseded after 2',
    ]);
    expect(retraction?.body).toMatchObject({
      event: 'EventRetracted',
      reason: 'reorg',
      transactionHash: payment,
      retracts: { eventId: original?.eventId, event: 'TransferProcessed' },
      lostBlockNumber: original?.body.blockNumber,
      lostBlockHash: original?.body.blockHash,
      paymentId: expect.stringMatching(/^pay_/),
      amount: original?.body.amount,
      amountBase: original?.body.amountBase,
      token: original?.body.token,
    });
    expect(typeof retraction?.body.amount).toBe('string');
  });

  test('that is included again 10 blocks later is processed, retracted, processed and finalized, in this order', async () => {
    await using stage = await ChainStage.start(engine);
    await stage.service.webhook('all', 'TransferProcessed');
    await stage.service.webhook('all', 'TransferFinalized');
    await stage.service.source(stage.payments);
    const payment = await stage.pay(2);
    await stage.mineAndFollow();
    await until('the payment was told', () => stage.inbox.at('all').length === 1);
    await stage.chain.fork(1);
    await stage.followed();
    await stage.mineAndFollow(10);
    await stage.chain.sendAgain(payment);
    const { number } = await stage.chain.mine();
    await stage.followed();
    await stage.chain.mine(20);
    await stage.followed();
    await mineUntil(stage, 4);
    await stage.service.delivered();
    expect(stage.inbox.titlesAt('all')).toEqual([
      'TransferProcessed 1',
      'EventRetracted 1',
      'TransferProcessed 2',
      'TransferFinalized 2',
    ]);
    expect(stage.inbox.at('all').at(-1)?.body).toMatchObject({ blockNumber: number, transactionHash: payment });
  });
});

describe.each([...ENGINES])('a moved payment on %s', (engine) => {
  test('that is back within 3 blocks is told once; the fact has both positions, and the finalized one names the new block', async () => {
    await using stage = await ChainStage.start(engine);
    await stage.service.webhook('all', 'TransferProcessed');
    await stage.service.webhook('all', 'TransferFinalized');
    await stage.service.source(stage.payments);
    const payment = await stage.pay(2);
    const { number: first } = await stage.chain.mine();
    await stage.followed();
    await until('the payment was told', () => stage.inbox.at('all').length === 1);
    await stage.chain.fork(1, { length: 2 });
    await stage.followed();
    await stage.chain.sendAgain(payment);
    const moved = await stage.chain.mine();
    await stage.followed();
    await stage.mineAndFollow(GRACE_BLOCKS);
    expect(stage.inbox.titlesAt('all')).toEqual(['TransferProcessed 1']);
    await stage.chain.mine(20);
    await stage.followed();
    await mineUntil(stage, 2);
    await stage.service.delivered();
    expect(stage.inbox.titlesAt('all')).toEqual(['TransferProcessed 1', 'TransferFinalized 1']);
    expect(stage.inbox.at('all').at(-1)?.body).toMatchObject({ blockNumber: moved.number, blockHash: moved.hash });
    const { history } = await stage.service.factOf(payment);
    const positions = history.map(({ blockNumber }) => blockNumber);
    expect(positions).toContain(first);
    expect(positions).toContain(moved.number);
  });
});

describe.each([...ENGINES])('a retraction on %s', (engine) => {
  test('never overtakes an attempt of its original: 100 of 100 arrive after the response to it', async () => {
    const payments = 100;
    await using stage = await ChainStage.start(engine, {
      accounts: payments + 2,
      settings: { DESTINATION_CONCURRENCY: String(payments), DELIVERY_TIMEOUT: '5m' },
    });
    const { inbox, chain } = stage;
    await stage.service.webhook('slow', 'TransferProcessed');
    await stage.service.source(stage.payments);
    // A destination has twice as many requests in flight after each success, beginning with one.
    for (let warmUp = 0; warmUp < 20; warmUp++) {
      await stage.service.client.send({ event: 'TransferProcessed', networkId: 8453 });
    }
    await stage.service.delivered();
    inbox.arrivals.length = 0;
    const released = Promise.withResolvers<number>();
    inbox.answer('slow', ({ event }) => (event === 'TransferProcessed' ? released.promise : 200));
    for (let from = 2; from < payments + 2; from++) await stage.pay(from, from);
    await chain.mine();
    await until('every original is in flight', () => inbox.at('slow').length === payments, 300_000);
    await chain.fork(1);
    await stage.followed();
    // The follower asks for the transactions of a few lost facts in each poll.
    for (let block = 0; block < payments && (await countRetracted(stage)) < payments; block++) {
      await stage.mineAndFollow();
    }
    const retractions = () => inbox.at('slow').filter(({ event }) => event === 'EventRetracted');
    expect(retractions()).toEqual([]);
    released.resolve(200);
    await until('every retraction has arrived', () => retractions().length >= payments, 300_000);
    await stage.service.delivered();
    const retracted = retractions().map(({ body }) => (body.retracts as { eventId: string }).eventId);
    expect(new Set(retracted)).toEqual(
      new Set(
        inbox
          .at('slow')
          .slice(0, payments)
          .map(({ eventId }) => eventId),
      ),
    );
    expect(inbox.arrivals).toHaveLength(2 * payments);
  });
});

async function countRetracted({ service }: ChainStage): Promise<number> {
  return (await service.call<{ totalResults: number }>('GET', '/facts?state=retracted&limit=1')).totalResults;
}
