import { afterAll, beforeEach, expect, test } from 'bun:test';
import type { z } from 'zod';
import { chainListSchema } from '../../../src/contract/chain/chains.ts';
import { factDetailSchema, factListSchema } from '../../../src/contract/chain/facts.ts';
import { paymentDetailSchema, paymentListSchema } from '../../../src/contract/chain/payments.ts';
import {
  sourceListSchema,
  sourcePreviewResultSchema,
  sourceRecentEventsSchema,
  sourceSchema,
} from '../../../src/contract/chain/sources.ts';
import { commandLine } from '../../support/command-line.ts';
import { tempFolder } from '../../support/paybell.ts';

/** The commands only use HTTP: a server that answers with the examples of the API shows what they send and print. */

const folder = tempFolder();
const requests: { method: string; path: string; body: unknown }[] = [];
/** By a parameter of the query, or by the path. */
const responses = new Map<string, unknown>();

const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch: async (request) => {
    const { pathname, search } = new URL(request.url);
    const path = pathname.replace('/api/v1/crypto', '') + search;
    const text = await request.text();
    requests.push({ method: request.method, path, body: text === '' ? null : JSON.parse(text) });
    if (request.method === 'DELETE') return new Response(null, { status: 204 });
    const byParameter = new URL(request.url).search
      .slice(1)
      .split('&')
      .find((parameter) => responses.has(parameter));
    return Response.json(responses.get(byParameter ?? path.split('?')[0] ?? '') ?? {});
  },
});

const paybell = commandLine({
  PAYBELL_URL: server.url.origin,
  PAYBELL_ENTITY_ID: 'ent_1',
  PAYBELL_API_KEY: 'pbk_1',
  HOME: folder.path,
});

const example = <Schema extends z.ZodType>(schema: Schema): z.output<Schema> => schema.parse(schema.meta()?.example);

const source = example(sourceSchema);
const fact = example(factDetailSchema);
const facts = example(factListSchema);
const HASH = facts.facts[0]?.transactionHash ?? '';

beforeEach(() => {
  requests.length = 0;
  responses.clear();
  responses.set('/sources', source);
  responses.set('/facts', { totalResults: 0, facts: [] });
});
afterAll(async () => {
  await server.stop(true);
  folder.remove();
});

