import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { webhookListSchema } from '../../../src/contract/webhooks.ts';
import { serviceForCommands } from '../../support/service-for-commands.ts';

const FILTER = { token: ['0xAb', 'USDC'], amount: { min: '100' } };
const HOOK = 'http://127.0.0.1:9/hook';
const WORDS = 'token is 0xAb or USDC; amount is at least 100';

const { folder, paybell, runJson } = serviceForCommands();

async function create(path: string, ...options: string[]): Promise<string> {
  const command = ['webhooks', 'create', `${HOOK}/${path}`, '--networks', '1', '--events', 'LatePayment', ...options];
  return webhookListSchema.parse(await runJson(command)).webhooks[0]?.webhookId ?? '';
}

const optionsOf = async (webhookId: string) => {
  return ((await runJson(['webhooks', 'show', webhookId])) as { options: unknown }).options;
};

test('webhooks create gives new webhooks a filter, and webhooks show prints it in words and as JSON', async () => {
  const webhookId = await create('a', '--filter', JSON.stringify(FILTER));
  expect(await optionsOf(webhookId)).toEqual({ finality: 'seen', filter: FILTER });
  expect((await paybell(['webhooks', 'show', webhookId])).stdout).toMatch(new RegExp(`^filter +${WORDS}$`, 'm'));
  expect((await paybell(['webhooks', 'show', await create('b')])).stdout).toMatch(/^filter +none$/m);
});

test('webhooks update sets the filter of one webhook from a file, and removes it', async () => {
  const webhookId = await create('c');
  const file = join(folder, 'filter.json');
  writeFileSync(file, `${JSON.stringify(FILTER, null, 2)}\n`);
  expect(await paybell(['webhooks', 'update', webhookId, '--filter-file', file])).toMatchObject({
    stdout: `Updated ${webhookId}: its filter is: ${WORDS}\n`,
  });
  expect(await optionsOf(webhookId)).toEqual({ finality: 'seen', filter: FILTER });
  expect((await paybell(['webhooks', 'update', webhookId, '--clear-filter'])).stdout).toBe(
    `Updated ${webhookId}: it has no filter.\n`,
  );
  expect(await optionsOf(webhookId)).toEqual({ finality: 'seen', filter: null });
});

test('webhooks update changes the URL and the filter of one webhook at once, and the filter of all that match', async () => {
  const webhookId = await create('d');
  const moved = ['webhooks', 'update', webhookId, '--to', `${HOOK}/moved`, '--filter', '{"token":["USDC"]}'];
  expect(await runJson(moved)).toMatchObject({
    webhookId,
    postUrl: `${HOOK}/moved`,
    options: { filter: { token: ['USDC'] } },
  });
  const all = ['webhooks', 'update', '--post-url', `${HOOK}/moved`, '--filter', '{"token":["DAI"]}'];
  expect(await runJson([...all, '--dry-run'])).toEqual({ totalResults: 1 });
  expect(await optionsOf(webhookId)).toEqual({ finality: 'seen', filter: { token: ['USDC'] } });
  expect((await paybell(all)).stdout).toBe('1 webhook updated.\n');
  expect(await optionsOf(webhookId)).toEqual({ finality: 'seen', filter: { token: ['DAI'] } });
});

test('errors of a filter name the option, the file or the field, and change nothing', async () => {
  const webhookId = await create('e');
  const update = (...options: string[]) => paybell(['webhooks', 'update', webhookId, ...options]);
  const wrong = async (options: string[], exitCode: number, ...messages: string[]) => {
    const failed = await update(...options);
    expect({ options, exitCode: failed.exitCode }).toEqual({ options, exitCode });
    for (const message of messages) expect(failed.stderr).toContain(message);
  };
  await wrong([], 2, 'give --to <url>, --finality <level>, --filter <json>');
  await wrong(['--filter', '{'], 2, '--filter is not valid JSON');
  await wrong(['--filter', 'null'], 2, '--filter must be a JSON object');
  await wrong(['--filter', '{}', '--clear-filter'], 2, 'give only one of');
  await wrong(['--filter-file', join(folder, 'none.json')], 1, 'cannot read');
  await wrong(
    ['--filter', '{"amount":{"min":"ten"},"token":[]}'],
    1,
    'filter.amount.min must be a decimal',
    'filter.token must have at least one value',
  );
  await wrong(['--to', `${HOOK}/f`, '--filter', '{"a":1}'], 1, 'options.filter.a must be a list of values');
  expect(await paybell(['webhooks', 'update', 'wh_0', '--clear-filter'])).toMatchObject({ exitCode: 1 });
  expect(await optionsOf(webhookId)).toEqual({ finality: 'seen', filter: null });
});

