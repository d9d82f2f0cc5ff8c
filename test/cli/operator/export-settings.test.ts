import { beforeEach, expect, test } from 'bun:test';
import { join } from 'node:path';
import { listWebhooks } from '../../../src/store/webhooks/list.ts';
import { readOptions, replaceOptions } from '../../../src/store/webhooks/options.ts';
import { TEST_CHANGE } from '../../support/api.ts';
import { commandLine, TEST_SECRET_KEY } from '../../support/command-line.ts';
import { configure, endpointsOf } from '../../support/endpoints.ts';
import { onSuiteEngine } from '../../support/stores.ts';
import { listQuery, newEntity, register } from '../../support/webhooks.ts';

const BILLING = 'https://example.com/billing';
const PLAIN = 'https://example.com/plain';
const FILTER = { token: ['0xAb', 'USDC'], amount: { min: '10' } };
const VALUE = 'Bearer-never-exported';

onSuiteEngine('the options of webhooks and the settings of endpoints in an export', (store) => {
  let entityId: string;
  let webhookId: string;
  const paybell = (args: readonly string[], input?: string) =>
    commandLine({ DATABASE_URL: store.url, SECRET_KEY: TEST_SECRET_KEY })(args, input);
  const importInto = (entity: string, input: string, ...more: string[]) =>
    paybell(['import', '--entity', entity, ...more], input);
  const filterOf = async (entity: string, id: string) => (await readOptions(store.db, entity, id))?.filter;

  beforeEach(async () => {
    entityId = await newEntity(store.db);
    const pairs = ['LatePayment', 'TransferProcessed'].map((event) => ({ networkId: 1, event }));
    await register(store.db, entityId, BILLING, pairs);
    await register(store.db, entityId, PLAIN, pairs);
    const { webhooks } = await listWebhooks(store.db, entityId, listQuery({ sortDir: 'asc' }));
    webhookId = webhooks[0]?.webhookId ?? '';
    await replaceOptions(store.db, entityId, webhookId, { filter: FILTER, finality: 12 }, TEST_CHANGE);
    const settings = { name: 'Billing', ordering: 'agreement', paused: true, rateLimit: 50, secret: 'own' } as const;
    const clientCertificate = {
      certificate: VALUE,
      privateKey: VALUE,
      subject: 'CN=a',
      fingerprint: 'A',
      dateExpires: 1,
    };
    const credentials = { headers: { authorization: VALUE }, clientCertificate };
    await configure(store.db, entityId, BILLING, { ...settings, ...credentials });
  });

  test('are in JSON Lines, without values of headers and secrets, and the output says so', async () => {
    const { stdout, stderr, exitCode } = await paybell(['export', '--entity', entityId]);
    expect(exitCode).toBe(0);
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines).toHaveLength(5);
    expect(lines[0]).toMatchObject({ webhookId, options: { finality: 12, filter: FILTER } });
    expect(Object.keys(lines[1])).toEqual(['webhookId', 'networkId', 'event', 'postUrl', 'dateCreated']);
    expect(lines[4]).toEqual({
      endpoint: {
        postUrl: BILLING,
        name: 'Billing',
        ordering: 'agreement',
        paused: true,
        rateLimit: 50,
        headerNames: ['authorization'],
      },
    });
    expect(stdout).not.toContain(VALUE);
    expect(stdout).not.toContain('whsec_');
    expect(stderr).toContain('Header values are never exported: set them again for 1 URL.');
    expect(stderr).toContain('Secrets are never exported: 1 URL with an own secret.');
    expect(stderr).toContain('Client certificates are never exported: set them again for 1 URL.');
  });

  test('are imported into another entity, once, with a note about headers', async () => {
    const { stdout: file } = await paybell(['export', '--entity', entityId]);
    const copy = await newEntity(store.db);
    const dry = await importInto(copy, file, '--dry-run');
    expect(dry.stdout).toStartWith(
      '5 lines: 4 webhooks would be imported, 0 already registered, 0 rejected.\nSettings of 1 URL would be imported.\n',
    );
    expect(await endpointsOf(store.db, copy)).toEqual([]);
    const imported = await importInto(copy, file);
    expect(imported).toEqual({
      exitCode: 0,
      stdout: '5 lines: 4 webhooks imported, 0 already registered, 0 rejected.\nSettings of 1 URL imported.\n',
      stderr: `line 5: set the headers of ${BILLING} again, their values are not in the file: authorization\n`,
    });
    expect(await readOptions(store.db, copy, webhookId)).toEqual({ finality: 12, filter: FILTER });
    const settings = { name: 'Billing', ordering: 'agreement', paused: true, rateLimit: 50, secret: 'entity' };
    expect(await endpointsOf(store.db, copy)).toMatchObject([
      { postUrl: BILLING, state: 'paused', headerNames: [], ...settings },
      { postUrl: PLAIN, state: 'active', name: null, ordering: 'none', rateLimit: null },
    ]);
    const again = JSON.parse((await importInto(copy, file, '--json')).stdout);
    expect(again).toMatchObject({ created: 0, existing: 4, endpoints: 0, refused: 0 });
    const dryAgain = JSON.parse((await importInto(copy, file, '--json', '--dry-run')).stdout);
    expect(dryAgain).toMatchObject({ created: 0, existing: 4, endpoints: 0, refused: 0 });
  });

  test('keep a finality by amount, and reject one that is wrong with its line and its part', async () => {
    const finality = {
      rules: [{ maxAmount: '50', tokens: ['usd' as const], finality: 'seen' as const }],
      otherwise: 12,
    };
    const { webhooks } = await listWebhooks(store.db, entityId, listQuery({ sortDir: 'asc' }));
    const ofTransfers = webhooks.find(({ event }) => event === 'TransferProcessed')?.webhookId ?? '';
    await replaceOptions(store.db, entityId, ofTransfers, { filter: null, finality }, TEST_CHANGE);
    const { stdout: file } = await paybell(['export', '--entity', entityId]);
    const copy = await newEntity(store.db);
    expect((await importInto(copy, file)).exitCode).toBe(0);
    expect(await readOptions(store.db, copy, ofTransfers)).toEqual({ finality, filter: null });
    const wrong = { ...finality, rules: [{ maxAmount: 50, tokens: ['usd'], finality: 'seen' }] };
    const line = { networkId: 1, event: 'TransferProcessed', postUrl: PLAIN, options: { finality: wrong } };
    const refused = await importInto(await newEntity(store.db), JSON.stringify(line));
    expect(refused.stderr).toContain(
      'line 1: options.finality.rules.0.maxAmount must be a decimal above 0 as a string',
    );
  });

  test('name the headers that no endpoint may have', async () => {
    const copy = await newEntity(store.db);
    const webhook = { event: 'TransferCreated', networkId: 1, postUrl: BILLING };
    const endpoint = { postUrl: BILLING, headerNames: ['x_gate', 'webhook_id', 'Host'] };
    const file = `${JSON.stringify(webhook)}\n${JSON.stringify({ endpoint })}`;
    const { exitCode, stderr } = await importInto(copy, file);
    expect({ exitCode, stderr }).toEqual({
      exitCode: 0,
      stderr:
        `line 2: set the headers of ${BILLING} again, their values are not in the file: x_gate\n` +
        `line 2: Paybell rejects these header names of ${BILLING}, choose others: webhook_id, Host\n`,
    });
  });

  test('of version 0.2 are imported, because its stores cannot be opened', async () => {
    const file = await Bun.file(join(import.meta.dir, 'fixtures/webhooks-of-0.2.jsonl')).text();
    const copy = await newEntity(store.db);
    expect(await importInto(copy, file)).toEqual({
      exitCode: 0,
      stdout: '5 lines: 4 webhooks imported, 0 already registered, 0 rejected.\nSettings of 1 URL imported.\n',
      stderr: '',
    });
    const { webhooks } = await listWebhooks(store.db, copy, listQuery({ sortDir: 'asc' }));
    const lines = file.trim().split('\n');
    const exported = lines.slice(0, 4).map((line) => JSON.parse(line));
    expect(webhooks).toEqual(exported.map(({ options: _, ...webhook }) => webhook));
    const options = await readOptions(store.db, copy, exported[0].webhookId);
    expect(options).toEqual({ finality: 12, filter: FILTER });
    const settings = { name: 'Billing', ordering: 'agreement', rateLimit: 50, state: 'paused' };
    expect((await endpointsOf(store.db, copy))[0]).toMatchObject({ postUrl: BILLING, ...settings });
  });

  test('do not change an endpoint that has settings, nor a filter that is there', async () => {
    const changed = (await paybell(['export', '--entity', entityId])).stdout
      .replace('"rateLimit":50', '"rateLimit":7')
      .replace('"min":"10"', '"min":"11"');
    expect((await importInto(entityId, changed, '--json')).exitCode).toBe(0);
    expect((await endpointsOf(store.db, entityId))[0]).toMatchObject({ rateLimit: 50, headerNames: ['authorization'] });
    expect(await filterOf(entityId, webhookId)).toEqual(FILTER);
  });

  test('are left out of CSV with a warning, and a file of an earlier version is imported as before', async () => {
    const csv = await paybell(['export', '--entity', entityId, '--format', 'csv']);
    expect(csv.stdout.split('\n')[0]).toBe('webhookId,networkId,event,postUrl,dateCreated');
    expect(csv.stderr).toContain(
      'CSV has no options of webhooks and no settings of URLs: left out of 1 webhook and 1 URL',
    );
    const copy = await newEntity(store.db);
    const earlier =
      '{"webhookId":"wh_1","networkId":1,"event":"LatePayment","postUrl":"https://example.com/a","dateCreated":1}\n';
    expect((await importInto(copy, earlier)).stdout).toBe(
      '1 line: 1 webhook imported, 0 already registered, 0 rejected.\n',
    );
    expect(await filterOf(copy, 'wh_1')).toBeNull();
  });

  test('with errors are refused by line, and the other lines are imported', async () => {
    const webhook = { networkId: 1, event: 'LatePayment', postUrl: 'https://example.com/new' };
    const input = [
      { ...webhook, options: { filter: { amount: { min: 'ten' } } } },
      { endpoint: { postUrl: 'https://example.com/nowhere', paused: true } },
      { endpoint: { postUrl: PLAIN, rateLimit: 0, ordering: 'transfer', headers: { a: 'b' } } },
      { endpoint: { postUrl: PLAIN, name: 'Plain' } },
      { ...webhook, event: 'TransferFinalized', options: { finality: 'seen' } },
      { ...webhook, options: { finality: 'safe' } },
    ];
    const { stdout, stderr } = await importInto(
      entityId,
      input.map((line) => JSON.stringify(line)).join('\n'),
      '--json',
    );
    expect(JSON.parse(stdout)).toMatchObject({ lines: 6, created: 1, endpoints: 1, refused: 4 });
    const refused = stderr
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { line: number; reason: string });
    expect(refused.map(({ line }) => line)).toEqual([1, 2, 3, 5]);
    expect(refused[0]?.reason).toContain('options.filter.amount.min must be a decimal');
    expect(refused[1]?.reason).toContain('has no webhook; import its webhooks first');
    expect(refused[3]?.reason).toContain('options.finality must be "final" for TransferFinalized');
    for (const part of ['endpoint.rateLimit must be', 'endpoint.ordering must be one of', 'endpoint.headers is not']) {
      expect(refused[2]?.reason).toContain(part);
    }
    const plain = (await endpointsOf(store.db, entityId)).find(({ postUrl }) => postUrl === PLAIN);
    expect(plain).toMatchObject({ name: 'Plain', paused: false });
  });
});
