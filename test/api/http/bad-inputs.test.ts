import { beforeAll, describe, expect, test } from 'bun:test';
import type { App } from '../../../src/api/app.ts';
import { MAX_INPUT_ERRORS_SHOWN } from '../../../src/contract/problems.ts';
import { call, createTenant, type Tenant, testApp, WEBHOOKS } from '../../support/api.ts';
import { expectProblem, messagesByName } from '../../support/problems.ts';
import { onSuiteEngine } from '../../support/stores.ts';

const postUrl = 'https://example.com/hook';

/** Each query string with exactly the errors that its 400 contains. */
const BAD_QUERIES: [query: string, errors: Record<string, RegExp>][] = [
  ['limit=0', { limit: /from 1 to 100/ }],
  ['limit=101', { limit: /from 1 to 100/ }],
  ['limit=', { limit: /plain decimal digits/ }],
  ['limit', { limit: /plain decimal digits/ }],
  ['limit=-1', { limit: /plain decimal digits/ }],
  ['limit=2.5', { limit: /plain decimal digits/ }],
  ['limit=1e2', { limit: /plain decimal digits/ }],
  ['limit=0x10', { limit: /plain decimal digits/ }],
  ['limit=%2B5', { limit: /plain decimal digits/ }],
  ['limit=+5', { limit: /plain decimal digits/ }],
  ['limit=%205', { limit: /plain decimal digits/ }],
  ['limit=5%00', { limit: /plain decimal digits/ }],
  ['limit=Infinity', { limit: /plain decimal digits/ }],
  ['limit=NaN', { limit: /plain decimal digits/ }],
  ['limit=99999999999999999999', { limit: /from 1 to 100/ }],
  ['limit=%EF%BC%95', { limit: /plain decimal digits/ }],
  ['page=0', { page: /from 1/ }],
  ['page=-1', { page: /from 1/ }],
  ['page=1.0', { page: /plain decimal digits/ }],
  ['page=9007199254740993', { page: /from 1/ }],
  ['networkId=', { networkId: /plain decimal digits/ }],
  ['networkId=-1', { networkId: /plain decimal digits/ }],
  ['networkId=0x1', { networkId: /plain decimal digits/ }],
  ['networkId=9007199254740992', { networkId: /9007199254740991/ }],
  ['event=', { event: /one of AgreementSignedUp/ }],
  ['event=Nope', { event: /case-sensitive/ }],
  ['event=latepayment', { event: /one of AgreementSignedUp/ }],
  ['event=RefundIssued', { event: /one of AgreementSignedUp/ }],
  ['sortBy=webhookId', { sortBy: /dateCreated, postUrl/ }],
  ['sortBy=posturl', { sortBy: /dateCreated, postUrl/ }],
  ['sortBy=', { sortBy: /dateCreated, postUrl/ }],
  ['sortDir=ASC', { sortDir: /asc, desc/ }],
  ['sortDir=', { sortDir: /asc, desc/ }],
  ['webhookId=', { webhookId: /must not be empty/ }],
  ['webhookId=wh_%00', { webhookId: /NUL/ }],
  ['webhookId=%ff', { webhookId: /percent-encoded UTF-8/ }],
  ['webhookId=%E0%A4%A', { webhookId: /percent-encoded UTF-8/ }],
  ['page=1&page=1', { page: /more than once/ }],
  ['event=LatePayment&event=TransferCreated', { event: /more than once/ }],
  ['sortby=postUrl', { sortby: /did you mean sortBy\?/ }],
  ['networkid=1', { networkid: /did you mean networkId\?/ }],
  ['Limit=1', { Limit: /did you mean limit\?/ }],
  ['colour=red', { colour: /known parameters are webhookId, networkId, event, page, limit, sortBy, sortDir/ }],
  ['__proto__=1', { ['__proto__']: /not a known parameter/ }],
  ['constructor=1', { constructor: /not a known parameter/ }],
  ['page[]=1', { 'page[]': /did you mean page\?/ }],
  ['limit=101&page=0&sortby=postUrl&event=Nope', { limit: /100/, page: /from 1/, sortby: /sortBy\?/, event: /one of/ }],
];

