import { expect, test } from 'bun:test';
import type { Source } from '../../../../src/contract/chain/sources.ts';
import { call, createTenant, testApp } from '../../../support/api.ts';
import { FakeNetwork } from '../../../support/chain/fake-network.ts';
import { CONTRACT, NETWORK, PAYEE, PAYEE_CHECKSUMMED, PAYER, TOKEN } from '../../../support/chain/logs.ts';
import { expectProblem, messagesByName } from '../../../support/problems.ts';
import { onSuiteEngine } from '../../../support/stores.ts';

const SOURCES = '/api/v1/crypto/sources';
const SETTINGS = { CHAIN_RPC: `${NETWORK}=https://node.example/secret-key` };
const erc20 = { networkId: NETWORK, preset: 'erc20', contract: CONTRACT, where: { to: PAYEE_CHECKSUMMED } };

onSuiteEngine('the change of a source', (store) => {
  async function setUp(definition: object = erc20) {
    const network = new FakeNetwork();
    const tenant = await createTenant(store.db);
    const app = testApp(store.db, SETTINGS, { chain: network.tools(store.db) });
    const post = async (json: object) => (await (await call(app, tenant, SOURCES, { json })).json()) as Source;
    const source = await post(definition);
    const path = `${SOURCES}/${source.sourceId}`;
    const patch = (json: object) => call(app, tenant, path, { method: 'PATCH', json });
    const changed = async (json: object) => {
      const response = await patch(json);
      expect(response.status).toBe(200);
      return (await response.json()) as Source;
    };
    const read = async () => (await (await call(app, tenant, path)).json()) as Source;
    return { network, tenant, app, source, path, post, patch, changed, read };
  }

  test('of where, fields and minAmount counts from the next block on and raises the revision', async () => {
    const { network, source, changed, read } = await setUp();
    expect(source).toMatchObject({ name: null, minAmount: null, revision: 1, appliesFromBlock: 1_001 });
    network.head = 1_234;
    const changes = { where: { to: [PAYER, PAYEE] }, fields: { currency: { is: 'USDC' } }, minAmount: '0.50' };
    const after = await changed(changes);
    expect(after).toEqual({
      ...source,
      ...{ where: { to: [PAYER, PAYEE] }, fields: changes.fields, minAmount: '0.50' },
      revision: 2,
      appliesFromBlock: 1_235,
    });
    expect(await read()).toEqual(after);
    expect(await changed({ minAmount: null })).toMatchObject({ minAmount: null, revision: 3, appliesFromBlock: 1_235 });
  });

  test('of the name alone asks no network and raises nothing, and neither does the same definition', async () => {
    const { network, source, changed } = await setUp();
    network.calls.length = 0;
    expect(await changed({ name: 'Shop' })).toEqual({ ...source, name: 'Shop' });
    expect(network.calls).toEqual([]);
    expect(await changed({ where: { to: PAYEE }, name: null })).toEqual(source);
  });

  test('can be given at the creation', async () => {
    const { source, post } = await setUp({ ...erc20, name: 'Shop', minAmount: '5' });
    expect(source).toMatchObject({ name: 'Shop', minAmount: '5', revision: 1 });
    expect((await post({ ...erc20, minAmount: '5' })).sourceId).toBe(source.sourceId);
    expect((await post({ ...erc20, minAmount: '6' })).sourceId).not.toBe(source.sourceId);
  });

  test('pauses and resumes', async () => {
    const { source, changed } = await setUp();
    const paused = { state: 'paused', pausedReason: 'It was paused by a request.' } as const;
    expect(await changed({ isPaused: true })).toEqual({ ...source, ...paused });
    expect(await changed({ isPaused: true })).toEqual({ ...source, ...paused });
    expect(await changed({ isPaused: false })).toEqual(source);
  });

  test.each([
    ['networkId', 1],
    ['contract', TOKEN],
    ['preset', 'loop'],
    ['abi', 'event A()'],
    ['event', 'Transfer'],
    ['fromBlock', 5],
    ['deliverHistory', true],
  ])('of %s fails with 400 and the way out', async (name, value) => {
    const { source, patch, read } = await setUp();
    const problem = await expectProblem(await patch({ [name]: value, name: 'x' }), 'invalid_request');
    expect(messagesByName(problem)).toEqual({ [name]: 'cannot be changed, create another source' });
    expect(await read()).toEqual(source);
  });

  test.each([
    ['nothing', {}, { '': /at least one field/ }],
    ['an unknown field', { nmae: 'x' }, { nmae: /did you mean name\?/ }],
    ['a name with a line break', { name: 'a\nb' }, { name: /control characters/ }],
    ['an amount as a number', { minAmount: 5 }, { minAmount: /decimal as a string/ }],
    ['an amount below 0', { minAmount: '-1' }, { minAmount: /decimal as a string/ }],
    ['an unknown parameter', { where: { nope: 'x', to: PAYEE } }, { 'where.nope': /not a parameter/ }],
    ['no condition that the preset needs', { where: {} }, { where: /must name to or from/ }],
    ['a field that the preset fills', { fields: { payer: 'to' } }, { 'fields.payer': /a second time/ }],
    ['a pause that is not a truth value', { isPaused: 1 }, { isPaused: /true or false/ }],
  ])('to %s fails with 400', async (_, changes, messages) => {
    const { source, patch, read } = await setUp();
    const shown = messagesByName(await expectProblem(await patch(changes), 'invalid_request'));
    expect(Object.keys(shown)).toEqual(Object.keys(messages));
    for (const [name, message] of Object.entries(messages)) expect(shown[name] ?? '').toMatch(message);
    expect(await read()).toEqual(source);
  });

  test('of minAmount needs an amount', async () => {
    const custom = { networkId: NETWORK, contract: CONTRACT, abi: 'event Paid(uint256 amount)', event: 'Transfer' };
    const { patch } = await setUp(custom);
    expect(messagesByName(await expectProblem(await patch({ minAmount: '1' }), 'invalid_request'))).toEqual({
      minAmount: 'needs the payload field amount, as an amount of a token',
    });
  });

  test('to the definition of another source fails with 409', async () => {
    const { source, patch, post } = await setUp();
    const other = await post({ ...erc20, where: { to: PAYER } });
    const { detail } = await expectProblem(await patch({ where: { to: [PAYER] } }), 'conflict');
    expect(detail).toContain(other.sourceId);
    expect(source.sourceId).not.toBe(other.sourceId);
  });

  test('is in the audit, and not possible for another entity', async () => {
    const { app, tenant, source, path, network, changed } = await setUp();
    const stranger = await createTenant(store.db);
    await expectProblem(await call(app, stranger, path, { method: 'PATCH', json: { name: 'x' } }), 'not_found');
    const reader = await createTenant(store.db, ['webhooks:read']);
    await expectProblem(await call(app, reader, path, { method: 'PATCH', json: { name: 'x' } }), 'missing_permission');
    network.head = 2_000;
    await changed({ name: 'Shop', minAmount: '2', isPaused: true });
    await changed({ name: 'Shop' });
    const audit = await call(app, tenant, `/api/v1/crypto/audit?target=${source.sourceId}&sortDir=asc`);
    const { audit: entries } = (await audit.json()) as { audit: { action: string; before: object; after: object }[] };
    expect(entries.slice(1)).toMatchObject([
      {
        action: 'source.updated',
        before: { name: null, minAmount: null, isPaused: false },
        after: { name: 'Shop', minAmount: '2', isPaused: true, appliesFromBlock: 2_001 },
      },
    ]);
    expect(entries).toHaveLength(2);
  });

  test('is possible ten times before a block is final, and any number of times at one block', async () => {
    const { network, changed, patch } = await setUp();
    for (let time = 0; time < 20; time++) await changed({ minAmount: `${time}.5` });
    for (let time = 1; time <= 10; time++) {
      network.head++;
      await changed({ minAmount: String(time) });
    }
    network.head++;
    const response = await patch({ minAmount: '11' });
    expect(response.headers.get('retry-after')).toBe('60');
    expect((await expectProblem(response, 'rate_limited')).detail).toContain('once block 1001 is final');
  });

  test('of several requests at the same time loses none of them', async () => {
    const { changed, read } = await setUp();
    await Promise.all([
      changed({ minAmount: '1' }),
      changed({ fields: { currency: { is: 'USDC' } } }),
      changed({ name: 'Shop' }),
    ]);
    expect(await read()).toMatchObject({
      name: 'Shop',
      minAmount: '1',
      fields: { currency: { is: 'USDC' } },
      revision: 3,
    });
  });
});
