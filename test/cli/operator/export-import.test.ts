import { beforeEach, expect, test } from 'bun:test';
import { auditListQuerySchema } from '../../../src/contract/audit.ts';
import { MAX_WEBHOOKS_PER_CELL } from '../../../src/contract/webhooks/limits.ts';
import type { Webhook } from '../../../src/contract/webhooks.ts';
import { listAudit } from '../../../src/store/tenants/audit.ts';
import { rotateSecret } from '../../../src/store/tenants/secrets.ts';
import { walkWebhooks } from '../../../src/store/webhooks/export.ts';
import { countMatches, listWebhooks } from '../../../src/store/webhooks/list.ts';
import { TEST_BOX } from '../../support/api.ts';
import { commandLine, TEST_SECRET_KEY } from '../../support/command-line.ts';
import { dumpRows } from '../../support/dump.ts';
import { onSuiteEngine } from '../../support/stores.ts';
import { listQuery, NOW_S, newEntity, register, seedWebhooks } from '../../support/webhooks.ts';

const AWKWARD_URLS = ['https://example.com/a,b', 'https://example.com/say"x"?q=1,2', "https://example.com/'quoted'"];

function jsonLines(...values: unknown[]): string {
  return values.map((value) => `${JSON.stringify(value)}\n`).join('');
}

function webhookLine(more: Partial<Webhook> = {}): Partial<Webhook> {
  return { networkId: 1, event: 'LatePayment', postUrl: 'https://example.com/hook', ...more };
}