/** Each body with the errors that its 400 contains. */
const BAD_BODIES: [body: unknown, errors: Record<string, RegExp>][] = [
  [{}, { postUrl: /is required/ }],
  [{ postUrl: 7 }, { postUrl: /must be a string/ }],
  [{ postUrl: null }, { postUrl: /must be a string/ }],
  [[], { '': /must be a JSON object/ }],
  [null, { '': /must be a JSON object/ }],
  ['text', { '': /must be a JSON object/ }],
  [{ postUrl, networkIds: 1 }, { networkIds: /array of network ids/ }],
  [{ postUrl, networkIds: [1, '8453'] }, { 'networkIds.1': /whole number/ }],
  [
    { postUrl, networkIds: [-1, 2.5] },
    { 'networkIds.0': /whole number/, 'networkIds.1': /whole number/ },
  ],
  [{ postUrl, events: 'LatePayment' }, { events: /array of event kinds/ }],
  [{ postUrl, events: ['Nope'] }, { 'events.0': /one of AgreementSignedUp/ }],
  [{ postUrl, networkID: [1] }, { networkID: /did you mean networkIds\?/ }],
  [{ postUrl, colour: 'red' }, { colour: /known fields are postUrl, .*networkIds, events/ }],
  [
    { posturl: postUrl, events: ['x'] },
    { postUrl: /is required/, posturl: /postUrl\?/, 'events.0': /one of/ },
  ],
  [
    { postUrl, networkIds: Array.from({ length: 1_001 }, (_, i) => i), events: ['LatePayment'] },
    { networkIds: /1000/ },
  ],
];

