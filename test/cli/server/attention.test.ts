import { afterAll, beforeAll, expect, test } from 'bun:test';
import { attentionListSchema } from '../../../src/contract/attention.ts';
import { commandLine } from '../../support/command-line.ts';
import { tempFolder } from '../../support/paybell.ts';
import { startTestService, type TestService } from '../../support/service.ts';
import { createTarget } from '../../support/stores.ts';
import { until } from '../../support/until.ts';

const ADMIN_KEY = 'an-operator-key-of-the-tests-0123456789';

/** The command only uses HTTP, so one engine behind the server is enough. */
let service: TestService;
let remove: () => void;
const folder = tempFolder();

beforeAll(async () => {
  const target = await createTarget('sqlite');
  remove = target.remove;
  service = await startTestService(target.url, { ADMIN_KEY });
});

afterAll(async () => {
  await service[Symbol.asyncDispose]();
  remove();
  folder.remove();
});

const paybell = (args: readonly string[], apiKey = ADMIN_KEY) =>
  commandLine({ PAYBELL_URL: service.client().url, PAYBELL_API_KEY: apiKey, HOME: folder.path })(args);

test('attention --all says in one line that nothing needs attention, then names who does and exits with 1', async () => {
  expect(await paybell(['attention', '--all'])).toMatchObject({
    exitCode: 0,
    stdout: 'Nothing needs attention: 1 entity checked.\n',
  });
  const { entityId, apiKey } = service.first;
  const own = commandLine({
    ...{ PAYBELL_URL: service.client().url, PAYBELL_API_KEY: apiKey, PAYBELL_ENTITY_ID: entityId, HOME: folder.path },
  });
  await own(['webhooks', 'create', 'http://127.0.0.1:9/down', '--networks', '1', '--events', 'LatePayment']);
  await own(['events', 'send', '--sample', 'LatePayment', '--network-id', '1']);
  await until('it fails', async () => (await paybell(['attention', '--all'])).exitCode === 1);
  const { stdout } = await paybell(['attention', '--all']);
  const [headings, row, next] = stdout.split('\n');
  expect(headings).toMatch(/^level +entity-id +failing +suspended/);
  expect(row).toMatch(new RegExp(`^urgent +${entityId} +1 +0 `));
  expect(next).toMatch(new RegExp(`^Next: .* endpoints list --state failing --entity ${entityId}$`));
  const listed = await paybell(['attention', '--all', '--entity', entityId, '--json']);
  expect(listed.exitCode).toBe(1);
  expect(attentionListSchema.parse(JSON.parse(listed.stdout))).toMatchObject({
    needAttention: 1,
    entities: [{ entityId, level: 'urgent', failingEndpoints: 1, waiting: 1 }],
  });
  const other = await paybell(['attention', '--all', '--search', 'nobody']);
  expect(other).toMatchObject({ exitCode: 0, stdout: 'Nothing needs attention: 0 entities checked.\n' });
});

test('attention rejects the key of an entity, and a call without --all', async () => {
  expect((await paybell(['attention', '--all'], service.first.apiKey)).exitCode).toBe(1);
  expect(await paybell(['attention'])).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('--all') });
});
