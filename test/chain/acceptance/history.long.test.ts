import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { ChainStage } from '../../support/chain/chain-stage.ts';
import { ENGINES } from '../../support/stores.ts';
import { until } from '../../support/until.ts';

// 2,000 deliveries take a busy machine minutes.
const LONG_MS = 500_000;
setDefaultTimeout(LONG_MS + 100_000);

const PAYMENTS = 2_000;
const PAYMENTS_OF_A_BLOCK = 100;

/** Payments of 1, 2, 3 and so on, over many blocks. */
async function payHistory(stage: ChainStage): Promise<void> {
  const { chain, token, payee } = stage;
  await chain.send(chain.account(2), token.call('mint(address,uint256)', [chain.account(2), 10n ** 18n]));
  for (let value = 1; value <= PAYMENTS; value += PAYMENTS_OF_A_BLOCK) {
    const pay = token.call('transferMany(address,uint256,uint256)', [payee, value, PAYMENTS_OF_A_BLOCK], 50_000_000);
    await chain.send(chain.account(2), pay);
    await chain.mine();
  }
}

const countFacts = async (stage: ChainStage) =>
  (await stage.service.call<{ totalResults: number }>('GET', '/facts?limit=1')).totalResults;

describe.each([...ENGINES])('a source with 2,000 old payments on %s', (engine) => {
  test('makes 2,000 facts and 0 requests', async () => {
    await using stage = await ChainStage.start(engine);
    await payHistory(stage);
    await stage.service.webhook('all', 'TransferProcessed');
    await stage.service.source({ ...stage.payments, fromBlock: 0 });
    await until('every payment is a fact', async () => (await countFacts(stage)) >= PAYMENTS, LONG_MS);
    await stage.mineAndFollow(2);
    await stage.service.delivered();
    expect([await countFacts(stage), stage.inbox.arrivals.length]).toEqual([PAYMENTS, 0]);
  });

  test('makes 2,000 requests in their order where history is asked for', async () => {
    await using stage = await ChainStage.start(engine);
    await payHistory(stage);
    await stage.service.webhook('all', 'TransferProcessed');
    await stage.service.source({ ...stage.payments, fromBlock: 0, deliverHistory: true });
    await until('every payment was told', () => stage.inbox.arrivals.length >= PAYMENTS, LONG_MS);
    await stage.service.delivered();
    const numbers = await stage.service.call<{ endpoints: { endpointId: string }[] }>('GET', '/endpoints');
    const told = await readFeed(stage, numbers.endpoints[0]?.endpointId ?? '');
    expect(told).toEqual(Array.from({ length: PAYMENTS }, (_, index) => String(index + 1)));
    expect(stage.inbox.arrivals).toHaveLength(PAYMENTS);
  });
});

/** The amounts in the order of their sequence numbers, which is the order in which the events were accepted. */
async function readFeed(stage: ChainStage, endpointId: string): Promise<unknown[]> {
  const amounts: unknown[] = [];
  for (let page = 0; page < PAYMENTS; page++) {
    const { deliveries } = await stage.service.call<{ deliveries: { body: unknown }[] }>(
      'GET',
      `/endpoints/${endpointId}/feed?after=${amounts.length}&limit=100`,
    );
    if (deliveries.length === 0) break;
    amounts.push(...deliveries.map(({ body }) => JSON.parse(String(body)).amountBase));
  }
  return amounts;
}
