import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventListSchema } from '../../../src/contract/events/accepted-event.ts';
import { publicKeyListSchema, secretListSchema } from '../../../src/contract/secrets.ts';
import { coverageSchema, webhookListSchema, webhookSchema } from '../../../src/contract/webhooks.ts';
import { type CommandOutcome, commandLine, startCommand } from '../../support/command-line.ts';
import { Ledger } from '../../support/ledger.ts';
import { tempFolder } from '../../support/paybell.ts';
import { startTestService, type TestService } from '../../support/service.ts';
import { createTarget } from '../../support/stores.ts';
import { until } from '../../support/until.ts';

/** The commands only use HTTP, so one engine behind the server is enough. */
let service: TestService;
let remove: () => void;
let url: string;
let receiver: Ledger;
let environment: Record<string, string>;
const folder = tempFolder();

beforeAll(async () => {
  const target = await createTarget('sqlite');
  remove = target.remove;
  service = await startTestService(target.url, { RETRY_SCHEDULE: '0s' });
  url = service.client().url;
  receiver = new Ledger();
  const { entityId, apiKey } = service.first;
  environment = { PAYBELL_URL: url, PAYBELL_ENTITY_ID: entityId, PAYBELL_API_KEY: apiKey, HOME: folder.path };
});

afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
  remove();
  folder.remove();
});

const paybell = (args: readonly string[], input?: string) => commandLine(environment)(args, input);

async function runJson(args: readonly string[], input?: string): Promise<unknown> {
  const { exitCode, stdout, stderr } = await paybell([...args, '--json'], input);
  expect({ args, exitCode, stderr }).toEqual({ args, exitCode: 0, stderr: '' });
  return JSON.parse(stdout);
}

