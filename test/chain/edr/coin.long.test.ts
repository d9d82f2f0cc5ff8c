import { expect, test } from 'bun:test';
import type { InvoiceDetail } from '../../../src/contract/chain/invoices.ts';
import { ChainStage } from '../../support/chain/chain-stage.ts';
import { hex } from '../../support/chain/json-rpc.ts';
import { onSuiteEngine } from '../../support/stores.ts';
import { until } from '../../support/until.ts';

const ETHER = 10n ** 18n;
/** The EVM of the tests mines four blocks for a second of their time. */
const BLOCKS_A_MINUTE = 240;

async function startStage(engine: Parameters<typeof ChainStage.start>[0]) {
  const stage = await ChainStage.start(engine);
  const { chain, service } = stage;
  for (const at of [2, 3, 4, 5]) await chain.rpc('hardhat_setBalance', [chain.account(at), hex(100n * ETHER)]);
  await stage.followed().catch(() => undefined);
  const headS = async () =>
    Number(((await chain.rpc('eth_getBlockByNumber', ['latest', false])) as { timestamp: string }).timestamp);
  const create = async (address: string) => {
    const dateExpires = Math.floor(Date.now() / 1000) + 61;
    const body = { networkId: 8453, token: 'native', address, amount: '2', dateExpires };
    return service.call<InvoiceDetail>('POST', '/invoices', body);
  };
  const read = ({ invoiceId }: InvoiceDetail) => service.call<InvoiceDetail>('GET', `/invoices/${invoiceId}`);
  /** Empty blocks in one go, until the time of the chain has passed. */
  const passTime = async (dateS: number) => {
    while ((await headS()) <= dateS) await chain.mine(BLOCKS_A_MINUTE / 4);
    await stage.followed();
  };
  return { stage, create, read, passTime };
}