test('webhooks create and update set the finality, which stays when the filter changes, and webhooks show prints it', async () => {
  const webhookId = await create('g', '--finality', '12');
  expect((await paybell(['webhooks', 'show', webhookId])).stdout).toMatch(/^finality +12 confirmations$/m);
  await runJson(['webhooks', 'update', webhookId, '--filter', '{"token":["USDC"]}']);
  expect(await optionsOf(webhookId)).toEqual({ finality: 12, filter: { token: ['USDC'] } });
  expect((await paybell(['webhooks', 'update', webhookId, '--finality', 'safe'])).stdout).toBe(
    `Updated ${webhookId}: its finality is safe for payments first seen after this change\n`,
  );
  const all = ['webhooks', 'update', '--post-url', `${HOOK}/g`, '--finality', 'default'];
  expect(await paybell(all)).toEqual({ exitCode: 0, stdout: '1 webhook updated.\n', stderr: '' });
  expect(await optionsOf(webhookId)).toEqual({ finality: 'seen', filter: { token: ['USDC'] } });
});

test('a finality by amount is written as amounts of dollars, and shown in words', async () => {
  const webhookId = await create('j', '--finality', 'seen:50,12:500.50,final');
  const rules = [
    { maxAmount: '50', tokens: ['usd'], finality: 'seen' },
    { maxAmount: '500.5', tokens: ['usd'], finality: 12 },
  ];
  expect(await optionsOf(webhookId)).toEqual({ finality: { rules, otherwise: 'final' }, filter: null });
  const words = 'seen up to 50 USD, 12 confirmations up to 500.5 USD, otherwise final';
  expect((await paybell(['webhooks', 'show', webhookId])).stdout).toContain(`finality  ${words}\n`);
  const form = 'such as seen:50,12:500,final';
  for (const [finality, message] of [
    ['seen:50', 'Give seen, safe, final'],
    ['seen:50,safe:100', 'Give seen, safe, final'],
    ['seen,final', form],
    ['seen:50:60,final', form],
    ['seen:50,12:20,final', 'rules.1.maxAmount must be more than the maxAmount before it'],
    ['seen:x,final', 'rules.0.maxAmount must be a decimal above 0'],
    ['1:50,final', 'Give seen, safe, final'],
  ]) {
    const { exitCode, stderr } = await paybell(['webhooks', 'update', webhookId, `--finality=${finality}`]);
    expect({ finality, exitCode, stderr }).toEqual({
      finality,
      exitCode: 2,
      stderr: expect.stringContaining(message ?? ''),
    });
  }
});

test('a finality that does not exist, or that the event does not allow, is refused with what to give instead', async () => {
  const webhookId = await create('h');
  for (const level of ['1', '1001', 'finalized', '-2', '2.5']) {
    const { exitCode, stderr } = await paybell(['webhooks', 'update', webhookId, `--finality=${level}`]);
    expect({ exitCode, stderr }).toEqual({
      exitCode: 2,
      stderr: expect.stringContaining('Give seen, safe, final, default, or a number of confirmations from 2 to 1000.'),
    });
  }
  const refused = await paybell(['webhooks', 'create', `${HOOK}/i`, '--finality', 'safe']);
  expect(refused).toMatchObject({ exitCode: 1, stdout: '' });
  expect(refused.stderr).toContain('must be "final" for TransferFinalized');
});
