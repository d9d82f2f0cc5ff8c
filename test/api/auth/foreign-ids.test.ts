import { beforeAll, expect, test } from 'bun:test';
import type { App } from '../../../src/api/app.ts';
import { factListQuerySchema } from '../../../src/contract/chain/facts.ts';
import type { EndpointList } from '../../../src/contract/endpoints/endpoint.ts';
import type { WebhookList } from '../../../src/contract/webhooks.ts';
import type { SourceDefinition } from '../../../src/domain/chain/source-definition.ts';
import { createInvoices } from '../../../src/store/chain/invoices/create.ts';
import { listFacts } from '../../../src/store/chain/read/facts.ts';
import { createSource } from '../../../src/store/chain/sources/sources.ts';
import { call, createTenant, TEST_CHANGE, type Tenant, testApp, WEBHOOKS } from '../../support/api.ts';
import { accept, newEvent, readDeliveries } from '../../support/deliveries.ts';
import { dumpRows } from '../../support/dump.ts';
import { type Operation, operationsOf, pathWith } from '../../support/operations.ts';
import { onSuiteEngine, type TestStore } from '../../support/stores.ts';
import { NOW_S } from '../../support/webhooks.ts';

const ADMIN_KEY = 'operator-key-0123456789-abcdefghij';
const EVENTS = '/api/v1/crypto/events';
const PAIR = { networkIds: [1], events: ['LatePayment'] };

const IMPOSSIBLE_IDS = ['x', '%', '%00', '%ff', '%E2%9C%93', '..%2f..', "'%20or%201=1--", 'x'.repeat(5_000)];

async function newSource({ db }: TestStore, entityId: string): Promise<string> {
  const definition = {
    networkId: 1,
    preset: 'loop',
    contract: `0x${'1'.repeat(40)}`,
    abi: null,
    event: null,
    where: { token: [`0x${'2'.repeat(40)}`] },
    fields: {},
    fromBlock: 'latest',
    deliverHistory: false,
  } as const;
  const prepared = { definition, topic: '0x11', topics: [], head: 100 };
  return (await createSource(db, entityId, prepared, 1, TEST_CHANGE)).source.sourceId;
}

/** An event that is held for a transaction is a fact. */
async function newFact({ db }: TestStore, entityId: string): Promise<string> {
  await accept(db, { ...newEvent(entityId), event: 'TransferFinalized', heldFor: `0x${'2'.repeat(64)}` });
  const { facts } = await listFacts(db, entityId, factListQuerySchema.parse({}));
  return facts[0]?.factId ?? '';
}

async function newInvoice({ db }: TestStore, entityId: string): Promise<string> {
  const token = `0x${'3'.repeat(40)}`;
  const address = `0x${'4'.repeat(40)}`;
  const terms = { networkId: 1, token, address, amount: '25', dateExpires: NOW_S + 3_600 } as const;
  const prepared = { token, address, shownToken: token, shownAddress: address, decimals: 0, base: 25n };
  const definition: SourceDefinition = {
    ...{ networkId: 1, preset: 'erc20', contract: token, abi: null, event: null, where: {}, fields: {} },
    ...{ fromBlock: 'latest', deliverHistory: false, addressBook: 'to' },
  };
  const created = await createInvoices(db, {
    ...{ entityId, networkId: 1, head: 100, nowS: NOW_S },
    invoices: [{ ...prepared, terms: { ...terms, tolerancePercent: 0, match: 'address', watchDays: 7 } }],
    readings: new Map([[token, { definition, topic: '0x11', topics: [], bookPlace: 2 }]]),
    limits: { invoices: 1, sources: 10, book: { ofEntity: 1, ofNetwork: 1 } },
  });
  const [first] = created ?? [];
  return first !== undefined && 'invoiceId' in first ? first.invoiceId : '';
}

