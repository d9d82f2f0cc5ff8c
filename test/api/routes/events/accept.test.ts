import { expect, test } from 'bun:test';
import { entityKey } from '../../../../src/store/database/sql.ts';
import { suspendWebhook } from '../../../../src/store/webhooks/suspension.ts';
import { type CallOptions, call, createTenant, TEST_CHANGE, type Tenant, testApp } from '../../../support/api.ts';
import { acceptMany, addReceiver, readDeliveries } from '../../../support/deliveries.ts';
import { expectProblem, messagesByName } from '../../../support/problems.ts';
import { onSuiteEngine, type TestStore } from '../../../support/stores.ts';

const EVENTS = '/api/v1/crypto/events';
const BATCH = `${EVENTS}/batch`;
const GOOD = { event: 'LatePayment', networkId: 1 };

const post = (body: string | Uint8Array<ArrayBuffer>, type = 'application/json'): CallOptions => ({
  method: 'POST',
  body,
  headers: { 'content-type': type },
});

const bytes = (...parts: (string | number[])[]) =>
  new Uint8Array(
    Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Uint8Array.from(part)))),
  );

async function storedBodies({ db }: TestStore, entityId: string): Promise<string[]> {
  const sql = 'select body from events where entity_id = $1';
  return (await db.all<{ body: string }>(sql, [entityKey(db.dialect, entityId)])).map(({ body }) => body);
}

async function countEvents(store: TestStore, { entityId }: Tenant): Promise<number> {
  return (await storedBodies(store, entityId)).length;
}