test('sources add sends the definition that the options make, and prints the source', async () => {
  const address = '0x52908400098527886E0F7030069857D2E4169EE7';
  const { exitCode, stdout, stderr } = await paybell([
    ...['sources', 'add', '--network', '8453', '--contract', address, '--event', 'Transfer'],
    ...['--abi', 'event Paid(bytes32 id, uint256 amount, address token, bool ok)'],
    ...['--where', 'ok=true', '--where', `token=${address},0x1`, '--field', 'transferId=id'],
    ...['--amount', 'amount=amount@token', '--constant', 'currency=USDC', '--from-block', '7', '--deliver-history'],
  ]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  expect(requests).toEqual([
    {
      method: 'POST',
      path: '/sources',
      body: {
        networkId: 8453,
        contract: address,
        abi: 'event Paid(bytes32 id, uint256 amount, address token, bool ok)',
        event: 'Transfer',
        where: { ok: [true], token: [address, '0x1'] },
        fields: { transferId: 'id', amount: { from: 'amount', token: 'token' }, currency: { is: 'USDC' } },
        fromBlock: 7,
        deliverHistory: true,
      },
    },
  ]);
  expect(stdout).toMatch(new RegExp(`^source +${source.sourceId}\\nnetwork +8453 Base\\ncontract +0x8335`));
  expect(stdout).toMatch(/\npreset +erc20\n/);
  expect(stdout).toMatch(/\nstate +live\n/);
});

test('sources add takes a whole definition from a file, and not beside options', async () => {
  const file = `${folder.path}/source.json`;
  await Bun.write(file, '{"networkId": 8453, "preset": "loop", "contract": "0x1"}');
  expect((await paybell(['sources', 'add', '--file', file, '--json'])).stdout).toBe(`${JSON.stringify(source)}\n`);
  expect(requests[0]?.body).toEqual({ networkId: 8453, preset: 'loop', contract: '0x1' });
  const both = await paybell(['sources', 'add', '--file', file, '--preset', 'loop']);
  expect([both.exitCode, both.stderr]).toEqual([2, expect.stringContaining('give --file or --preset, not both')]);
});

test.each([
  [['--where', 'to'], '--where must be a name, = and a value: to'],
  [['--field', '=id'], '--field must be a name, = and a value: =id'],
  [['--amount', 'amount=value'], '--amount must be a parameter, @ and its token: value'],
  [['--network', 'base'], '--network must be a network id such as 8453'],
  [['--from-block', '-5'], '--from-block'],
  [['--from-block', 'now'], '--from-block must be the number of a block, or latest'],
  [['--file', '/nowhere.json'], 'cannot read /nowhere.json'],
])('sources add %j is wrong usage, and sends nothing', async (args, message) => {
  const { exitCode, stderr } = await paybell(['sources', 'add', ...args]);
  expect(exitCode).not.toBe(0);
  expect(stderr).toContain(message);
  expect(requests).toEqual([]);
});

test('sources preview prints the events of a transaction, and why other logs lead to none', async () => {
  const preview = example(sourcePreviewResultSchema);
  responses.set('/sources/preview', preview);
  const { stdout } = await paybell(['sources', 'preview', HASH, '--network', '8453']);
  expect(requests[0]?.body).toEqual({ networkId: 8453, transactionHash: HASH });
  expect(stdout).toStartWith('1 of 2 logs in block 38214507 of Base would be taken. Nothing is stored.\n');
  expect(stdout).toContain('log 12  Transfer (TransferProcessed, then TransferFinalized)');
  expect(stdout).toContain('"amount": "25"');
  expect(stdout).toMatch(/11 +0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913 +It is of another event\./);
  responses.set('/sources/preview', { ...preview, isSuccess: false, logs: 0, events: [], others: [] });
  const failed = await paybell(['sources', 'preview', HASH, '--network', '8453']);
  expect(failed.stdout).toBe('The transaction is in block 38214507 of Base and has failed: it has no logs.\n');
});

test('sources preview without a transaction prints the newest events of the latest blocks', async () => {
  const recent = example(sourceRecentEventsSchema);
  responses.set('/sources/preview/recent', recent);
  const { stdout } = await paybell(['sources', 'preview', '--network', '8453', '--preset', 'erc20']);
  expect(requests[0]?.body).toEqual({ networkId: 8453, preset: 'erc20' });
  expect(stdout).toStartWith('1 log in blocks 38213508 to 38214507 of Base would be taken. Nothing is stored.\n');
  expect(stdout).toMatch(/38214501 +Transfer +25 +0x71C7656EC7ab88b098defB751B7401B5f6d8976F/);
  responses.set('/sources/preview/recent', { ...recent, found: 0, events: [] });
  const none = await paybell(['sources', 'preview', '--network', '8453']);
  expect(none.stdout).toStartWith('0 logs in blocks 38213508 to 38214507 of Base');
});

test('sources list, show and remove', async () => {
  responses.set('/sources', example(sourceListSchema));
  responses.set(`/sources/${source.sourceId}`, { ...source, state: 'paused', pausedReason: 'Too many logs.' });
  const list = await paybell(['sources', 'list', '--network-id', '8453', '--state', 'live']);
  expect(requests[0]?.path).toStartWith('/sources?networkId=8453&state=live');
  expect(list.stdout).toMatch(
    /^source-id +network +state +what +contract +from block +created\nsrc_\w+ +8453 Base +live +erc20/,
  );
  expect((await paybell(['sources', 'show', source.sourceId])).stdout).toMatch(
    /state +paused\nreason +Too many logs\./,
  );
  expect((await paybell(['sources', 'remove', source.sourceId])).stdout).toContain(`${source.sourceId} is removed`);
  expect(requests.at(-1)).toMatchObject({ method: 'DELETE', path: `/sources/${source.sourceId}` });
  responses.set('/sources', { totalResults: 0, sources: [] });
  expect((await paybell(['sources', 'list'])).stdout).toContain('No sources match. Add one:');
});

test('sources update changes the settings that are given', async () => {
  const path = `/sources/${source.sourceId}`;
  responses.set(path, { ...source, name: 'Shop', minAmount: '0.5', revision: 2, appliesFromBlock: 38214600 });
  const { exitCode, stdout } = await paybell([
    ...[
      'sources',
      'update',
      source.sourceId,
      '--name',
      'Shop',
      '--min-amount',
      '0.5',
      '--where',
      'to=0x1,0x2',
      '--pause',
    ],
  ]);
  expect(exitCode).toBe(0);
  const body = { name: 'Shop', minAmount: '0.5', where: { to: ['0x1', '0x2'] }, isPaused: true };
  expect(requests[0]).toEqual({ method: 'PATCH', path, body });
  expect(stdout).toMatch(/\nname +Shop\n/);
  expect(stdout).toMatch(/\nmin amount +0\.5\n/);
  expect(stdout).toMatch(/\nrevision +2, from block 38214600 on\n/);
  await paybell(['sources', 'update', source.sourceId, '--name', '', '--no-min-amount', '--resume']);
  expect(requests[1]?.body).toEqual({ name: null, minAmount: null, isPaused: false });
  const both = await paybell(['sources', 'update', source.sourceId, '--pause', '--resume']);
  expect([both.exitCode, both.stderr]).toEqual([2, expect.stringContaining('give --pause or --resume, not both')]);
});

test('facts shows the one fact of a transaction, a transfer or an agreement with its history', async () => {
  responses.set(`/facts/${fact.factId}`, fact);
  const byId = await paybell(['facts', fact.factId]);
  expect(byId.stdout).toMatch(/^fact +fct_\w+\nnetwork +8453 Base\nstate +seen\nkind +Transfer\n/);
  expect(byId.stdout).toMatch(/when +state +revision +block +block hash\n\S+ +seen +1 +38214507/);
  expect(byId.stdout).toMatch(/TransferProcessed +seen +none +fct_\w+_1_TransferProcessed_seen/);
  const queries = { [HASH]: `transactionHash=${HASH}`, 't-1': 'transferId=t-1', 'a-1': 'agreementId=a-1' };
  for (const [id, query] of Object.entries(queries)) {
    responses.set(query, facts);
    expect([id, (await paybell(['facts', id])).stdout]).toEqual([id, byId.stdout]);
  }
});

test('facts lists what matches, and says where there is nothing', async () => {
  const two = {
    totalResults: 2,
    facts: [...facts.facts, { ...facts.facts[0], fields: { amountBase: '7' }, state: 'lost' }],
  };
  responses.set('/facts', two);
  const { stdout } = await paybell(['facts', '--state', 'seen']);
  expect(stdout).toMatch(/^fact-id +network +state +kind +amount +block +transfer +agreement +seen +transaction\n/);
  expect(stdout).toMatch(/seen +Transfer +25 +38214507 +– +agr_7012/);
  expect(stdout).toMatch(/lost +Transfer +7 base/);
  expect(JSON.parse((await paybell(['facts', '--json'])).stdout)).toEqual(two);
  responses.set('/facts', { totalResults: 0, facts: [] });
  expect((await paybell(['facts', 'nothing'])).stdout).toContain('No facts match.');
  expect((await paybell(['facts', '--state', 'done'])).stderr).toContain('--state must be one of');
});

test('chain status shows each network and node, warns of one that is behind, and says where there is none', async () => {
  const list = example(chainListSchema);
  const [chain] = list.chains;
  responses.set('/chains', {
    chains: [chain, { ...chain, networkId: 1, name: 'Ethereum', state: 'halted', reason: 'A final block is gone.' }],
  });
  const { stdout, stderr } = await paybell(['chain', 'status']);
  expect(stdout).toMatch(
    /^network +state +head +tip +behind +safe +final +newest block\n8453 Base +following +38214507 +38214507 +0 blocks/,
  );
  expect(stdout).toMatch(
    /\nnode +state +head +behind +final +last error +last response\n8453#1 +ok +38214507 +0 blocks +38213900 +– /,
  );
  expect(stderr).toContain('1 Ethereum is halted: A final block is gone.');
  expect(JSON.parse((await paybell(['chain', 'status', '--json'])).stdout)).toMatchObject({
    chains: [{ networkId: 8453 }, { networkId: 1 }],
  });
  responses.set('/chains', { chains: [] });
  expect((await paybell(['chain', 'status'])).stdout).toContain('CHAIN_RPC');
});

test('payments finds by q and shows the one that it finds, or lists several', async () => {
  const payment = example(paymentDetailSchema);
  const list = example(paymentListSchema);
  responses.set('/payments', list);
  responses.set(`/payments/${payment.paymentId}`, payment);
  const byHash = await paybell(['payments', HASH]);
  expect(requests[0]?.path).toStartWith('/payments?');
  expect(requests[0]?.path).toContain(`q=${HASH}`);
  expect(byHash.stdout).toMatch(/^payment +pay_\w+\nstate +seen \(3 confirmations\)\namount +25 USDC\n/);
  expect(byHash.stdout).toMatch(/waits +1 webhook for final\n/);
  expect(byHash.stdout).toMatch(/when +what +block .*\n\S+ +seen +38214507/);
  expect(byHash.stdout).toContain('The payment is not final yet.');
  expect((await paybell(['payments', 'show', payment.paymentId])).stdout).toBe(byHash.stdout);
  expect(JSON.parse((await paybell(['payments', 'show', payment.paymentId, '--json'])).stdout)).toEqual(payment);
  const all = await paybell(['payments', '--state', 'seen', '--payee', '0x1']);
  expect(requests.at(-1)?.path).toContain('state=seen');
  expect(all.stdout).toMatch(/^payment-id +network +state +amount/);
  expect(all.stdout).toContain('1 of 1');
  expect(JSON.parse((await paybell(['payments', '--json'])).stdout)).toEqual(list);
  responses.set('/payments', { totalResults: 0, isTotalExact: true, payments: [] });
  expect((await paybell(['payments', 'nothing'])).stdout).toContain('No payments match. Logs of agreements are in:');
  for (const cut of ['0xnothash', `0x${'a'.repeat(63)}`]) {
    expect((await paybell(['payments', cut])).stdout).toContain('A transaction hash is 0x and 64 hex digits');
  }
  expect((await paybell(['payments', `0x${'a'.repeat(64)}`])).stdout).not.toContain('hex digits');
  expect((await paybell(['payments', '--min-amount', '5'])).stderr).toContain('--min-amount needs');
});