onSuiteEngine('an invoice in the coin of a real EVM', (store) => {
  test('counts direct transfers, and neither a failed one nor one of a contract', async () => {
    const { stage, create, read, passTime } = await startStage(store.engine);
    await using _ = stage;
    const { chain, service, inbox } = stage;
    const forwarder = await chain.deploy('Forwarder');
    await chain.mine(20);
    for (const event of ['TransferProcessed', 'TransferFinalized', 'LatePayment']) await service.webhook('shop', event);
    const [direct, hidden] = [await create(`0x${'d1'.repeat(20)}`), await create(`0x${'d2'.repeat(20)}`)];
    expect(direct).toMatchObject({ token: 'native', symbol: 'ETH', decimals: 18, isListed: true, state: 'open' });
    await stage.mineAndFollow();
    const half = await chain.send(chain.account(2), { to: direct.address, data: '0x', value: ETHER });
    const forward = forwarder.call('forward(address)', [hidden.address]);
    await chain.send(chain.account(3), { ...forward, value: 3n * ETHER });
    await chain.send(chain.account(4), { ...forwarder.call('refuse()', []), value: 2n * ETHER });
    await chain.send(chain.account(5), { to: direct.address, data: '0x', value: 0n });
    await stage.mineAndFollow();
    expect(await read(direct)).toMatchObject({ state: 'underpaid', received: '1', due: '1', paymentCount: 1 });
    expect(await read(hidden)).toMatchObject({ state: 'open', received: '0', unexplainedBalance: null });
    const checked = await service.call<InvoiceDetail>('POST', `/invoices/${hidden.invoiceId}/check`);
    expect(checked).toMatchObject({ state: 'open', unexplainedBalance: '3' });
    await chain.send(chain.account(2), { to: direct.address, data: '0x', value: ETHER });
    await stage.mineAndFollow(20);
    await until('the sum is final', async () => (await read(direct)).isFinal);
    const paid = await read(direct);
    expect(paid).toMatchObject({ state: 'paid', received: '2', receivedFinal: '2', isLate: false });
    expect(paid.payments).toHaveLength(2);
    expect(paid.payments.find(({ transactionHash }) => transactionHash === half)).toMatchObject({
      ...{ amount: '1', amountBase: String(ETHER), logIndex: 0, payer: expect.stringMatching(/^0x/) },
      token: { address: 'native', symbol: 'ETH', decimals: 18, isListed: true },
    });
    await passTime(hidden.dateExpires);
    await stage.mineAndFollow(2);
    await until('the late one was told', () => inbox.at('shop').some(({ event }) => event === 'LatePayment'));
    const late = inbox.at('shop').filter(({ event }) => event === 'LatePayment');
    expect(late.map(({ body }) => body.invoice)).toMatchObject([{ invoiceId: hidden.invoiceId, state: 'expired' }]);
    expect(await read(hidden)).toMatchObject({ state: 'expired', unexplainedBalance: '3' });
    const final = inbox.at('shop').filter(({ event }) => event === 'TransferFinalized');
    expect(final.at(-1)?.body).toMatchObject({ token: 'native', invoice: { state: 'paid', isFinal: true } });
  });

  test('has every state, and the event that says so', async () => {
    const { stage, create, read, passTime } = await startStage(store.engine);
    await using _ = stage;
    const { chain, service, inbox } = stage;
    await chain.mine(20);
    const kinds = ['TransferCreated', 'TransferProcessed', 'LatePayment'] as const;
    for (const event of kinds) await service.webhook('shop', event);
    const [over, under, late, cancelled] = [
      await create(`0x${'e1'.repeat(20)}`),
      await create(`0x${'e2'.repeat(20)}`),
      await create(`0x${'e3'.repeat(20)}`),
      await create(`0x${'e4'.repeat(20)}`),
    ];
    const told = ({ invoiceId }: InvoiceDetail) =>
      inbox
        .at('shop')
        .filter(({ body }) => (body.invoice as { invoiceId: string }).invoiceId === invoiceId)
        .map(({ event, body }) => {
          const { state, isLate } = body.invoice as { state: string; isLate: boolean };
          return `${event} ${state}${isLate ? ' late' : ''}`;
        });
    const pay = ({ address }: InvoiceDetail, ether: bigint) =>
      chain.send(chain.account(2), { to: address, data: '0x', value: ether * ETHER });
    await stage.mineAndFollow();
    await pay(over, 3n);
    await pay(under, 1n);
    await service.call('POST', `/invoices/${cancelled.invoiceId}/cancel`);
    await stage.mineAndFollow();
    await passTime(late.dateExpires);
    await pay(late, 2n);
    await stage.mineAndFollow(2);
    await until('the late payment was told', () => told(late).length === 3);
    expect(await Promise.all([over, under, late, cancelled].map(read))).toMatchObject([
      { state: 'overpaid', received: '3', due: '0', isLate: false },
      { state: 'underpaid', received: '1', due: '1', isLate: false },
      { state: 'paid', received: '2', due: '0', isLate: true },
      { state: 'cancelled', received: '0' },
    ]);
    expect([over, under, late, cancelled].map((one) => told(one).toSorted())).toEqual([
      ['TransferCreated open', 'TransferProcessed overpaid'],
      ['LatePayment underpaid', 'TransferCreated open', 'TransferProcessed underpaid'],
      ['LatePayment expired', 'TransferCreated open', 'TransferProcessed paid late'],
      ['TransferCreated open'],
    ]);
  });

  test('asks for the balance at the expiry, without a request', async () => {
    const { stage, create, read, passTime } = await startStage(store.engine);
    await using _ = stage;
    const { chain } = stage;
    const forwarder = await chain.deploy('Forwarder');
    await chain.mine(20);
    const hidden = await create(`0x${'d3'.repeat(20)}`);
    await stage.mineAndFollow();
    await chain.send(chain.account(3), { ...forwarder.call('forward(address)', [hidden.address]), value: 3n * ETHER });
    await stage.mineAndFollow();
    expect(await read(hidden)).toMatchObject({ unexplainedBalance: null, dateChecked: null });
    await passTime(hidden.dateExpires);
    await until('the balance is known', async () => (await read(hidden)).unexplainedBalance !== null);
    expect(await read(hidden)).toMatchObject({
      ...{ state: 'expired', unexplainedBalance: '3', dateChecked: expect.any(Number) },
    });
  });
});