onSuiteEngine('export and import', (store) => {
  let entityId: string;
  const paybell = (args: readonly string[], input?: string | Uint8Array, settings: Record<string, string> = {}) =>
    commandLine({ DATABASE_URL: store.url, SECRET_KEY: TEST_SECRET_KEY, ...settings })(args, input);
  const importInto = (entity: string, input: string | Uint8Array, ...more: string[]) =>
    paybell(['import', '--entity', entity, ...more], input, { ENTITY_WEBHOOK_LIMIT: '100000' });
  /** Leaves room for that many more of one network and event. */
  const seedAllBut = (room: number) =>
    seedWebhooks(
      store.db,
      entityId,
      Array.from({ length: MAX_WEBHOOKS_PER_CELL - room }, (_, index) => ({
        networkId: 1,
        event: 'LatePayment',
        postUrl: `https://example.com/seeded/${index}`,
      })),
    );
  const allOf = async (entity: string) => (await Array.fromAsync(walkWebhooks(store.db, entity))).flat();
  const auditOf = async (entity: string) =>
    (await listAudit(store.db, entity, auditListQuerySchema.parse({ action: 'webhooks.imported' }))).audit;

  beforeEach(async () => {
    entityId = await newEntity(store.db);
  });

  for (const format of ['jsonl', 'csv']) {
    test(`a round trip as ${format} gives an equal list, with ids, dates and order`, async () => {
      for (const [index, postUrl] of AWKWARD_URLS.entries()) {
        const pairs = [8453, 1].map((networkId) => ({ networkId, event: 'TransferFinalized' }));
        await register(store.db, entityId, postUrl, pairs, { nowS: NOW_S + index * 100 });
      }
      const copy = await newEntity(store.db);
      // A later write to the copy that is no webhook must not spoil the dates.
      await rotateSecret(store.db, TEST_BOX, copy, 1, { actor: 'test', nowS: NOW_S + 50_000 });
      const exported = await paybell(['export', '--entity', entityId, '--format', format]);
      expect(exported.exitCode).toBe(0);
      const imported = await importInto(copy, exported.stdout, '--format', format);
      expect(imported).toEqual({
        exitCode: 0,
        stdout: '6 lines: 6 webhooks imported, 0 already registered, 0 rejected.\n',
        stderr: '',
      });
      const sorted = listQuery({ sortDir: 'asc' });
      const original = await listWebhooks(store.db, entityId, sorted);
      expect(original.totalResults).toBe(6);
      expect(await listWebhooks(store.db, copy, sorted)).toEqual(original);
      const again = await paybell(['export', '--entity', copy, '--format', format]);
      expect(again.stdout).toBe(exported.stdout);
    });
  }

  test('takes the list of another service as it is: whole, page by page or laid out, newest first, in milliseconds', async () => {
    const dates = [1_700_000_120, 1_700_000_060, 1_700_000_000];
    const webhooks = dates.map((date, index) =>
      webhookLine({ webhookId: `wh-${index}`, networkId: index, dateCreated: date * 1000 + 7 }),
    );
    const list = { totalResults: 3, webhooks };
    const pages = webhooks.map((webhook) => ({ totalResults: 3, webhooks: [webhook] }));
    for (const input of [
      JSON.stringify(list),
      JSON.stringify(list, null, 2),
      jsonLines(...pages),
      JSON.stringify(webhooks),
    ]) {
      const entity = await newEntity(store.db);
      const imported = await importInto(entity, input, '--format', 'json');
      expect(imported.stdout).toBe('3 lines: 3 webhooks imported, 0 already registered, 0 rejected.\n');
      expect((await allOf(entity)).map(({ webhookId, dateCreated }) => [webhookId, dateCreated])).toEqual([
        ['wh-2', 1_700_000_000],
        ['wh-1', 1_700_000_060],
        ['wh-0', 1_700_000_120],
      ]);
    }
    const broken = await importInto(entityId, '{"webhooks":[', '--format', 'json');
    expect([broken.exitCode, broken.stderr]).toEqual([1, expect.stringContaining('the list is not valid JSON')]);
    const wrong = await importInto(
      entityId,
      JSON.stringify({ webhooks: [{ ...webhooks[0], dateCreated: 9e15 }] }),
      '--format',
      'json',
    );
    expect([wrong.exitCode, wrong.stderr]).toEqual([
      1,
      expect.stringContaining('line 1: dateCreated must be Unix time'),
    ]);
  });

  test('CSV may leave out ids and dates and name its columns in any order', async () => {
    const csv = 'postUrl,event,networkId\r\n"https://example.com/a,b",LatePayment,10\r\n';
    expect((await importInto(entityId, csv, '--format', 'csv')).exitCode).toBe(0);
    expect(await allOf(entityId)).toMatchObject([{ postUrl: 'https://example.com/a,b', networkId: 10 }]);
  });

  test('every refused line is reported with its number and reason, and the others are imported', async () => {
    const input = [
      JSON.stringify(webhookLine()),
      '',
      '{"networkId":',
      JSON.stringify(webhookLine({ postUrl: 'http://example.com/plain' })),
      JSON.stringify({ ...webhookLine({ event: 'latePayment' }), postURL: 'x' }),
      JSON.stringify(webhookLine({ networkId: 2 ** 53 })),
      JSON.stringify(webhookLine({ networkId: 2, webhookId: 'not an id' })),
      JSON.stringify(webhookLine({ networkId: 2, dateCreated: 99_999_999_999 })),
      'x'.repeat(600_000),
      JSON.stringify(webhookLine({ networkId: 2 })),
    ].join('\n');
    const { exitCode, stdout, stderr } = await importInto(entityId, input, '--json');
    expect(exitCode).toBe(1);
    expect(JSON.parse(stdout)).toEqual({
      entityId,
      dryRun: false,
      lines: 9,
      created: 2,
      existing: 0,
      endpoints: 0,
      refused: 7,
    });
    const refused: { line: number; reason: string }[] = stderr
      .trim()
      .split('\n')
      .map((text) => JSON.parse(text));
    expect(refused).toEqual([
      { line: 3, reason: 'is not valid JSON' },
      { line: 4, reason: expect.stringMatching(/^postUrl has a scheme/) },
      { line: 5, reason: expect.stringMatching(/^event must be one of .*; postURL is not a known field/) },
      { line: 6, reason: expect.stringMatching(/^networkId must be/) },
      { line: 7, reason: expect.stringMatching(/^webhookId must be/) },
      { line: 8, reason: expect.stringMatching(/^dateCreated must be .* not in the future/) },
      { line: 9, reason: 'is longer than 524288 bytes' },
    ]);
    expect(await allOf(entityId)).toMatchObject([{ networkId: 1 }, { networkId: 2 }]);
    const forPeople = await importInto(entityId, '{\n');
    expect(forPeople.stderr).toBe('line 1: is not valid JSON\n');
  });

  test('settings widen what a line may hold, as they do for a registration', async () => {
    const input = jsonLines(webhookLine({ postUrl: 'http://127.0.0.1:9/hook', event: 'RefundIssued' }));
    const settings = { ALLOW_INSECURE_TARGETS: 'true', EXTRA_EVENTS: 'RefundIssued' };
    expect((await importInto(entityId, input)).exitCode).toBe(1);
    expect((await paybell(['import', '--entity', entityId], input, settings)).exitCode).toBe(0);
  });

  test('what is registered already is counted and left as it is, in the file and in the store', async () => {
    const input = jsonLines(webhookLine({ webhookId: 'first' }), webhookLine({ webhookId: 'second' }));
    expect((await importInto(entityId, input)).stdout).toContain(
      '1 webhook imported, 1 already registered, 0 rejected',
    );
    expect((await importInto(entityId, input)).stdout).toContain(
      '0 webhooks imported, 2 already registered, 0 rejected',
    );
    expect((await allOf(entityId)).map(({ webhookId }) => webhookId)).toEqual(['first']);
    expect(await countMatches(store.db, entityId, {})).toBe(1);
  });

  test('an id of another registration is refused, and the same id in another entity is not', async () => {
    await importInto(entityId, jsonLines(webhookLine({ webhookId: 'taken' })));
    const input = jsonLines(webhookLine({ webhookId: 'taken', networkId: 10 }));
    const { exitCode, stderr } = await importInto(entityId, input);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^line 1: webhookId taken belongs to another registration/);
    expect((await importInto(await newEntity(store.db), input)).exitCode).toBe(0);
  });

  test('the limit of one network and event holds across batches, and the counters stay true', async () => {
    await seedAllBut(1_000);
    const urls = Array.from({ length: 1_002 }, (_, index) => webhookLine({ postUrl: `https://example.com/${index}` }));
    const { exitCode, stdout, stderr } = await importInto(entityId, jsonLines(...urls));
    expect(exitCode).toBe(1);
    expect(stdout).toContain('1000 webhooks imported');
    expect(stderr.match(/^line \d+/gm)).toEqual(['line 1001', 'line 1002']);
    expect(await countMatches(store.db, entityId, { networkId: 1 })).toBe(MAX_WEBHOOKS_PER_CELL);
    const { totalResults } = await listWebhooks(store.db, entityId, listQuery({ networkId: 1 }));
    expect(totalResults).toBe(MAX_WEBHOOKS_PER_CELL);
  });

  test('the limit of the entity refuses the lines beyond it', async () => {
    const input = jsonLines(...[1, 2, 3].map((networkId) => webhookLine({ networkId })));
    const limited = await paybell(['import', '--entity', entityId], input, { ENTITY_WEBHOOK_LIMIT: '2' });
    expect(limited.exitCode).toBe(1);
    expect(limited.stderr).toMatch(/^line 3: .*ENTITY_WEBHOOK_LIMIT/);
    expect(await countMatches(store.db, entityId, {})).toBe(2);
  });

  test('a dry run reports what the import then does, across batches, and changes nothing', async () => {
    await seedAllBut(1_000);
    await register(store.db, entityId, 'https://example.com/0', [{ networkId: 1, event: 'LatePayment' }]);
    const many = Array.from({ length: 1_100 }, (_, index) => webhookLine({ postUrl: `https://example.com/${index}` }));
    const input = jsonLines(...many, ...many.slice(0, 2), webhookLine({ networkId: -1 }));
    const before = await dumpRows(store);
    const rehearsed = await importInto(entityId, input, '--dry-run', '--json');
    expect(await dumpRows(store)).toBe(before);
    expect(await auditOf(entityId)).toEqual([]);
    const real = await importInto(entityId, input, '--json');
    expect(JSON.parse(rehearsed.stdout)).toEqual({ ...JSON.parse(real.stdout), dryRun: true });
    expect(rehearsed.stderr).toBe(real.stderr);
    expect(JSON.parse(real.stdout)).toMatchObject({ created: 999, existing: 3, refused: 101 });
  });

  test('an import leaves one row in the audit, with its counts, however many batches it took', async () => {
    const networks = Array.from({ length: 2_500 }, (_, index) => webhookLine({ networkId: index }));
    await importInto(entityId, jsonLines(...networks, {}));
    const [row, ...others] = await auditOf(entityId);
    expect(others).toEqual([]);
    expect(row).toMatchObject({
      actor: 'cli',
      target: entityId,
      before: null,
      after: { lines: 2_501, created: 2_500, existing: 0, endpoints: 0, refused: 1 },
    });
  });

  test('an unknown entity fails, and a wrong format or header is told apart from a refused line', async () => {
    expect(await importInto('ent_none', '')).toMatchObject({
      exitCode: 1,
      stderr: 'error: there is no entity ent_none\n',
    });
    expect((await paybell(['export', '--entity', 'ent_none'])).exitCode).toBe(1);
    expect((await importInto(entityId, '', '--format', 'xml')).exitCode).toBe(2);
    expect((await paybell(['import'])).exitCode).toBe(2);
    const headless = await importInto(entityId, '1,LatePayment,https://example.com\n', '--format', 'csv');
    expect(headless).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('must name its columns') });
  });
});
