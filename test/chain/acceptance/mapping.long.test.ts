import { describe, expect, test } from 'bun:test';
import { ChainStage } from '../../support/chain/chain-stage.ts';
import { ENGINES } from '../../support/stores.ts';
import { until } from '../../support/until.ts';

describe.each([...ENGINES])('what logs prove on %s', (engine) => {
  test('a payment of 2^256 - 1 is exact in its smallest unit and in decimals', async () => {
    await using stage = await ChainStage.start(engine);
    await stage.service.webhook('all', 'TransferProcessed');
    await stage.service.source(stage.payments);
    await stage.pay(2, 2n ** 256n - 1n);
    await stage.mineAndFollow();
    await until('the payment was told', () => stage.inbox.arrivals.length === 1);
    const amountBase = String(2n ** 256n - 1n);
    const { body } = stage.inbox.arrivals[0] ?? {};
    expect(body).toMatchObject({ amountBase, amount: `${amountBase.slice(0, -6)}.${amountBase.slice(-6)}` });
    expect([body?.payee, body?.token].map((address) => String(address).toLowerCase())).toEqual([
      stage.payee,
      stage.token.address,
    ]);
  });

  test.each(['TokenWithoutDecimals', 'TokenWithFailingDecimals'])(
    'a payment of a %s has an amount in its smallest unit alone',
    async (name) => {
      await using stage = await ChainStage.start(engine);
      const token = await stage.chain.deploy(name);
      await stage.service.webhook('all', 'TransferProcessed');
      await stage.service.source({ ...stage.payments, contract: token.address });
      await stage.chain.send(stage.chain.account(2), token.call('mint(address,uint256)', [stage.payee, 7]));
      await stage.mineAndFollow();
      await until('the payment was told', () => stage.inbox.arrivals.length === 1);
      expect(stage.inbox.arrivals[0]?.body).toMatchObject({ amountBase: '7' });
      expect(stage.inbox.arrivals[0]?.body).not.toHaveProperty('amount');
    },
  );

  test('a transfer of a loop contract that failed, or in another token, is no event; a successful one carries its id', async () => {
    await using stage = await ChainStage.start(engine);
    const loop = await stage.chain.deploy('Loop');
    await stage.service.webhook('all', 'TransferProcessed');
    await stage.service.source({ preset: 'loop', contract: loop.address, where: { token: stage.token.address } });
    const worthless = await stage.chain.deploy('Token', 'uint8', [6]);
    for (const [id, success, { address }] of [
      ['trf_failed', false, stage.token] as const,
      ['trf_worthless', true, worthless] as const,
      ['trf_paid', true, stage.token] as const,
    ]) {
      const values = [id, success, address, stage.payee, 5_000_000n];
      const process = loop.call('process(string,bool,address,address,uint256)', values);
      await stage.chain.send(stage.chain.account(2), process);
    }
    await stage.mineAndFollow();
    await until('the transfer was told', () => stage.inbox.arrivals.length > 0);
    await stage.mineAndFollow();
    await stage.service.delivered();
    expect(stage.inbox.arrivals.map(({ body }) => body.transferId)).toEqual(['trf_paid']);
  });

  test('a payment through a proxy with a reference names no payer', async () => {
    await using stage = await ChainStage.start(engine);
    const proxy = await stage.chain.deploy('FeeProxy');
    await stage.service.webhook('all', 'TransferProcessed');
    const where = { to: stage.payee, tokenAddress: stage.token.address };
    await stage.service.source({ preset: 'request-network', contract: proxy.address, where });
    const values = [stage.token.address, stage.payee, 5_000_000n, '0xabcdef0123456789', 1n, stage.payee];
    const pay = proxy.call('pay(address,address,uint256,bytes,uint256,address)', values);
    await stage.chain.send(stage.chain.account(2), pay);
    await stage.mineAndFollow();
    await until('the payment was told', () => stage.inbox.arrivals.length === 1);
    expect(stage.inbox.arrivals[0]?.body).toMatchObject({ amountBase: '5000000' });
    expect(stage.inbox.arrivals[0]?.body).not.toHaveProperty('payer');
  });
});
