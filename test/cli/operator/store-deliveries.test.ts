import { beforeAll, describe, expect, test } from 'bun:test';
import { redeliverySchema } from '../../../src/contract/deliveries/redelivery.ts';
import { deliveryDetailSchema, deliveryListSchema, deliverySchema } from '../../../src/contract/deliveries.ts';
import { suspendWebhook } from '../../../src/store/webhooks/suspension.ts';
import { TEST_CHANGE } from '../../support/api.ts';
import {
  type CommandLine,
  type CommandOutcome,
  commandLine,
  commandProcess,
  TEST_SECRET_KEY,
} from '../../support/command-line.ts';
import {
  acceptMany,
  HOOK,
  newReceiver,
  readDeliveries,
  respondedWith,
  ScriptedSender,
  withEngine,
} from '../../support/deliveries.ts';
import { Ledger } from '../../support/ledger.ts';
import { startTestService } from '../../support/service.ts';
import { onSuiteEngine } from '../../support/stores.ts';
import { until } from '../../support/until.ts';

const EVIL = 'no \x1b]0;owned\x07\x1b[2J\u009b31m way';

onSuiteEngine('paybell store deliveries', (store) => {
  let entityId: string;
  let webhookId: string;
  let ids: string[];
  let paybell: CommandLine;
  const deliveries = (command: string, ...more: string[]): Promise<CommandOutcome> =>
    paybell(['store', 'deliveries', command, '--entity', entityId, ...more]);
  const cells = (line: string | undefined) => (line ?? '').split(/ {2,}/);

  beforeAll(async () => {
    paybell = commandLine({ DATABASE_URL: store.url, SECRET_KEY: TEST_SECRET_KEY });
    ({ entityId, webhookId } = await newReceiver(store.db));
    const events = await acceptMany(store.db, entityId, 3);
    const bad = events[1]?.eventId;
    const sender = new ScriptedSender(({ headers }) =>
      headers['paybell-event-id'] === bad ? respondedWith(500, { body: EVIL }) : respondedWith(200, { body: 'ok' }),
    );
    await withEngine(
      store.db,
      sender,
      () => until('all are settled', async () => (await states()).every((state) => state !== 'pending')),
      { settings: { RETRY_SCHEDULE: '0s' } },
    );
    ids = (await readDeliveries(store.db, entityId)).map(({ deliveryId }) => deliveryId);
  });

  const states = async () => (await readDeliveries(store.db, entityId)).map(({ status }) => status);
  const owed = async (): Promise<number[]> => {
    return (await readDeliveries(store.db, entityId)).map(({ redeliver }) => redeliver);
  };

  test('list prints a table, newest first, and narrows by state', async () => {
    const { exitCode, stdout, stderr } = await deliveries('list', '--sort-dir', 'asc');
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    const [headings, first, second] = stdout.split('\n').map(cells);
    expect(headings).toEqual([
      'delivery-id',
      'event',
      'payment',
      'status',
      'waits for',
      'attempts',
      'result',
      'created',
      'url',
    ]);
    const date = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    expect(first).toEqual([ids[0], 'LatePayment', '–', 'delivered', '–', '1', '200', date, HOOK]);
    expect(second).toEqual([ids[1], 'LatePayment', '–', 'failed', '–', '1', '500', date, HOOK]);
    const failed = (await deliveries('list', '--status', 'failed')).stdout.trimEnd().split('\n');
    expect(failed.slice(1).map((line) => cells(line)[0])).toEqual([ids[1] ?? '']);
    expect((await deliveries('list', '--status', 'held')).stdout).toBe('No deliveries match.\n');
  });

  test('list --json prints the response of GET /deliveries', async () => {
    const { stdout } = await deliveries('list', '--json', '--webhook-id', webhookId, '--limit', '2');
    const found = deliveryListSchema.parse(JSON.parse(stdout));
    expect([found.totalResults, found.deliveries.length]).toEqual([3, 2]);
  });

  test('show prints the delivery and its attempts, and lets no receiver steer the terminal', async () => {
    const { exitCode, stdout } = await deliveries('show', ids[1] ?? '');
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(new RegExp(`^delivery +${ids[1]}$`, 'm'));
    expect(stdout).toMatch(/^status +failed$/m);
    expect(stdout).toMatch(/^body +\{"eventId":.*\}$/m);
    expect(stdout).toMatch(/^1 +first +\S+Z +\d+ +500 +no .*way/m);
    expect(stdout.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
  });

  test('show --json prints the response of GET /deliveries/{deliveryId}, byte for byte', async () => {
    const { stdout } = await deliveries('show', ids[1] ?? '', '--json');
    const found = deliveryDetailSchema.parse(JSON.parse(stdout));
    expect(found.attemptLog.map(({ kind, response }) => [kind, response])).toEqual([['first', EVIL]]);
  });

  test('redeliver --dry-run counts one or many and sends none', async () => {
    const counted = async (...args: string[]) => (await deliveries('redeliver', '--dry-run', ...args)).stdout;
    expect(await counted('--status', 'delivered')).toBe('2 deliveries would be sent again.\n');
    expect(await counted('--status', 'failed')).toBe('1 delivery would be sent again.\n');
    expect(await counted(ids[0] ?? '', '--json')).toBe('{"totalResults":1}\n');
    expect(await owed()).toEqual([0, 0, 0]);
  });

  test('redeliver of one queues it', async () => {
    const { exitCode, stdout } = await deliveries('redeliver', ids[0] ?? '');
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: `${ids[0]} is queued to be sent again.\n` });
    const { stdout: json } = await deliveries('redeliver', ids[0] ?? '', '--json');
    expect(deliverySchema.parse(JSON.parse(json)).deliveryId).toBe(ids[0] ?? '');
    expect(await owed()).toEqual([2, 0, 0]);
  });

  test('what is not there fails, and so does what has nowhere to go', async () => {
    for (const args of [
      ['show', 'dlv_none'],
      ['redeliver', 'dlv_none', '--dry-run'],
    ]) {
      const { exitCode, stderr } = await deliveries(args[0] ?? '', ...args.slice(1));
      expect([exitCode, stderr]).toEqual([1, expect.stringContaining('There is no delivery with this id')]);
    }
    const noEntity = await paybell(['store', 'deliveries', 'list', '--entity', 'ent_none']);
    expect([noEntity.exitCode, noEntity.stderr]).toEqual([1, expect.stringContaining('ent_none')]);
    const receiver = await newReceiver(store.db);
    await acceptMany(store.db, receiver.entityId, 1);
    await suspendWebhook(store.db, receiver.entityId, receiver.webhookId, 'gone', TEST_CHANGE);
    const held = (await readDeliveries(store.db, receiver.entityId))[0]?.deliveryId ?? '';
    const refused = await paybell(['store', 'deliveries', 'redeliver', held, '--entity', receiver.entityId]);
    expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining('suspended')]);
  });
});