onSuiteEngine('POST /events', (store) => {
  test('answers 202 with the id and how many webhooks matched, once all is stored', async () => {
    const tenant = await createTenant(store.db);
    for (const host of ['a', 'b']) await addReceiver(store.db, tenant.entityId, `https://${host}.example.com/`);
    const answer = await call(testApp(store.db), tenant, EVENTS, { json: { ...GOOD, eventId: 'transfer-1' } });
    expect(answer.status).toBe(202);
    expect(await answer.json()).toEqual({ eventId: 'transfer-1', deliveries: 2 });
    expect(await readDeliveries(store.db, tenant.entityId)).toHaveLength(2);
  });

  test('answers 202 without deliveries for a reminder after the payment, and names the payment, alone and in a batch', async () => {
    const tenant = await createTenant(store.db);
    await addReceiver(store.db, tenant.entityId, 'https://a.example.com/');
    const send = (json: object) => call(testApp(store.db), tenant, EVENTS, { json });
    await send({ event: 'TransferProcessed', networkId: 1, eventId: 'paid', transferId: 'trf_1' });
    const reminder = { ...GOOD, eventId: 'late', transferId: 'trf_1' };
    for (const status of [202, 200]) {
      const answer = await send(reminder);
      expect(answer.status).toBe(status);
      expect(await answer.json()).toEqual({ eventId: 'late', deliveries: 0, supersededBy: 'paid' });
    }
    const line = JSON.stringify({ ...reminder, eventId: 'later' });
    const batch = await call(testApp(store.db), tenant, BATCH, post(line, 'application/x-ndjson'));
    expect(await batch.json()).toMatchObject({ results: [{ status: 202, deliveries: 0, supersededBy: 'paid' }] });
    expect(await readDeliveries(store.db, tenant.entityId)).toEqual([]);
  });

  test('refuses a retraction that does not name an event, alone and in a batch', async () => {
    const tenant = await createTenant(store.db);
    const retraction = { event: 'EventRetracted', networkId: 1, retracts: 'paid' };
    const problem = await expectProblem(
      await call(testApp(store.db), tenant, EVENTS, { json: retraction }),
      'invalid_request',
    );
    expect(messagesByName(problem)).toEqual({
      retracts: expect.stringContaining('must be an object with the eventId'),
    });
    const batch = await call(
      testApp(store.db),
      tenant,
      BATCH,
      post(JSON.stringify(retraction), 'application/x-ndjson'),
    );
    expect(await batch.json()).toMatchObject({ results: [{ status: 400, code: 'invalid_request' }] });
  });

  test('accepts an agreementId that is no usable text without order, and says so', async () => {
    const tenant = await createTenant(store.db);
    for (const agreementId of [7, '', 'x'.repeat(129), ['a'], { id: 'a' }]) {
      const answer = await call(testApp(store.db), tenant, EVENTS, { json: { ...GOOD, agreementId } });
      expect(answer.status).toBe(202);
      expect(await answer.json()).toMatchObject({
        deliveries: 0,
        warning: expect.stringContaining('agreementId must be'),
      });
    }
    for (const agreementId of ['a', null, undefined]) {
      const answer = await call(testApp(store.db), tenant, EVENTS, { json: { ...GOOD, agreementId } });
      expect(await answer.json()).toEqual({ eventId: expect.any(String), deliveries: 0 });
    }
  });

  test('makes an id for an event that has none', async () => {
    const tenant = await createTenant(store.db);
    const answer = await call(testApp(store.db), tenant, EVENTS, { json: GOOD });
    expect(await answer.json()).toEqual({ eventId: expect.stringMatching(/^evt_[0-9a-f]{32}$/), deliveries: 0 });
  });

  test('answers the same bytes again with 200 and the first answer, and other bytes with 409', async () => {
    const tenant = await createTenant(store.db);
    const app = testApp(store.db);
    await addReceiver(store.db, tenant.entityId, 'https://a.example.com/');
    const body = '{"event":"LatePayment","networkId":1,"eventId":"once"}';
    expect((await call(app, tenant, EVENTS, post(body))).status).toBe(202);
    await addReceiver(store.db, tenant.entityId, 'https://b.example.com/');
    const again = await call(app, tenant, EVENTS, post(body));
    expect([again.status, await again.json()]).toEqual([200, { eventId: 'once', deliveries: 1 }]);
    await expectProblem(await call(app, tenant, EVENTS, post(`${body} `)), 'event_conflict');
    expect(await readDeliveries(store.db, tenant.entityId)).toHaveLength(1);
  });

  test('takes an event for a suspended webhook and holds it', async () => {
    const tenant = await createTenant(store.db);
    const webhookId = await addReceiver(store.db, tenant.entityId, 'https://a.example.com/');
    await suspendWebhook(store.db, tenant.entityId, webhookId, 'gone', TEST_CHANGE);
    expect((await call(testApp(store.db), tenant, EVENTS, { json: GOOD })).status).toBe(202);
    expect(await readDeliveries(store.db, tenant.entityId)).toMatchObject([{ status: 'held' }]);
  });

  test('names all faults of a body at once', async () => {
    const tenant = await createTenant(store.db);
    const json = { event: 'latepayment', networkId: -1, eventId: 'no spaces', amount: 5 };
    const problem = await expectProblem(await call(testApp(store.db), tenant, EVENTS, { json }), 'invalid_request');
    expect(Object.keys(messagesByName(problem)).sort()).toEqual(['event', 'eventId', 'networkId']);
    expect(await countEvents(store, tenant)).toBe(0);
  });

  test.each([
    ['no event', { networkId: 1 }, ['event']],
    ['an unknown event', { ...GOOD, event: 'Nothing' }, ['event']],
    ['an event in another case', { ...GOOD, event: 'LATEPAYMENT' }, ['event']],
    ['no network', { event: 'LatePayment' }, ['networkId']],
    ['a network as text', { ...GOOD, networkId: '1' }, ['networkId']],
    ['half a network', { ...GOOD, networkId: 1.5 }, ['networkId']],
    ['a network beyond 2^53 − 1', { ...GOOD, networkId: 2 ** 53 }, ['networkId']],
    ['a network of null', { ...GOOD, networkId: null }, ['networkId']],
    ['an empty id', { ...GOOD, eventId: '' }, ['eventId']],
    ['an id of 129 characters', { ...GOOD, eventId: 'x'.repeat(129) }, ['eventId']],
    ['an id with a dot', { ...GOOD, eventId: 'a.b' }, ['eventId']],
    ['an id with a NUL', { ...GOOD, eventId: 'a\0b' }, ['eventId']],
    ['an id that is a number', { ...GOOD, eventId: 7 }, ['eventId']],
    ['an id of null', { ...GOOD, eventId: null }, ['eventId']],
    ['an array', [GOOD], ['']],
    ['a text', 'LatePayment', ['']],
    ['null', null, ['']],
  ])('refuses %s', async (_name, json, faulty) => {
    const tenant = await createTenant(store.db);
    const problem = await expectProblem(await call(testApp(store.db), tenant, EVENTS, { json }), 'invalid_request');
    expect(Object.keys(messagesByName(problem))).toEqual(faulty);
    expect(await countEvents(store, tenant)).toBe(0);
  });

  const valid = JSON.stringify(GOOD);
  const nested = (levels: number) =>
    `{"event":"LatePayment","networkId":1,"x":${'['.repeat(levels)}${']'.repeat(levels)}}`;
  const sized = (size: number) => {
    const start = '{"event":"LatePayment","networkId":1,"x":"';
    return `${start}${'x'.repeat(size - start.length - 2)}"}`;
  };

  test.each([
    ['nothing', ''],
    ['white space', ' \n'],
    ['half an object', valid.slice(0, -1)],
    ['two objects', valid + valid],
    ['65 levels', nested(64)],
    ['20,000 levels', nested(20_000)],
    ['invalid UTF-8', bytes('{"event":"LatePayment","networkId":1,"x":"', [0xff, 0xfe], '"}')],
    ['a UTF-8 sequence that is cut short', bytes('{"event":"LatePayment","networkId":1,"x":"', [0xe2, 0x82], '"}')],
    ['a lone surrogate as bytes', bytes('{"event":"LatePayment","networkId":1,"x":"', [0xed, 0xa0, 0x80], '"}')],
    ['an overlong slash', bytes('{"event":"LatePayment","networkId":1,"x":"', [0xc0, 0xaf], '"}')],
    ['a NUL in a text', bytes('{"event":"LatePayment","networkId":1,"x":"', [0], '"}')],
    ['a NUL at the end', bytes(valid, [0])],
    ['a byte order mark', bytes([0xef, 0xbb, 0xbf], valid)],
    ['a comment', `${valid}// yes`],
    ['NaN', '{"event":"LatePayment","networkId":NaN}'],
  ])('refuses %s as no JSON', async (_name, body) => {
    const tenant = await createTenant(store.db);
    await expectProblem(await call(testApp(store.db), tenant, EVENTS, post(body)), 'invalid_json');
    expect(await countEvents(store, tenant)).toBe(0);
  });

  test.each([
    ['64 levels', nested(63)],
    ['exactly 256 KiB', sized(262_144)],
    ['a lone surrogate, escaped', '{"event":"LatePayment","networkId":1,"x":"\\ud800"}'],
    ['a NUL, escaped', '{"event":"LatePayment","networkId":1,"x":"\\u0000"}'],
    ['brackets in a text', `{"event":"LatePayment","networkId":1,"x":"${'[{'.repeat(500)}"}`],
    ['network 0', '{"event":"LatePayment","networkId":0}'],
    ['network 2^53 − 1', '{"event":"LatePayment","networkId":9007199254740991}'],
    ['an id of 128 characters', JSON.stringify({ ...GOOD, eventId: '-'.repeat(128) })],
  ])('takes %s and keeps the bytes', async (_name, body) => {
    const tenant = await createTenant(store.db);
    const answer = await call(testApp(store.db), tenant, EVENTS, post(body));
    expect(answer.status).toBe(202);
    expect(await storedBodies(store, tenant.entityId)).toEqual([body]);
  });

  const TWICE = 'is given more than once; give it once';
  const INEXACT = 'must be a whole number, in plain decimal digits';

  test.each([
    ['{"event":"LatePayment","networkId":1,"networkId":2}', { networkId: TWICE }],
    ['{"event":"LatePayment","networkId":2,"networkId" : 2}', { networkId: TWICE }],
    [String.raw`{"event":"LatePayment","networkId":1,"network\u0049d":2}`, { networkId: TWICE }],
    [String.raw`{"\u0065vent":"LatePayment","event":"TransferCreated","networkId":1}`, { event: TWICE }],
    ['{"event":"LatePayment","networkId":1,"eventId":"a","eventId":"b"}', { eventId: TWICE }],
    [
      '{"eventId":"a","event":"LatePayment","event":"LatePayment","networkId":1,"eventId":"a"}',
      { event: TWICE, eventId: TWICE },
    ],
    ['{"event":"LatePayment","networkId":1.00000000000000000001}', { networkId: INEXACT }],
    ['{"event":"LatePayment","networkId":\n0.99999999999999999999 }', { networkId: INEXACT }],
    [String.raw`{"event":"LatePayment","network\u0049d":1.00000000000000000001}`, { networkId: INEXACT }],
    ['{"data":{"networkId":1},"event":"LatePayment","networkId":1e0}', { networkId: INEXACT }],
    ['{"event":"LatePayment","networkId":-0}', { networkId: INEXACT }],
  ])('is 400 for routing fields that a receiver may read in another way: %s', async (body, errors) => {
    const tenant = await createTenant(store.db);
    const app = testApp(store.db);
    const problem = await expectProblem(await call(app, tenant, EVENTS, post(body)), 'invalid_request');
    expect(messagesByName(problem)).toEqual(errors);
    const batch = await call(app, tenant, BATCH, post(body.replace('\n', ' '), 'application/x-ndjson'));
    expect(await batch.json()).toMatchObject({ results: [{ status: 400, code: 'invalid_request' }] });
    expect(await countEvents(store, tenant)).toBe(0);
  });

  test.each([
    '{"event":"LatePayment","networkId":1,"data":{"networkId":2,"networkId":3,"event":"x","eventId":4}}',
    '{"type":"event","event":"LatePayment","kind":"event","networkId":1,"of":"networkId"}',
    '{"list":["event",{"event":1,"networkId":2}],"event":"LatePayment","networkId":1,"text":"{\\"event\\":\\"networkId\\":\\\\"}',
    '{"event" :\t"LatePayment" , "networkId"\n:\r\n1.000 , "eventId": "spaced"}',
    String.raw`{"event":"LatePayment","networkId":1,"memo":"\u00e4 \\u0065vent \"event\":","\u0061":1,"\u0061":2}`,
    String.raw`{"event":"LatePayment","networkId":1,"\\u0065vent":"x","\\u0065vent":"y"}`,
    '{"event":"LatePayment","networkId":9007199254740991}',
    '{"memo":1,"memo":2,"event":"LatePayment","networkId":1}',
  ])('takes the same names as values, in inner objects, and other fields twice: %s', async (body) => {
    const tenant = await createTenant(store.db);
    expect((await call(testApp(store.db), tenant, EVENTS, post(body))).status).toBe(202);
  });

  test('answers more than 256 KiB with 413', async () => {
    const tenant = await createTenant(store.db);
    await expectProblem(await call(testApp(store.db), tenant, EVENTS, post(sized(262_145))), 'body_too_large');
  });

  test.each(['text/plain', 'application/x-ndjson', 'application/json; charset=latin1', ''])(
    'answers %j with 415',
    async (type) => {
      const tenant = await createTenant(store.db);
      await expectProblem(await call(testApp(store.db), tenant, EVENTS, post(valid, type)), 'unsupported_media_type');
    },
  );

  test('answers 429 with what waits, when the backlog of the entity is full, and takes events of another', async () => {
    const [full, other] = [await createTenant(store.db), await createTenant(store.db)];
    for (const { entityId } of [full, other]) await addReceiver(store.db, entityId, 'https://a.example.com/');
    await acceptMany(store.db, full.entityId, 3);
    const app = testApp(store.db, { ENTITY_BACKLOG_LIMIT: '3' });
    const answer = await call(app, full, EVENTS, { json: GOOD });
    expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
    const { detail } = await expectProblem(answer, 'backlog_full');
    expect(detail).toContain('3 deliveries of this entity are waiting');
    expect((await call(app, other, EVENTS, { json: GOOD })).status).toBe(202);
  });

  test('answers 429 when the storage of the entity is used up, for one event and for each line of a batch', async () => {
    const tenant = await createTenant(store.db);
    const app = testApp(store.db, { ENTITY_STORAGE_LIMIT: '1MiB' });
    const large = { ...GOOD, filling: 'x'.repeat(200_000) };
    const statuses: number[] = [];
    for (let sent = 0; sent < 7; sent++) statuses.push((await call(app, tenant, EVENTS, { json: large })).status);
    expect(statuses).toEqual([202, 202, 202, 202, 202, 202, 429]);
    const answer = await call(app, tenant, EVENTS, { json: GOOD });
    expect(answer.headers.get('retry-after')).toBe('3600');
    const { detail } = await expectProblem(answer, 'storage_full');
    expect(detail).toContain('and the limit is 1048576');
    const batch = await call(app, tenant, BATCH, post(JSON.stringify(GOOD), 'application/x-ndjson'));
    expect(await batch.json()).toMatchObject({ results: [{ status: 429, code: 'storage_full' }] });
    expect((await call(app, await createTenant(store.db), EVENTS, { json: GOOD })).status).toBe(202);
    const unlimited = testApp(store.db, { ENTITY_STORAGE_LIMIT: 'off' });
    expect((await call(unlimited, tenant, EVENTS, { json: GOOD })).status).toBe(202);
  });

  test('takes the extra events of the settings', async () => {
    const tenant = await createTenant(store.db);
    const json = { event: 'RefundIssued', networkId: 1 };
    const app = testApp(store.db, { EXTRA_EVENTS: 'RefundIssued' });
    expect((await call(app, tenant, EVENTS, { json })).status).toBe(202);
    await expectProblem(await call(testApp(store.db), tenant, EVENTS, { json }), 'invalid_request');
  });
});