describe('paybell webhooks', () => {
  test('create, list, update and delete print the JSON of the API, or a table', async () => {
    const create = [
      'webhooks',
      'create',
      receiver.url(),
      '--networks',
      '1',
      '--events',
      'LatePayment,TransferFinalized',
    ];
    const made = webhookListSchema.parse(await runJson(create));
    expect(made.webhooks.map(({ event }) => event)).toEqual(['LatePayment', 'TransferFinalized']);
    const one = made.webhooks[0]?.webhookId ?? '';

    const listed = await paybell(['webhooks', 'list', '--event', 'LatePayment']);
    const [headings, row, end] = listed.stdout.split('\n');
    expect(headings).toMatch(/^webhook-id +network +event +created +url$/);
    expect(row).toMatch(new RegExp(`^${one} +1 Ethereum +LatePayment +\\S+Z +${receiver.url()}$`));
    expect(end).toBe('');

    const moved = webhookSchema.parse(await runJson(['webhooks', 'update', one, '--to', receiver.url('/moved')]));
    expect(moved).toMatchObject({ webhookId: one, postUrl: receiver.url('/moved') });
    const many = ['webhooks', 'update', '--post-url', receiver.url('/moved'), '--to', receiver.url('/again')];
    expect((await paybell([...many, '--dry-run'])).stdout).toBe('1 webhook would be updated.\n');
    expect(await runJson(many)).toEqual({ totalResults: 1 });

    expect((await paybell(['webhooks', 'delete', one])).stdout).toBe(`Deleted ${one}.\n`);
    const others = ['webhooks', 'delete', '--event', 'TransferFinalized'];
    expect(await runJson([...others, '--dry-run'])).toEqual({ totalResults: 1 });
    expect((await paybell(others)).stdout).toBe('1 webhook deleted.\n');
    expect((await paybell(['webhooks', 'list'])).stdout).toContain('paybell webhooks create <postUrl>');
  });

  test('create warns of a network that the server does not know, and registers it nevertheless', async () => {
    const create = ['webhooks', 'create', receiver.url('/far'), '--events', 'LatePayment', '--json', '--networks'];
    expect((await paybell([...create, '1,8453'])).stderr).toBe('');
    const { exitCode, stdout, stderr } = await paybell([...create, '1,99999']);
    expect({ exitCode, stderr }).toEqual({
      exitCode: 0,
      stderr:
        'warning: network 99999 is not among the networks that the server knows (1, 10, 56, 137, 900, 8453, 42161, ' +
        '42220); the webhook receives only events that name the same number\n',
    });
    expect(webhookListSchema.parse(JSON.parse(stdout)).webhooks.map(({ networkId }) => networkId)).toEqual([1, 99999]);
    await paybell(['webhooks', 'delete', '--post-url', receiver.url('/far')]);
  });

  test('show prints one webhook, or its JSON', async () => {
    const made = await runJson([
      'webhooks',
      'create',
      receiver.url('/one'),
      '--networks',
      'bnb-smart-chain',
      '--events',
      'LatePayment',
    ]);
    const [webhook] = webhookListSchema.parse(made).webhooks;
    const id = webhook?.webhookId ?? '';
    expect(await runJson(['webhooks', 'show', id])).toEqual({
      ...webhook,
      options: { filter: null, finality: 'seen' },
    });
    const { stdout } = await paybell(['webhooks', 'show', id]);
    expect(stdout).toMatch(
      /^webhook {3}wh_\w+\nnetwork {3}56 BNB Smart Chain\nevent {5}LatePayment\nurl {7}\S+\/one\nfinality {2}seen\nfilter {4}none\ncreated {3}\S+Z\n$/,
    );
    await paybell(['webhooks', 'delete', id]);
  });

  test('test sends a sample and fails unless it is accepted; health, resume and coverage show the state', async () => {
    await paybell(['webhooks', 'delete', '--network-id', '1']);
    await using broken = new Ledger(() => new Response('no\x1b[2J', { status: 500 }));
    const made = await runJson(['webhooks', 'create', broken.url(), '--networks', '1', '--events', 'LatePayment']);
    const id = webhookListSchema.parse(made).webhooks[0]?.webhookId ?? '';
    const failed = await paybell(['webhooks', 'test', id]);
    expect(failed).toMatchObject({ exitCode: 1, stderr: '' });
    expect(failed.stdout).toMatch(/^not delivered: 500 in \d+ ms\nno�\[2J\n$/);
    broken.reply = () => new Response('ok');
    expect((await paybell(['webhooks', 'test', id])).exitCode).toBe(0);
    expect((await paybell(['webhooks', 'health', id])).stdout).toMatch(/^state +active$/m);
    expect(webhookSchema.parse(await runJson(['webhooks', 'resume', id])).webhookId).toBe(id);
    expect(coverageSchema.parse(await runJson(['webhooks', 'coverage'])).networks.length).toBeGreaterThan(1);
    const { stdout } = await paybell(['webhooks', 'coverage']);
    expect(stdout).toMatch(/^event +1 +10 +56 /);
    expect(stdout).toMatch(/^LatePayment +1 +· /m);
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  });

  test.each([
    [['list', '--limit', '0', '--sort-by', 'url'], /--limit[\s\S]*--sort-by/],
    [['delete'], /at least one filter/],
    [['delete', 'wh_1', '--event', 'LatePayment'], /not both/],
    [['update', 'wh_1'], /--to/],
    [['create'], /postUrl/],
    [['create', 'https://example.com', '--networks', 'basis'], /No network is named basis[\s\S]*ids such as 1,8453/],
  ])('%j is wrong usage and says why', async (args, message) => {
    const { exitCode, stdout, stderr } = await paybell(['webhooks', ...args]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toMatch(message);
  });
});

describe('an error under --json', () => {
  const errorOf = async (args: readonly string[], settings: Record<string, string> = {}) => {
    const { exitCode, stdout, stderr } = await commandLine({ ...environment, ...settings })([...args, '--json']);
    expect(stdout).toBe('');
    return { exitCode, ...JSON.parse(stderr).error };
  };

  test('of the server has the code, the status and the id of the request', async () => {
    expect(await errorOf(['webhooks', 'show', 'wh_none'])).toEqual({
      exitCode: 1,
      code: 'not_found',
      message: 'There is no webhook with this id.',
      status: 404,
      requestId: expect.any(String),
    });
    const create = ['webhooks', 'create', 'ftp://example.com'];
    expect(await errorOf(create)).toMatchObject({ exitCode: 1, errors: [{ in: 'body', name: 'postUrl' }] });
  });

  test.each([
    [['webhooks', 'list', '--limit', '0'], 2, 'wrong_usage', /^--limit must be/],
    [['webhooks', 'list', '--colour'], 2, 'wrong_usage', /^unknown option '--colour'$/],
    [['nonsense'], 2, 'wrong_usage', /^unknown command 'nonsense'$/],
    [['deliveries', 'list', '--since', 'soon'], 2, 'wrong_usage', /a duration such as 1h/],
  ])('of %j is wrong usage', async (args, exitCode, code, message) => {
    expect(await errorOf(args)).toEqual({ exitCode, code, message: expect.stringMatching(message) });
  });

  test('of the settings lists each of them; of a server that is down, it is one line', async () => {
    expect(await errorOf(['keys', 'list'], { PORT: 'x', RETENTION: 'y' })).toMatchObject({
      exitCode: 2,
      code: 'invalid_settings',
      message: '2 settings are invalid',
      errors: [{ name: 'PORT' }, { name: 'RETENTION' }],
    });
    expect(await errorOf(['webhooks', 'list'], { PAYBELL_URL: 'http://127.0.0.1:9' })).toMatchObject({
      exitCode: 1,
      code: 'connection_failed',
    });
    expect(await errorOf(['keys', 'list'], { DATABASE_URL: 'sqlite:/none/at/all.db' })).toMatchObject({
      code: 'failed',
    });
  });
});

describe('paybell events, deliveries and secrets', () => {
  test('--since takes a duration before now', async () => {
    await runJson(['events', 'send', '-'], '{"event":"LatePayment","networkId":137,"eventId":"recent-1"}');
    for (const [since, found] of [
      ['1h', 1],
      ['0ms', 0],
    ] as const) {
      const query = ['events', 'list', '--event-id', 'recent-1', '--since', since];
      // In whole seconds: an event of this second is not before it.
      if (since === '0ms') await Bun.sleep(1_100);
      expect(eventListSchema.parse(await runJson(query)).totalResults).toBe(found);
    }
    expect((await paybell(['deliveries', 'list', '--since', '7d', '--until', '1d'])).stdout).toBe(
      'No deliveries match.\n',
    );
  });

  test('send the exact text, and show the status of its deliveries', async () => {
    await runJson(['webhooks', 'create', receiver.url(), '--networks', '10', '--events', 'LatePayment']);
    const text =
      '{"event":"LatePayment",  "networkId":10,"eventId":"exact-1","amount":123456789012345678901234567890}\n';
    expect(await runJson(['events', 'send', '-'], text)).toEqual({ eventId: 'exact-1', deliveries: 1 });
    await until('it has arrived', () => receiver.eventIds().has('exact-1'));
    expect(new TextDecoder().decode(receiver.requests.find(({ eventId }) => eventId === 'exact-1')?.body)).toBe(text);

    const events = eventListSchema.parse(await runJson(['events', 'list', '--event-id', 'exact-1']));
    expect(events.events[0]?.body).toBe(text);
    const unmatched = await runJson(['events', 'list', '--event-id', 'exact-1', '--unmatched']);
    expect(unmatched).toEqual({ totalResults: 0, events: [] });
    const missing = '{"event":"LatePayment","networkId":424242,"eventId":"to-no-one","transferId":"trf_1"}';
    await runJson(['events', 'send', '-'], missing);
    const found = eventListSchema.parse(await runJson(['events', 'list', '--search', 'trf_1']));
    expect(found.events.map(({ eventId }) => eventId)).toEqual(['to-no-one']);
    expect((await paybell(['events', 'show', 'to-no-one'])).stdout).toContain('it reached no webhook');
    const missed = eventListSchema.parse(await runJson(['events', 'list', '--unmatched', '--network-id', '424242']));
    expect(missed.events.map(({ eventId }) => eventId)).toEqual(['to-no-one']);
    expect((await paybell(['events', 'show', 'exact-1'])).stdout).toContain('"amount": 123456789012345678901234567890');

    const delivered = async () => (await paybell(['deliveries', 'list', '--event-id', 'exact-1'])).stdout;
    await until('it is settled', async () => (await delivered()).includes('delivered'));
    const [id = ''] = /dlv_\w+/.exec(await delivered()) ?? [];
    expect((await paybell(['deliveries', 'counts', '--event-id', 'exact-1'])).stdout).toMatch(/^delivered +1$/m);
    expect(await runJson(['deliveries', 'counts', '--event-id', 'exact-1'])).toMatchObject({ total: 1, delivered: 1 });
    expect((await paybell(['deliveries', 'show', id])).stdout).toMatch(/^1 +first +\S+Z +\d+ +200/m);
    const before = receiver.requests.length;
    expect((await paybell(['deliveries', 'redeliver', id])).stdout).toBe(`${id} is queued to be sent again.\n`);
    await until('it came again', () => receiver.requests.length > before);
    const all = ['deliveries', 'redeliver', '--event-id', 'exact-1'];
    expect((await paybell([...all, '--dry-run'])).stdout).toBe('1 delivery would be sent again.\n');
    expect((await paybell(all)).stdout).toBe('1 queued, 1 sent, 1 delivered, 0 failed, 0 waiting, 0 skipped.\n');
  });

  test('secrets import reads a file or standard input, and never an argument', async () => {
    const first = secretListSchema.parse(await runJson(['secrets', 'import'], 'a secret from elsewhere\n'));
    expect(first.secrets[0]).toMatchObject({ importedText: 'a secret from elsewhere', dateExpires: null });
    const file = join(folder.path, 'secret.txt');
    writeFileSync(file, `${Buffer.alloc(32, 1).toString('hex')}\r\n`);
    const second = ['secrets', 'import', file, '--format', 'hex', '--overlap-hours', '0'];
    expect(secretListSchema.parse(await runJson(second))).toMatchObject({ totalResults: 1 });
    const short = await paybell(['secrets', 'import'], 'short');
    expect(short).toMatchObject({ exitCode: 1, stdout: '' });
    expect(short.stderr).toContain('secret must have 16 to 256 bytes');
    expect(await paybell(['secrets', 'import', join(folder.path, 'none')])).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('cannot read'),
    });
  });

  test('send a sample, and say so when no webhook is registered for it', async () => {
    const { exitCode, stdout } = await paybell([
      'events',
      'send',
      '--sample',
      'TransferCreated',
      '--network-id',
      '900',
    ]);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(
      /\nNo webhook is registered for it: paybell webhooks create <postUrl> --networks 900 --events TransferCreated\n$/,
    );
  });

  test('send samples with fresh ids, so that none supersedes another', async () => {
    await runJson(['webhooks', 'create', receiver.url(), '--networks', '8453', '--events', 'LatePayment']);
    for (const kind of ['TransferFinalized', 'LatePayment']) {
      const { stdout } = await paybell(['events', 'send', '--sample', kind]);
      if (kind === 'LatePayment') expect(stdout).toMatch(/^Accepted evt_\w+ for 1 webhook\.\n$/);
    }
    const { events } = eventListSchema.parse(await runJson(['events', 'list', '--network-id', '8453']));
    const agreements = events.map(({ body }) => (JSON.parse(body) as { agreementId: string }).agreementId);
    expect(new Set(agreements).size).toBe(agreements.length);
  });

  test('create no invoice without its terms, and name the options that are missing', async () => {
    const { exitCode, stderr } = await paybell(['invoices', 'create', '--network-id', '0', '--amount', '25,00']);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('--token is required; it must be the address of a token');
    expect(stderr).toContain('--expires is required; it must be a time');
    expect(stderr).toContain('--amount must be a decimal above 0');
  });

  test('say of a retraction without deliveries that no webhook has its event', async () => {
    await runJson(['events', 'send', '-'], '{"event":"LatePayment","networkId":56,"eventId":"unheard"}');
    const retraction = '{"event":"EventRetracted","networkId":56,"eventId":"r-1","retracts":{"eventId":"unheard"}}';
    expect((await paybell(['events', 'send', '-'], retraction)).stdout).toBe(
      'Accepted r-1 for 0 webhooks.\nNo webhook may have received the event that it retracts.\n',
    );
  });

  test('name the event that superseded one without deliveries', async () => {
    const event = (kind: string, eventId: string) =>
      JSON.stringify({ eventId, event: kind, networkId: 8453, transferId: 'trf_paid' });
    await runJson(['events', 'send', '-'], event('TransferFinalized', 'paid'));
    expect((await paybell(['events', 'send', '-'], event('LatePayment', 'late'))).stdout).toBe(
      'Accepted late for 0 webhooks.\nIt was superseded by paid, so no webhook gets it.\n',
    );
  });

  test('show the secrets in force, and rotate them', async () => {
    const before = secretListSchema.parse(await runJson(['secrets', 'show']));
    const after = secretListSchema.parse(await runJson(['secrets', 'rotate', '--overlap-hours', '1']));
    expect(after.secrets[1]?.secret).toBe(before.secrets[0]?.secret ?? '');
    expect((await paybell(['secrets', 'show'])).stdout).toContain(`\n${after.publicKey}  `);
    const rotated = publicKeyListSchema.parse(await runJson(['secrets', 'rotate-key', '--overlap-hours', '1']));
    expect(rotated.publicKeys[1]?.publicKey).toBe(before.publicKey);
    const { stdout } = await paybell(['secrets', 'rotate-key', '--overlap-hours', '0']);
    expect(stdout).toMatch(
      /^public key +created +signs until\nwhpk_\S+ +\S+ +–\n\nkey set for receivers: \/keys\/ent_/,
    );
  });

  test.each([
    [['events', 'send', '--sample', 'Nope'], /--sample must be one of/],
    [['events', 'send', 'a.json', '--sample', 'LatePayment'], /not both/],
    [['events', 'send', '-', '--network-id', '1'], /needs --sample/],
    [['deliveries', 'redeliver'], /at least one filter/],
    [['secrets', 'rotate', '--overlap-hours', '169'], /from 0 to 168/],
    [['secrets', 'rotate-key', '--overlap-hours', '169'], /from 0 to 168/],
    [['play', 'nonsense'], /subscription, late-payment, cancelled, failed-transfer, reorg/],
    [['play', 'cancelled', '--speed', '0'], /--speed/],
    [['tail', '--lines', '101'], /--lines/],
  ])('%j is wrong usage and says why', async (args, message) => {
    const { exitCode, stdout, stderr } = await paybell(args);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toMatch(message);
  });
});

