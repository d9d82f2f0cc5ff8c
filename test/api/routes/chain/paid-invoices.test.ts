import { expect, test } from 'bun:test';
import type { InvoiceDetail } from '../../../../src/contract/chain/invoices.ts';
import type { PaymentList } from '../../../../src/contract/chain/payments.ts';
import { call, createTenant, testApp } from '../../../support/api.ts';
import { FakeNetwork } from '../../../support/chain/fake-network.ts';
import { CONTRACT, NETWORK, PAYEE } from '../../../support/chain/logs.ts';
import { newPaidNetwork, PAYER } from '../../../support/chain/paid-network.ts';
import { expectProblem } from '../../../support/problems.ts';
import { onSuiteEngine } from '../../../support/stores.ts';

/** Requests about invoices that have payments. */

const BASE = '/api/v1/crypto';

onSuiteEngine('an invoice with payments', (store) => {
  async function setUp() {
    const tenant = await createTenant(store.db);
    const settings = { CHAIN_RPC: `${NETWORK}=https://node.example/key` };
    const app = testApp(store.db, settings, { chain: new FakeNetwork().tools(store.db) });
    const post = (path: string, json?: object) =>
      call(app, tenant, `${BASE}/invoices${path}`, { method: 'POST', ...(json === undefined ? {} : { json }) });
    const dateExpires = Math.floor(Date.now() / 1000) + 86_400;
    const given = { networkId: NETWORK, token: CONTRACT, address: PAYEE, amount: '25', dateExpires };
    const invoice = (await (await post('', given)).json()) as InvoiceDetail;
    const { payment, pay } = newPaidNetwork(store.db, tenant.entityId, NETWORK);
    let block = invoice.fromBlock;
    /** A transfer to the address of the invoice, in the next block. Returns its hash. */
    const send = async (units: number) => {
      const base = String(units * 1_000_000);
      const fields = { amount: String(units), amountBase: base, token: CONTRACT, payer: PAYER, payee: PAYEE };
      const fact = { ...payment(++block, { fields }), expected: { address: PAYEE, token: CONTRACT, base } };
      await pay(block, [fact]);
      return fact.transactionHash;
    };
    const get = async <Body>(path: string) => (await (await call(app, tenant, BASE + path)).json()) as Body;
    return { invoice, post, send, read: () => get<InvoiceDetail>(`/invoices/${invoice.invoiceId}`), get };
  }

  test('409 invoice_paid for cancelling it once it is paid, and nothing changes', async () => {
    const { invoice, post, send, read } = await setUp();
    await send(25);
    const paid = await read();
    expect(paid).toMatchObject({ state: 'paid', received: '25', dateCancelled: null });
    const problem = await expectProblem(await post(`/${invoice.invoiceId}/cancel`), 'invoice_paid');
    expect(problem.detail).toContain('Nothing was changed');
    expect(await read()).toEqual(paid);
  });

  test('that is underpaid can be cancelled, and a payment after that has no invoice', async () => {
    const { invoice, post, send, read, get } = await setUp();
    const first = await send(10);
    expect(await read()).toMatchObject({ state: 'underpaid', due: '15' });
    expect((await post(`/${invoice.invoiceId}/cancel`)).status).toBe(200);
    const second = await send(15);
    expect(await read()).toMatchObject({ state: 'cancelled', received: '10', paymentCount: 1 });
    const invoiceOf = async (hash: string) =>
      (await get<PaymentList>(`/payments?q=${hash}`)).payments.map(({ invoiceId }) => invoiceId);
    expect(await invoiceOf(first)).toEqual([invoice.invoiceId]);
    expect(await invoiceOf(second)).toEqual([null]);
  });
});
