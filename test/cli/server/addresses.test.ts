import { afterAll, beforeEach, expect, test } from 'bun:test';
import { addressChangeSchema, addressListSchema } from '../../../src/contract/chain/addresses.ts';
import { commandLine } from '../../support/command-line.ts';
import { tempFolder } from '../../support/paybell.ts';

const SOURCE = 'src_0199c2a6e0b17d3c8a54f1e2d3c4b5a6';
const PATH = `/api/v1/crypto/sources/${SOURCE}/addresses`;
const folder = tempFolder();
const requests: { method: string; path: string; body: unknown }[] = [];

const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch: async (request) => {
    const { pathname, search } = new URL(request.url);
    const text = await request.text();
    requests.push({ method: request.method, path: pathname + search, body: text === '' ? null : JSON.parse(text) });
    if (request.method === 'GET') return Response.json(addressListSchema.meta()?.example);
    const isRemoval = request.method === 'DELETE';
    const change = { added: isRemoval ? 0 : 1_000, changed: 1, removed: isRemoval ? 1 : 0, addressCount: 1_001 };
    const blocks = { fromBlock: isRemoval ? null : 7, untilBlock: isRemoval ? 9 : null };
    return Response.json(addressChangeSchema.parse({ ...change, ...blocks }));
  },
});

const paybell = commandLine({
  PAYBELL_URL: server.url.origin,
  PAYBELL_ENTITY_ID: 'ent_1',
  PAYBELL_API_KEY: 'pbk_1',
  HOME: folder.path,
});

beforeEach(() => {
  requests.length = 0;
});
afterAll(async () => {
  await server.stop(true);
  folder.remove();
});

const addressOf = (number: number) => `0x${number.toString(16).padStart(40, '0')}`;

test('sources addresses add sends the lines of a file, 1,000 in a request', async () => {
  const file = `${folder.path}/addresses.csv`;
  const lines = Array.from({ length: 1_001 }, (_, number) => addressOf(number + 1));
  lines[0] += ', agr_7012 ,order 8412, blue';
  lines[1] += ',,order 8413';
  await Bun.write(file, `${lines.join('\n')}\n\n`);
  const { exitCode, stdout } = await paybell(['sources', 'addresses', 'add', SOURCE, '--file', file]);
  expect(exitCode).toBe(0);
  expect(requests.map(({ method, path }) => `${method} ${path}`)).toEqual([`POST ${PATH}`, `POST ${PATH}`]);
  const [first, second] = requests.map(({ body }) => (body as { addresses: object[] }).addresses);
  expect(first?.slice(0, 3)).toEqual([
    { address: addressOf(1), agreementId: 'agr_7012', reference: 'order 8412,blue' },
    { address: addressOf(2), reference: 'order 8413' },
    { address: addressOf(3) },
  ]);
  expect([first?.length, second]).toEqual([1_000, [{ address: addressOf(1_001) }]]);
  expect(stdout).toBe(
    '2000 addresses added, 2 changed. Payments count from block 7 on.\nThe book has 1001 addresses.\n',
  );
});

test('sources addresses remove and list', async () => {
  const removed = await paybell(['sources', 'addresses', 'remove', SOURCE, addressOf(1)]);
  expect(removed.stdout).toBe('1 address removed. The book has 1001 addresses.\n');
  expect(requests).toEqual([{ method: 'DELETE', path: PATH, body: { addresses: [addressOf(1)] } }]);
  const listed = await paybell(['sources', 'addresses', 'list', SOURCE, '--agreement-id', 'agr_7012']);
  expect(listed.stdout).toContain('order 8412');
  expect(requests.at(-1)?.path).toContain('agreementId=agr_7012');
});

test.each([
  [[], 'give at least one address, or --file'],
  [[addressOf(1), '--file', '/nowhere'], 'give --file or addresses, not both'],
  [['--file', '/nowhere'], 'cannot read /nowhere'],
])('sources addresses add %j is wrong usage, and sends nothing', async (args, message) => {
  const { exitCode, stderr } = await paybell(['sources', 'addresses', 'add', SOURCE, ...args]);
  expect(exitCode).not.toBe(0);
  expect(stderr).toContain(message);
  expect(requests).toEqual([]);
});