describe('a server that rejects a request', () => {
  const refused = async (more: Record<string, string>, args: string[]): Promise<CommandOutcome> => {
    const outcome = await commandLine({ ...environment, ...more })(args);
    expect([outcome.exitCode, outcome.stdout]).toEqual([1, '']);
    expect(outcome.stderr).not.toContain(service.first.apiKey);
    return outcome;
  };

  test('a wrong key is reported with where to put the right one', async () => {
    const { stderr } = await refused({ PAYBELL_API_KEY: 'pbk_wrong' }, ['webhooks', 'list']);
    expect(stderr).toMatch(/PAYBELL_API_KEY[\s\S]*paybell login[\s\S]*401 unauthenticated, request /);
  });

  test('another entity, an unknown id and an invalid input are reported', async () => {
    expect((await refused({ PAYBELL_ENTITY_ID: 'ent_x' }, ['webhooks', 'list'])).stderr).toContain('PAYBELL_ENTITY_ID');
    expect((await refused({}, ['deliveries', 'show', 'dlv_none'])).stderr).toContain('404 not_found');
    const { stderr } = await refused({}, ['webhooks', 'create', 'ftp://example.com', '--events', 'Nope']);
    expect(stderr).toMatch(/postUrl .*\n.*events\.0 must be one of/);
  });

  test('a server that is not running is reported with what to check', async () => {
    const { stderr } = await refused({ PAYBELL_URL: 'http://127.0.0.1:1' }, ['secrets', 'show']);
    expect(stderr).toMatch(/no response from http:\/\/127\.0\.0\.1:1.*\n.*PAYBELL_URL.*paybell serve/);
  });
});

