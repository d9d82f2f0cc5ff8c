import { expect, test } from 'bun:test';
import type { InvoiceDetail } from '../../../../src/contract/chain/invoices.ts';
import type { Source, SourceList, SourcePreview } from '../../../../src/contract/chain/sources.ts';
import { call, createTenant, testApp } from '../../../support/api.ts';
import { FakeNetwork } from '../../../support/chain/fake-network.ts';
import { NETWORK, PAYEE, PAYER, PAYER_CHECKSUMMED } from '../../../support/chain/logs.ts';
import { expectProblem, messagesByName } from '../../../support/problems.ts';
import { onSuiteEngine, type TestStore } from '../../../support/stores.ts';

const BASE = '/api/v1/crypto';
const TRON = 728_126_428;
const HASH = `0x${'7'.repeat(64)}`;
const SOURCE = { networkId: NETWORK, preset: 'native', where: { to: [PAYEE] } };

async function setUp({ db }: TestStore, networkId = NETWORK) {
  const network = new FakeNetwork(networkId);
  const tenant = await createTenant(db);
  const settings = { CHAIN_RPC: networkId === 0 ? 'practice' : `${networkId}=https://node.example/secret-key` };
  const app = testApp(db, settings, { chain: network.tools(db) });
  const post = (path: string, json?: object) =>
    call(app, tenant, BASE + path, { method: 'POST', ...(json && { json }) });
  const get = async <Body>(path: string) => (await (await call(app, tenant, BASE + path)).json()) as Body;
  return { network, post, get };
}

const errorsOf = async (response: Response) => messagesByName(await expectProblem(response, 'invalid_request'));

function invoice(networkId = NETWORK): object {
  const dateExpires = Math.floor(Date.now() / 1000) + 86_400;
  return { networkId, token: 'native', address: PAYEE, amount: '0.000000000000000001', dateExpires };
}

onSuiteEngine('the coin of a network', (store) => {
  test('may be the token of an invoice, with 18 decimals and without a call for them', async () => {
    const { network, post, get } = await setUp(store);
    const made = (await (await post('/invoices', invoice())).json()) as InvoiceDetail;
    expect(made).toMatchObject({
      token: 'native',
      symbol: 'ETH',
      decimals: 18,
      isListed: true,
      due: '0.000000000000000001',
    });
    expect(network.calls).toEqual(['eth_blockNumber']);
    const { sources } = await get<SourceList>('/sources');
    expect(sources).toMatchObject([{ preset: 'native', contract: 'native', isForInvoices: true, addressBook: 'to' }]);
    network.coins.set(PAYEE, 5n);
    const checked = (await (await post(`/invoices/${made.invoiceId}/check`)).json()) as InvoiceDetail;
    expect(checked.unexplainedBalance).toBe('0.000000000000000005');
    const { amount } = await errorsOf(await post('/invoices', { ...invoice(), amount: '0.0000000000000000001' }));
    expect(amount).toBe('has 19 decimals, ETH has 18');
  });

  test.each([
    ['Tron', TRON],
    ['the practice network', 0],
  ])('is no token on %s', async (_, networkId) => {
    const { post } = await setUp(store, networkId);
    const { token } = await errorsOf(await post('/invoices', invoice(networkId)));
    expect(token).toContain(`Paybell does not read the coin of network ${networkId}`);
    const errors = await errorsOf(await post('/sources', { ...SOURCE, networkId }));
    expect(errors.preset).toBeString();
  });

  test('may be a source without a contract', async () => {
    const { post } = await setUp(store);
    const made = (await (await post('/sources', SOURCE)).json()) as Source;
    expect(made).toMatchObject({ preset: 'native', contract: 'native', where: { to: [PAYEE] } });
    const withContract = await errorsOf(await post('/sources', { ...SOURCE, contract: PAYEE }));
    expect(withContract.contract).toBe('is for tokens; leave it out with the preset native');
    const withoutAddress = await errorsOf(await post('/sources', { ...SOURCE, where: {} }));
    expect(withoutAddress.where).toContain('must name to or from');
  });

  test('is read from at most 10,000 earlier blocks', async () => {
    const { network, post } = await setUp(store);
    network.head = 20_000;
    const { fromBlock } = await errorsOf(await post('/sources', { ...SOURCE, fromBlock: 9_999 }));
    expect(fromBlock).toContain('must be at least 10000 with the preset native');
    expect((await post('/sources', { ...SOURCE, fromBlock: 10_000 })).status).toBe(201);
  });

  test('is in the preview of a transaction, and has no preview of recent payments', async () => {
    const { network, post } = await setUp(store);
    network.addTransfer(HASH, { from: PAYER, to: PAYEE, value: 25n * 10n ** 17n });
    const preview = (await (
      await post('/sources/preview', { ...SOURCE, transactionHash: HASH })
    ).json()) as SourcePreview;
    expect(preview.events).toMatchObject([{ fields: { amount: '2.5', payer: PAYER_CHECKSUMMED, token: 'native' } }]);
    expect((await errorsOf(await post('/sources/preview/recent', SOURCE))).preset).toContain('cannot be native');
  });
});