onSuiteEngine('POST /events/batch', (store) => {
  type Result = {
    status: number;
    eventId: string | null;
    deliveries: number | null;
    code: string | null;
    detail: string | null;
  };

  async function send(tenant: Tenant, body: string | Uint8Array<ArrayBuffer>, settings = {}): Promise<Result[]> {
    const answer = await call(testApp(store.db, settings), tenant, BATCH, post(body, 'application/x-ndjson'));
    expect(answer.status).toBe(200);
    return ((await answer.json()) as { results: Result[] }).results;
  }

  test('answers each line on its own, in the order of the lines', async () => {
    const tenant = await createTenant(store.db);
    await addReceiver(store.db, tenant.entityId, 'https://a.example.com/');
    const line = (eventId: string, extra = {}) => JSON.stringify({ ...GOOD, eventId, ...extra });
    const body = bytes(
      `${line('one')}\n`,
      `${line('one')}\r\n`,
      '\n',
      `${line('one', { amount: 5 })}\n`,
      `${line('two', { event: 'Nothing', networkId: 'x' })}\n`,
      'not json\n',
      [0xff, 0x0a],
      `${line('x'.repeat(128), { pad: 'p'.repeat(262_144) })}\n`,
      line('three'),
    );
    const results = await send(tenant, body);
    expect(results.map(({ status, code }) => [status, code])).toEqual([
      [202, null],
      [200, null],
      [409, 'event_conflict'],
      [400, 'invalid_request'],
      [400, 'invalid_json'],
      [400, 'invalid_json'],
      [413, 'body_too_large'],
      [202, null],
    ]);
    expect(results[0]).toEqual({ status: 202, eventId: 'one', deliveries: 1, code: null, detail: null });
    expect(results[3]?.detail).toMatch(/event must be.*networkId must be/s);
    expect(await countEvents(store, tenant)).toBe(2);
  });

  test('keeps the bytes of each line', async () => {
    const tenant = await createTenant(store.db);
    const lines = [
      ' { "event":"LatePayment" , "networkId":1.0,"2":1,"1":123456789012345678901234567890 }\t',
      JSON.stringify(GOOD),
    ];
    await send(tenant, lines.join('\r\n'));
    expect((await storedBodies(store, tenant.entityId)).sort()).toEqual(lines.toSorted());
  });

  test('takes a thousand lines and answers one more with 413', async () => {
    const tenant = await createTenant(store.db);
    const lines = (count: number) => Array.from({ length: count }, () => JSON.stringify(GOOD)).join('\n');
    const results = await send(tenant, lines(1_000));
    expect(results.filter(({ status }) => status === 202)).toHaveLength(1_000);
    const tooMany = await call(testApp(store.db), tenant, BATCH, post(lines(1_001), 'application/x-ndjson'));
    await expectProblem(tooMany, 'body_too_large');
    expect(await countEvents(store, tenant)).toBe(1_000);
  });

  test('answers more than 4 MiB with 413 and another content type with 415', async () => {
    const tenant = await createTenant(store.db);
    const large = await call(testApp(store.db), tenant, BATCH, post(' '.repeat(4_194_305), 'application/x-ndjson'));
    await expectProblem(large, 'body_too_large');
    await expectProblem(await call(testApp(store.db), tenant, BATCH, { json: GOOD }), 'unsupported_media_type');
  });

  test('answers an empty body with no results', async () => {
    expect(await send(await createTenant(store.db), '\n\r\n\n')).toEqual([]);
  });

  test('answers each line with 429 when the backlog is full', async () => {
    const tenant = await createTenant(store.db);
    await addReceiver(store.db, tenant.entityId, 'https://a.example.com/');
    await acceptMany(store.db, tenant.entityId, 3);
    const body = `${JSON.stringify(GOOD)}\n`.repeat(2);
    const results = await send(tenant, body, { ENTITY_BACKLOG_LIMIT: '3' });
    expect(results).toMatchObject(Array(2).fill({ status: 429, code: 'backlog_full' }));
  });
});