describe('paybell login', () => {
  const run = commandLine({ HOME: folder.path });
  const stored = () => readFileSync(join(folder.path, '.config/paybell/profiles.json'), 'utf8');

  test('takes the key from standard input, stores it once the server knows it, and never shows it', async () => {
    const { entityId, apiKey } = service.first;
    const login = ['login', '--server', url, '--entity', entityId];
    const wrong = await run(login, 'pbk_wrong\n');
    expect(wrong.exitCode).toBe(1);
    expect(stored).toThrow();
    const { exitCode, stdout, stderr } = await run(login, `${apiKey}\n`);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toContain(`Logged in to ${url} as ${entityId}`);
    expect(stdout).not.toContain(apiKey);
    expect(stored()).toContain(apiKey);
  });

  test('is used by the commands, until logout', async () => {
    const who = await run(['whoami']);
    expect(who.stdout).toMatch(new RegExp(`^server +${url}$`, 'm'));
    expect(who.stdout).toMatch(/^permissions +webhooks:read, webhooks:write, /m);
    expect(who.stdout).toMatch(/^expires +never$/m);
    expect(who.stdout).not.toContain(service.first.apiKey);
    expect((await run(['webhooks', 'list'])).exitCode).toBe(0);
    const { exitCode, stdout } = await run(['logout', '--json']);
    expect([exitCode, JSON.parse(stdout)]).toEqual([0, { profile: 'default', deleted: true }]);
    expect(stored()).not.toContain(service.first.apiKey);
    const after = await run(['webhooks', 'list']);
    expect([after.exitCode, after.stderr]).toEqual([2, expect.stringContaining('paybell login')]);
    expect((await run(['logout'])).exitCode).toBe(1);
  });

  test('without a terminal says what is missing', async () => {
    const { exitCode, stderr } = await run(['login', '--server', url]);
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('--entity')]);
    const noKey = await run(['login', '--server', url, '--entity', 'ent_1']);
    expect([noKey.exitCode, noKey.stderr]).toEqual([2, expect.stringContaining('no key was given')]);
  });
});