const BAD_POST_URLS: [postUrl: string, error: RegExp][] = [
  ['', /is empty/],
  ['example.com/hook', /absolute URL/],
  ['/hook', /absolute URL/],
  ['https://', /absolute URL/],
  ['http://example.com/hook', /https:\/\//],
  ['ftp://example.com/hook', /https:\/\//],
  ['javascript:alert(1)', /absolute URL|https:\/\//],
  [`https://example.com/${'x'.repeat(2_048)}`, /at most 2048/],
  ['https://example.com/a b', /space, a control character or a non-ASCII/],
  ['https://example.com/\n', /space, a control character or a non-ASCII/],
  ['https://example.com/\u0000', /space, a control character or a non-ASCII/],
  ['https://exämple.com/', /space, a control character or a non-ASCII/],
  ['https://user:pass@example.com/', /user information/],
  ['https://example.com/#part', /fragment/],
  ['https://127.0.0.1/', /not public/],
  ['https://2130706433/', /not public/],
  ['https://0x7f.1/', /not public/],
  ['https://017700000001/', /not public/],
  ['https://127.1/', /not public/],
  ['https://0/', /not public/],
  ['https://10.0.0.1/', /not public/],
  ['https://169.254.169.254/', /not public/],
  ['https://168.63.129.16/', /not public/],
  ['https://[::1]/', /not public/],
  ['https://[::ffff:10.0.0.1]/', /not public/],
  ['https://[fe80::1]/', /not public/],
  ['https://localhost/', /local network/],
  ['https://api.localhost/', /local network/],
  ['https://printer.local/', /local network/],
  ['https://metadata.google.internal/', /local network/],
  ['https://intranet/', /local network/],
];

const GOOD_POST_URLS = [
  'https://example.com',
  'HTTPS://EXAMPLE.com:443/Hook?a=b%20c&d=[e]',
  'https://8.8.8.8/hook',
  'https://[2606:4700:4700::1111]/hook',
  'https://xn--exmple-cua.com/',
];

onSuiteEngine('bad input', (store) => {
  let app: App;
  let tenant: Tenant;

  beforeAll(async () => {
    app = testApp(store.db);
    tenant = await createTenant(store.db);
  });

  async function expectErrors(response: Response, where: string, expected: Record<string, RegExp>): Promise<void> {
    const body = await expectProblem(response, 'invalid_request');
    expect(new Set(body.errors?.map((error) => error.in))).toEqual(new Set([where]));
    expect(body.errors?.map(({ name }) => name).sort()).toEqual(Object.keys(expected).sort());
    for (const [name, message] of Object.entries(expected)) expect(messagesByName(body)[name]).toMatch(message);
  }

  test.each(BAD_QUERIES)('GET ?%s is 400 and names every invalid input', async (query, errors) => {
    await expectErrors(await call(app, tenant, `${WEBHOOKS}?${query}`), 'query', errors);
  });

  test.each(BAD_BODIES)('POST of %j is 400 and names every invalid input', async (json, errors) => {
    await expectErrors(await call(app, tenant, WEBHOOKS, { body: JSON.stringify(json), ...asJson }), 'body', errors);
  });

  test.each(BAD_POST_URLS)('POST of the postUrl %j is 400', async (bad, error) => {
    await expectErrors(await call(app, tenant, WEBHOOKS, { json: { postUrl: bad } }), 'body', { postUrl: error });
  });

  test.each(GOOD_POST_URLS)('POST of the postUrl %j is 201 and echoes it exactly', async (good) => {
    const json = { postUrl: good, networkIds: [1], events: ['LatePayment'] };
    const response = await call(app, tenant, WEBHOOKS, { json });
    expect(response.status).toBe(201);
    expect(await response.json()).toMatchObject({ webhooks: [{ postUrl: good }] });
  });

  test('errors of the query and of the body are in one response', async () => {
    const response = await call(app, tenant, `${WEBHOOKS}?page=1&colour=red`, { json: { postUrl: 7 } });
    const { errors = [] } = await expectProblem(response, 'invalid_request');
    expect(errors.map((error) => [error.in, error.name])).toEqual([
      ['query', 'page'],
      ['query', 'colour'],
      ['body', 'postUrl'],
    ]);
  });

  test('a thousand errors are counted, and a bounded number of them shown', async () => {
    const networkIds = Array.from({ length: 1_000 }, () => -1);
    const problem = await expectProblem(
      await call(app, tenant, WEBHOOKS, { json: { postUrl, networkIds } }),
      'invalid_request',
    );
    expect(problem.errors).toHaveLength(MAX_INPUT_ERRORS_SHOWN);
    expect(problem.detail).toStartWith('1000 inputs');
  });

  describe('a body that is not JSON', () => {
    const broken: [string, string | Uint8Array<ArrayBuffer>][] = [
      ['nothing', ''],
      ['half an object', '{"postUrl":'],
      ['a comma too many', '{"postUrl":"x",}'],
      ['single quotes', "{'postUrl':'x'}"],
      ['a byte order mark', '\ufeff{}'],
      ['a NUL', '\0'],
      ['NaN', '{"networkIds":[NaN]}'],
      ['65 levels', `${'['.repeat(65)}${']'.repeat(65)}`],
      ['100,000 levels', '['.repeat(100_000)],
      ['invalid UTF-8', new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
    ];
    test.each(broken)('with %s is 400 invalid_json', async (_name, body) => {
      await expectProblem(await call(app, tenant, WEBHOOKS, { method: 'POST', body, ...asJson }), 'invalid_json');
    });

    test.each(['', ' \n'])('because it is empty (%j) is 400 and says so', async (body) => {
      const response = await call(app, tenant, WEBHOOKS, { method: 'POST', body, ...asJson });
      expect((await expectProblem(response, 'invalid_json')).detail).toBe('The body is empty. Send JSON.');
    });
  });

  test('nothing of all this was registered', async () => {
    const response = await call(app, tenant, WEBHOOKS);
    expect(await response.json()).toMatchObject({ totalResults: GOOD_POST_URLS.length });
  });

  test('with ALLOW_INSECURE_TARGETS http and private addresses are taken, and user information still is not', async () => {
    const insecure = testApp(store.db, { ALLOW_INSECURE_TARGETS: 'true' });
    const other = await createTenant(store.db);
    for (const good of ['http://127.0.0.1:9000/hook', 'http://localhost/hook', 'https://intranet/']) {
      expect((await call(insecure, other, WEBHOOKS, { json: { postUrl: good } })).status).toBe(201);
    }
    await expectProblem(
      await call(insecure, other, WEBHOOKS, { json: { postUrl: 'http://a:b@localhost/' } }),
      'invalid_request',
    );
  });
});

const asJson = { headers: { 'content-type': 'application/json' } };