describe('paybell store deliveries', () => {
  // Found before any store is opened.
  const paybell = commandLine({ DATABASE_URL: 'sqlite:/nowhere/paybell.db' });

  test.each([
    [['list', '--status', 'Failed'], /--status/],
    [['list', '--limit', '0', '--sort-by', 'url'], /--limit[\s\S]*--sort-by/],
    [['redeliver', '--dry-run'], /at least one filter/],
    [['redeliver', 'dlv_1', '--status', 'failed'], /not both/],
    [['redeliver', '--state', 'failed'], /unknown option/],
  ] as [[string, ...string[]], RegExp][])('%j is wrong usage and says why', async ([command, ...more], message) => {
    const { exitCode, stdout, stderr } = await paybell(['store', 'deliveries', command, '--entity', 'ent_1', ...more]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toMatch(message);
  });
});

onSuiteEngine('a receiver that was broken', (store) => {
  test('gets all failed deliveries once it is fixed: listed, counted, sent again and logged', async () => {
    await using receiver = new Ledger(() => new Response('out of order', { status: 500 }));
    await using service = await startTestService(store.url, { RETRY_SCHEDULE: '0s', DESTINATION_CONCURRENCY: '4' });
    const client = service.client();
    const paybell = commandProcess({ DATABASE_URL: store.url, SECRET_KEY: TEST_SECRET_KEY });
    const deliveries = (command: string, ...more: string[]) =>
      paybell([
        'store',
        'deliveries',
        command,
        '--entity',
        service.first.entityId,
        '--status',
        'failed',
        '--json',
        ...more,
      ]);
    await client.register(receiver.url());
    const events = await Promise.all(Array.from({ length: 30 }, () => client.send({})));
    const failed = async () => JSON.parse((await deliveries('list', '--limit', '100')).stdout);
    await until('all have failed', async () => (await failed()).totalResults === 30);
    const { deliveries: listed } = await failed();
    expect(new Set(listed.map(({ lastStatusCode }: { lastStatusCode: number }) => lastStatusCode))).toEqual(
      new Set([500]),
    );

    receiver.reply = () => new Response('ok');
    expect((await deliveries('redeliver', '--dry-run')).stdout).toBe('{"totalResults":30}\n');
    expect(receiver.requests).toHaveLength(30);
    const { exitCode, stdout } = await deliveries('redeliver');
    expect([exitCode, redeliverySchema.parse(JSON.parse(stdout))]).toEqual([
      0,
      {
        redeliveryId: expect.any(String),
        status: 'finished',
        totalResults: 30,
        queued: 30,
        skipped: 0,
        sent: 30,
        delivered: 30,
        failed: 0,
        waiting: 0,
        dateCreated: expect.any(Number),
        dateFinished: expect.any(Number),
      },
    ]);
    expect(receiver.requests).toHaveLength(60);
    expect(new Set(receiver.requests.slice(30).map(({ eventId }) => eventId))).toEqual(
      new Set(events.map(({ eventId }) => eventId)),
    );
    expect((await failed()).totalResults).toBe(0);
    for (const { deliveryId } of listed.slice(0, 3)) {
      const detail = deliveryDetailSchema.parse(
        await (await client.request('GET', `/deliveries/${deliveryId}`)).json(),
      );
      expect([detail.status, detail.attemptLog.map(({ kind }) => kind)]).toEqual([
        'delivered',
        ['first', 'redelivery'],
      ]);
    }
  });
});