describe('paybell listen beside a server', () => {
  test('reads the secrets with the key, and shows a real request as verified', async () => {
    const listening = startCommand(['listen', '--json', '--count', '1', '--port', '0'], environment);
    await until('it listens', () => listening.stderr().includes('secrets of'));
    expect(listening.stderr()).toContain(`Signatures are checked with the secrets of ${url}.`);
    const [here = ''] = /http:\/\/127\.0\.0\.1:\d+\//.exec(listening.stderr()) ?? [];
    await runJson(['webhooks', 'create', here, '--networks', '56', '--events', 'LatePayment']);
    await runJson(['events', 'send', '--sample', 'LatePayment', '--network-id', '56']);
    const { exitCode, stdout } = await listening.ended;
    const request = JSON.parse(stdout);
    expect(request).toMatchObject({ signature: 'verified', status: 204, attempt: 1, simulated: false });
    expect(JSON.parse(request.body)).toMatchObject({ event: 'LatePayment', networkId: 56 });
    expect(exitCode).toBe(0);
  });

  /** The output of a receiver that is stopped once it listens. */
  async function beginningOf(args: string[], settings: Record<string, string>): Promise<string> {
    const listening = startCommand(['listen', '--port', '0', ...args], settings);
    await until('it listens', () => listening.stdout().includes('Signatures are'));
    const { exitCode, stdout, stderr } = await listening.stop();
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    return stdout;
  }

  test('whose key may not read the secrets does not check, and says why', async () => {
    const said = await beginningOf([], { ...environment, PAYBELL_API_KEY: 'pbk_wrong' });
    expect(said).toMatch(/Signatures are not checked yet: 401 unauthenticated/);
  });

  test('or without one needs neither server nor secret, and says what to give', async () => {
    const home = tempFolder();
    const said = await beginningOf([], { HOME: home.path });
    expect(said).toContain('Signatures are not checked: set PAYBELL_API_KEY and PAYBELL_ENTITY_ID, give --secret');
    expect(await beginningOf(['--no-check'], environment)).toContain('Signatures are not checked.\n');
    home.remove();
  });
});