onSuiteEngine('what belongs to another entity', (store) => {
  let app: App;
  let owner: Tenant;
  let stranger: Tenant;
  let entityOperations: Operation[];
  let withId: Operation[];
  /** By the name in the path's braces: an id that exists and is the owner's. A route with a new name needs its own. */
  const foreignIds: Record<string, string> = {};

  beforeAll(async () => {
    app = testApp(store.db, { ADMIN_KEY });
    owner = await createTenant(store.db);
    stranger = await createTenant(store.db);
    for (const tenant of [owner, stranger]) {
      await call(app, tenant, WEBHOOKS, { json: { postUrl: 'https://example.com/hook', ...PAIR } });
    }
    const { webhooks } = (await (await call(app, owner, WEBHOOKS)).json()) as WebhookList;
    const listed = await call(app, owner, '/api/v1/crypto/endpoints');
    foreignIds.endpointId = ((await listed.json()) as EndpointList).endpoints[0]?.endpointId ?? '';
    const listening = await call(app, owner, '/api/v1/crypto/listen-sessions', { json: {} });
    foreignIds.sessionId = ((await listening.json()) as { sessionId: string }).sessionId;
    const event = { event: 'LatePayment', networkId: 1, eventId: 'owned-by-one' };
    expect((await call(app, owner, EVENTS, { json: event })).status).toBe(202);
    const deliveries = await readDeliveries(store.db, owner.entityId);
    foreignIds.webhookId = webhooks[0]?.webhookId ?? '';
    foreignIds.eventId = event.eventId;
    foreignIds.deliveryId = deliveries[0]?.deliveryId ?? '';
    const again = await call(app, owner, `/api/v1/crypto/deliveries/redeliver?eventId=${event.eventId}`, {
      method: 'POST',
    });
    const { redeliveryId } = (await again.json()) as { redeliveryId?: string };
    if (redeliveryId !== undefined) foreignIds.redeliveryId = redeliveryId;
    foreignIds.sourceId = await newSource(store, owner.entityId);
    foreignIds.invoiceId = await newInvoice(store, owner.entityId);
    foreignIds.keyId = owner.keyId;
    foreignIds.factId = await newFact(store, owner.entityId);
    foreignIds.paymentId = foreignIds.factId.replace('fct_', 'pay_');
    const operations = await operationsOf(app);
    // A published key set is for everyone.
    entityOperations = operations.filter(({ permission }) => permission !== 'operator' && permission !== 'none');
    withId = entityOperations.filter(({ parameter }) => parameter !== null);
  });

  /** An id of the same form that does not exist. */
  const absentBeside = (id: string) => id.replace(/.$/, (last) => (last === '0' ? '1' : '0'));

  /** A bulk redelivery makes an id of its own, and says when it was started. */
  const withoutNewIds = (text: string) => text.replace(/rdl_[0-9a-f]{32}|"date\w+\\":\d+/g, '');

  const ask = (operation: Operation, who: Tenant, id: string) =>
    call(app, who, pathWith(operation, id), operation.example);

  /** Everything that a client can see, but for the id of the request. */
  async function seen(response: Response): Promise<string> {
    const headers = [...response.headers].filter(([name]) => name !== 'x-request-id');
    const text = (await response.text()).replace(/"requestId":"[^"]*"/, '"requestId":""');
    return JSON.stringify([response.status, headers.toSorted(), text]);
  }

  test('is there, so that the comparison means something', () => {
    expect(withId.length).toBeGreaterThan(3);
    for (const { name, parameter } of withId) {
      expect([name, foreignIds[parameter ?? ''] ?? `no example of ${parameter}`]).toEqual([
        name,
        expect.stringMatching(/^\w+-\w+-\w+$|^[a-z]+_[0-9a-f]{14,32}$/),
      ]);
    }
  });

  test('is 404 on every route with an id, byte for byte like what never existed, for a key and for the operator', async () => {
    const operator = { ...stranger, apiKey: ADMIN_KEY };
    for (const operation of withId) {
      const foreign = foreignIds[operation.parameter ?? ''] ?? '';
      const absent = absentBeside(foreign);
      for (const who of [stranger, operator]) {
        const responses = [await ask(operation, who, foreign), await ask(operation, who, absent)];
        expect([operation.name, ...responses.map(({ status }) => status)]).toEqual([operation.name, 404, 404]);
        const [ofForeign, ofAbsent] = await Promise.all(responses.map(seen));
        expect(ofForeign).toBe(ofAbsent ?? '');
      }
    }
  });

  test('is 404 on these routes too under an id that could never be one', async () => {
    for (const operation of withId) {
      for (const id of IMPOSSIBLE_IDS) {
        const { status } = await ask(operation, owner, id);
        expect([operation.name, id, status]).toEqual([operation.name, id, 404]);
      }
    }
  });

  test('is found by no filter: every response is byte for byte that to an id that never existed', async () => {
    const filters = entityOperations.flatMap((operation) =>
      operation.query.filter((name) => name in foreignIds).map((name) => ({ operation, name })),
    );
    expect(filters.length).toBeGreaterThan(5);
    for (const { operation, name } of filters) {
      const foreign = foreignIds[name] ?? '';
      const send = (id: string) => call(app, stranger, `${operation.path}?${name}=${id}`, operation.example);
      const [ofForeign, ofAbsent] = [await seen(await send(foreign)), await seen(await send(absentBeside(foreign)))];
      expect([operation.name, name, withoutNewIds(ofForeign)]).toEqual([operation.name, name, withoutNewIds(ofAbsent)]);
    }
  });

  test('is 404 also for a client that knows its tag', async () => {
    const path = `${WEBHOOKS}/${foreignIds.webhookId}`;
    const etag = (await call(app, owner, path)).headers.get('etag') ?? '';
    expect(etag).not.toBe('');
    for (const method of ['PATCH', 'DELETE']) {
      const json = method === 'PATCH' ? { json: { postUrl: 'https://example.com/taken' } } : {};
      for (const headers of [{ 'if-match': etag }, { 'if-match': '*' }]) {
        const response = await call(app, stranger, path, { method, headers, ...json });
        expect([method, response.status]).toEqual([method, 404]);
      }
    }
    const read = await call(app, stranger, path, { headers: { 'if-none-match': etag } });
    expect(read.status).toBe(404);
  });

  test('stays as it was, whatever a stranger sends', async () => {
    const ownRows = async () => {
      const rows = JSON.parse(await dumpRows(store)).flat(2) as string[];
      return rows.filter((row) => row.includes(owner.entityId));
    };
    const before = await ownRows();
    expect(before.length).toBeGreaterThan(5);
    for (const operation of withId) await ask(operation, stranger, foreignIds[operation.parameter ?? ''] ?? '');
    const sharedPairs = '?networkId=1&event=LatePayment';
    for (const operation of entityOperations.filter(({ parameter }) => parameter === null)) {
      await call(
        app,
        stranger,
        operation.path + (operation.query.includes('event') ? sharedPairs : ''),
        operation.example,
      );
    }
    expect(await ownRows()).toEqual(before);
  });

  test('is in no list and no count of a stranger', async () => {
    const operations = await operationsOf(app);
    const lists = operations.filter(
      ({ method, parameter, permission }) => method === 'GET' && parameter === null && permission !== 'operator',
    );
    expect(lists.length).toBeGreaterThan(3);
    for (const { path, name } of lists) {
      const text = await (await call(app, stranger, path)).text();
      const leaked = [owner.entityId, owner.keyId, ...Object.values(foreignIds)].filter((id) => text.includes(id));
      expect([name, leaked]).toEqual([name, []]);
    }
  });

  test('is available to its owner on the same routes', async () => {
    for (const operation of withId.filter(({ method }) => method === 'GET')) {
      const response = await ask(operation, owner, foreignIds[operation.parameter ?? ''] ?? '');
      expect([operation.name, response.status]).toEqual([operation.name, 200]);
    }
  });
});