describe('paybell play and tail', () => {
  test('a scenario is sent in order and arrives complete, and tail shows each delivery', async () => {
    await using app = new Ledger();
    await runJson(['webhooks', 'create', app.url(), '--networks', '137']);
    const tail = startCommand(['tail', '--json', '--lines', '0', '--network-id', '137'], environment);
    await until('it follows', () => tail.stderr() === 'Following deliveries; stop with Ctrl-C.\n');
    const hasShown = (eventId: string) =>
      new RegExp(`"eventId":"${eventId}".*"status":"delivered"`).test(tail.stdout());
    try {
      const args = [
        'play',
        'cancelled',
        '--network-id',
        '137',
        '--periods',
        '1',
        '--speed',
        '100000000',
        '--amount',
        '9.99',
      ];
      const { exitCode, stdout, stderr } = await paybell(args);
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
      expect(stdout).toContain('1 transfer, 1 paid, 9.99 USDC in total.');
      expect(stdout).not.toContain('No webhook');
      for (const line of stdout.split('\n')) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(80);
      await until('all six have arrived', () => app.requests.length === 6);
      const bodies = app.requests.map(({ body }) => JSON.parse(new TextDecoder().decode(body)));
      const kinds = [
        'AgreementSignedUp',
        'TransferCreated',
        'TransferProcessed',
        'TransferFinalized',
        'ScheduledAgreementCancel',
        'AgreementCancelled',
      ];
      // Sent in this order; in which they arrive is up to the machine.
      expect([...stdout.matchAll(/(?<= {2})(?:Agreement|Scheduled|Transfer)\w+/g)].map(([name]) => name)).toEqual(
        kinds,
      );
      expect(bodies.map(({ event }) => event).toSorted()).toEqual(kinds.toSorted());
      expect(new Set(bodies.map(({ agreementId }) => agreementId)).size).toBe(1);
      await until('tail has shown all six', () => bodies.every(({ eventId }) => hasShown(eventId)));
    } finally {
      expect(await tail.stop()).toMatchObject({ exitCode: 0 });
    }
  });

  test('a payment is taken back, and comes again before it is final, in this order', async () => {
    await using app = new Ledger();
    await runJson(['webhooks', 'create', app.url(), '--networks', '56']);
    const endpoints = (await runJson(['endpoints', 'list'])) as {
      endpoints: { endpointId: string; postUrl: string }[];
    };
    const endpointId = endpoints.endpoints.find(({ postUrl }) => postUrl === app.url())?.endpointId ?? '';
    await runJson(['endpoints', 'order', endpointId, 'agreement']);
    const fast = ['--network-id', '56', '--periods', '1', '--speed', '100000000'];
    const { exitCode, stdout, stderr } = await paybell(['play', 'reorg', ...fast]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toContain('1 transfer, 1 paid, 25.00 USDC in total.');
    for (const line of stdout.split('\n')) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(80);
    await until('all six have arrived', () => app.requests.length === 6);
    const bodies = app.requests.map(({ body }) => JSON.parse(new TextDecoder().decode(body)));
    expect(bodies.map(({ event, revision }) => [event, revision])).toEqual([
      ['AgreementSignedUp', undefined],
      ['TransferCreated', undefined],
      ['TransferProcessed', 1],
      ['EventRetracted', 1],
      ['TransferProcessed', 2],
      ['TransferFinalized', 2],
    ]);
    expect(bodies[3].retracts).toEqual({ eventId: app.requests[2]?.eventId, event: 'TransferProcessed' });
  });

  test('a dry run needs no server, and --json is a line for each event', async () => {
    const { exitCode, stdout } = await commandLine({ HOME: folder.path })([
      'play',
      'late-payment',
      '--dry-run',
      '--json',
    ]);
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect([exitCode, lines.length]).toEqual([0, 12]);
    expect(lines[0]).toMatchObject({ deliveries: null, payload: { event: 'AgreementSignedUp', networkId: 8453 } });
  });
});
