import { describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseDurationMs } from '../../src/config/values.ts';
import { isPracticeMode, knownEvents, knownNetworks, loadConfig, SETTING_NAMES, summarize } from '../../src/config.ts';
import { errorsOf } from '../support/setting-errors.ts';

const SECRET_KEY = Buffer.alloc(32, 9).toString('base64');
const HOUR_MS = 3_600_000;

describe('the settings', () => {
  test('have the documented defaults', () => {
    expect(loadConfig({})).toEqual({
      HOST: '127.0.0.1',
      PORT: 8080,
      DATABASE_URL: { engine: 'sqlite', file: './data/paybell.db' },
      DATABASE_POOL: 16,
      DATABASE_TIMEOUT: 5_000,
      AUTO_MIGRATE: true,
      PROCESSOR: 'crypto',
      NETWORKS: [1, 10, 56, 137, 900, 8453, 42161, 42220],
      EXTRA_EVENTS: [],
      ADMIN_KEYS: [],
      ALLOW_INSECURE_TARGETS: false,
      RETRY_SCHEDULE: [0, 5_000, 300_000, ...[0.5, 2, 5, 10, 14, 20, 24].map((hours) => hours * HOUR_MS)],
      DELIVERY_TIMEOUT: 15_000,
      DELIVERY_CONCURRENCY: 8_192,
      DESTINATION_CONCURRENCY: 16,
      RETENTION: 720 * HOUR_MS,
      ENTITY_WEBHOOK_LIMIT: 10_000,
      ENTITY_BACKLOG_LIMIT: 1_000_000,
      ENTITY_STORAGE_LIMIT: 50 * 2 ** 30,
      ENTITY_HELD_LIMIT: 1_000,
      ENTITY_SOURCE_LIMIT: 100,
      ENTITY_INVOICE_LIMIT: 10_000,
      ENTITY_ADDRESS_LIMIT: 100_000,
      RATE_LIMIT: { perSecond: 100, burst: 200 },
      EVENT_RATE_LIMIT: { perSecond: 2_000, burst: 10_000 },
      FEED_LIMIT: 100,
      TRUST_PROXY: [],
      CORS_ORIGINS: [],
      BODY_SIGNATURE_KEY: 'bytes',
      SIGN_ASYMMETRIC: false,
      CHAIN_RPC: [],
      CHAIN_RPC_RATE: 25,
      CHAIN_FINALITY: [],
      CHAIN_MIN_DEPTH: [],
      CHAIN_QUORUM: [],
      CHAIN_POLL: [],
      CHAIN_GRACE: 3,
      CHAIN_ADDRESS_LIMIT: 1_000_000,
      REUSE_PORT: false,
      WORKERS: 1,
      ROLE: 'all',
      LOG_LEVEL: 'info',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
      OTEL_EXPORTER_OTLP_COMPRESSION: 'none',
      OTEL_EXPORTER_OTLP_TIMEOUT: 10_000,
      OTEL_TRACES_EXPORTER: 'otlp',
      OTEL_METRICS_EXPORTER: 'otlp',
      OTEL_TRACES_SAMPLER: 'parentbased_always_on',
      OTEL_TRACES_SAMPLER_ARG: 1,
      OTEL_RESOURCE_ATTRIBUTES: {},
      OTEL_BSP_SCHEDULE_DELAY: 5_000,
      OTEL_BSP_MAX_QUEUE_SIZE: 2_048,
      OTEL_BSP_MAX_EXPORT_BATCH_SIZE: 512,
      OTEL_METRIC_EXPORT_INTERVAL: 60_000,
      OTEL_SDK_DISABLED: false,
    });
  });

  test('that are empty count as not set', () => {
    expect(loadConfig(Object.fromEntries(SETTING_NAMES.map((name) => [name, ''])))).toEqual(loadConfig({}));
  });

  test('of other programs in the environment are ignored', () => {
    expect(loadConfig({ PATH: '/bin', Port: '1', port: '2' })).toEqual(loadConfig({}));
  });

  test('cannot be changed once they are read', () => {
    expect(() => Object.assign(loadConfig({}), { PORT: 1 })).toThrow(TypeError);
  });

  test('that are invalid are all reported at once, each with how to fix it', () => {
    const errors = errorsOf({
      HOST: 'a b',
      PORT: '65536',
      DATABASE_URL: 'mysql://x',
      LISTEN_DATABASE_URL: 'sqlite:x.db',
      DATABASE_POOL: '7',
      DATABASE_TIMEOUT: '1s',
      AUTO_MIGRATE: 'yes',
      PROCESSOR: 'a/b',
      NETWORKS: '1,x',
      EXTRA_EVENTS: 'LatePayment',
      SECRET_KEY: 'short',
      SECRET_KEY_FILE: '/nowhere.key',
      SECRET_KEY_COMMAND: 'x'.repeat(4_097),
      ADMIN_KEY: 'short',
      ADMIN_KEYS: 'ci:short',
      ALLOW_INSECURE_TARGETS: '1',
      RETRY_SCHEDULE: '5',
      DELIVERY_TIMEOUT: '6m',
      DELIVERY_CONCURRENCY: '0',
      DESTINATION_CONCURRENCY: '-1',
      RETENTION: '0s',
      ENTITY_WEBHOOK_LIMIT: '0',
      ENTITY_BACKLOG_LIMIT: '1e3',
      ENTITY_STORAGE_LIMIT: '50GB',
      ENTITY_HELD_LIMIT: '0',
      ENTITY_SOURCE_LIMIT: '0',
      ENTITY_INVOICE_LIMIT: '0',
      ENTITY_ADDRESS_LIMIT: '0',
      RATE_LIMIT: '100',
      FEED_LIMIT: '0',
      EVENT_RATE_LIMIT: '0/s',
      TRUST_PROXY: 'everyone',
      CORS_ORIGINS: '*',
      METRICS_TOKEN: 'short',
      EXTRA_CA_FILE: '/nowhere.pem',
      EGRESS_PROXY: 'proxy.example.com:3128',
      EGRESS_BIND: 'eth0',
      BODY_SIGNATURE_HEADER: 'X Sig',
      BODY_SIGNATURE_KEY: 'hex',
      SIGN_ASYMMETRIC: 'TRUE',
      CHAIN_RPC: 'https://node.example.com',
      CHAIN_RPC_RATE: '0',
      CHAIN_FINALITY: '61',
      CHAIN_MIN_DEPTH: '61',
      CHAIN_QUORUM: '61',
      CHAIN_POLL: '900=4',
      CHAIN_GRACE: '101',
      CHAIN_ADDRESS_LIMIT: '0',
      REUSE_PORT: 'no',
      WORKERS: '0',
      ROLE: 'worker',
      LOG_LEVEL: 'loud',
      OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317',
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: '/v1/traces',
      OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'ftp://collector',
      OTEL_EXPORTER_OTLP_HEADERS: 'secret',
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'a=%E0%A4%A',
      OTEL_EXPORTER_OTLP_METRICS_HEADERS: 'a b=1',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
      OTEL_EXPORTER_OTLP_COMPRESSION: 'br',
      OTEL_EXPORTER_OTLP_TIMEOUT: '10s',
      OTEL_TRACES_EXPORTER: 'jaeger',
      OTEL_METRICS_EXPORTER: 'prometheus',
      OTEL_TRACES_SAMPLER: 'sometimes',
      OTEL_TRACES_SAMPLER_ARG: '1.5',
      OTEL_SERVICE_NAME: '\n',
      OTEL_RESOURCE_ATTRIBUTES: 'production',
      OTEL_BSP_SCHEDULE_DELAY: '0',
      OTEL_BSP_MAX_QUEUE_SIZE: '0',
      OTEL_BSP_MAX_EXPORT_BATCH_SIZE: 'all',
      OTEL_METRIC_EXPORT_INTERVAL: '99',
      OTEL_SDK_DISABLED: '1',
    });
    expect(Object.keys(errors).sort()).toEqual([...SETTING_NAMES].sort());
    for (const message of Object.values(errors)) expect(message).toStartWith('must ');
  });

  test.each([
    ...['webhook-id', 'webhook-signature', 'webhook-x', 'content-type', 'content-length', 'content-digest', 'host'],
    ...['connection', 'transfer-encoding', 'paybell-event-id', 'paybell-x', 'user-agent', 'keep-alive', 'te'],
    ...['authorization', 'expect', 'upgrade', 'trailer', 'proxy-authorization', 'date', 'cookie'],
    ...['traceparent', 'tracestate'],
  ])('do not let the body signature take the place of the header %s', (name) => {
    expect(errorsOf({ BODY_SIGNATURE_HEADER: name })).toEqual({
      BODY_SIGNATURE_HEADER: 'must be a name that neither Paybell nor HTTP uses',
    });
  });

  test.each(['x-hook-signature', 'x-webhook-signature', 'signature', 'hmac', 'x-content-hmac', 'hosting'])(
    'let the body signature be in the header %s',
    (name) => {
      expect(loadConfig({ BODY_SIGNATURE_HEADER: name }).BODY_SIGNATURE_HEADER).toBe(name);
    },
  );

  test('never repeat an invalid secret in the error', () => {
    const secret = 'hunter2-hunter2';
    const wrong = {
      ADMIN_KEY: secret,
      SECRET_KEY: secret,
      METRICS_TOKEN: secret,
      DATABASE_URL: `mysql://u:${secret}@h/d`,
    };
    try {
      loadConfig(wrong);
      expect.unreachable();
    } catch (error) {
      expect(String(error)).not.toContain(secret);
      expect(String(error)).toContain('ADMIN_KEY');
    }
  });

  test.each<[string, string, unknown]>([
    ['PORT', '0', 0],
    ['PORT', '65535', 65_535],
    ['ENTITY_STORAGE_LIMIT', '500MiB', 500 * 2 ** 20],
    ['ENTITY_STORAGE_LIMIT', '1024TiB', 2 ** 50],
    ['ENTITY_STORAGE_LIMIT', 'off', 'off'],
    ['DATABASE_URL', 'sqlite:/var/lib/p.db', { engine: 'sqlite', file: '/var/lib/p.db' }],
    ['DATABASE_URL', 'sqlite:///var/lib/p.db', { engine: 'sqlite', file: '/var/lib/p.db' }],
    ['NETWORKS', '1, 8453 ,0', [1, 8453, 0]],
    ['EXTRA_EVENTS', 'Refund,Chargeback', ['Refund', 'Chargeback']],
    ['RETRY_SCHEDULE', '0s,1500ms,2m,1d', [0, 1_500, 120_000, 86_400_000]],
    ['DELIVERY_TIMEOUT', '5m', 300_000],
    ['RATE_LIMIT', '5/s', { perSecond: 5, burst: 10 }],
    ['RATE_LIMIT', '5/s:7', { perSecond: 5, burst: 7 }],
    ['RATE_LIMIT', 'off', 'off'],
    ['TRUST_PROXY', '10.0.0.0/8,::1', ['10.0.0.0/8', '::1']],
    ['CORS_ORIGINS', 'https://a.example,http://localhost:5173', ['https://a.example', 'http://localhost:5173']],
    ['SECRET_KEY', SECRET_KEY, new Uint8Array(32).fill(9)],
    ['LOG_LEVEL', 'debug', 'debug'],
    ['ROLE', 'delivery', 'delivery'],
    ['ROLE', 'chain', 'chain'],
    [
      'CHAIN_RPC',
      '8453=https://a.example/v2/key, 1=http://127.0.0.1:8545 ,8453=https://b.example',
      [
        { networkId: 8453, urls: ['https://a.example/v2/key', 'https://b.example/'] },
        { networkId: 1, urls: ['http://127.0.0.1:8545/'] },
      ],
    ],
    [
      'CHAIN_FINALITY',
      '61=50000, 42220=1',
      [
        { networkId: 61, depth: 50_000 },
        { networkId: 42220, depth: 1 },
      ],
    ],
  ])('read %s=%s', (name, text, value) => {
    expect(loadConfig({ [name]: text })[name as (typeof SETTING_NAMES)[number]]).toEqual(value as never);
  });

  test.each([
    ['PORT', ' 80'],
    ['PORT', '8o'],
    ['DATABASE_URL', 'sqlite:'],
    ['DATABASE_URL', 'sqlite::memory:'],
    ['DATABASE_URL', 'sqlite://relative.db'],
    ['DATABASE_URL', 'postgres://'],
    ['NETWORKS', '9007199254740992'],
    ['NETWORKS', '1,,2'],
    ['EXTRA_EVENTS', 'has space'],
    ['EXTRA_EVENTS', 'EventRetracted'],
    ['EXTRA_EVENTS', 'Transfer'],
    ['SECRET_KEY', Buffer.alloc(31).toString('base64')],
    ['SECRET_KEY', `${SECRET_KEY} `],
    ['ADMIN_KEY', `${'x'.repeat(40)},`],
    ['CORS_ORIGINS', 'https://a.example/'],
    ['RETENTION', '99999d'],
    ['RETRY_SCHEDULE', Array(51).fill('1s').join(',')],
    ['CHAIN_GRACE', '-1'],
  ])('reject %s=%j', (name, text) => {
    expect(Object.keys(errorsOf({ [name]: text }))).toEqual([name]);
  });

  test.each([
    ['8453:https://a.example', 'entry 1 does not begin with a network id and ='],
    ['practise', 'must be practice, or a comma-separated list such as'],
    ['1=https://a.example,', 'entry 2 does not begin with a network id and ='],
    ['9007199254740992=https://a.example', 'entry 1 does not begin with a network id and ='],
    ['8453=wss://a.example', 'must have http or https URLs: the URL in entry 1, for network 8453, is not valid'],
    ['8453=https://a.example#key-3', 'must have a header such as #Api-Key=value after a URL: the header in entry 1'],
    [
      '8453=https://a.example#Host=key-3',
      'must have a header such as #Api-Key=value after a URL: the header in entry 1',
    ],
    ['8453=a.example/key-3', 'must have http or https URLs: the URL in entry 1, for network 8453, is not valid'],
    ['1=https://a.example,1=https://a.example/', 'must have each node once: entry 2 repeats one of network 1'],
    ['0=https://a.example', 'must not name network 0: entry 1 is the practice network'],
  ])('name what is wrong with CHAIN_RPC=%s, without a URL', (text, message) => {
    const { CHAIN_RPC = '' } = errorsOf({ CHAIN_RPC: text });
    expect(CHAIN_RPC).toContain(message);
    expect(CHAIN_RPC.replace('https://node.example.com', '')).not.toMatch(/example|key-3/);
  });

  test('practice stands alone, so that payments that are made up never stand beside real ones', () => {
    expect(loadConfig({ CHAIN_RPC: 'practice' }).CHAIN_RPC).toEqual([{ networkId: 0, urls: ['practice:'] }]);
    for (const text of ['practice,8453=https://a.example', '8453=https://a.example, practice', 'practice,practice']) {
      expect(errorsOf({ CHAIN_RPC: text }).CHAIN_RPC).toContain('must be practice alone');
    }
    const test = '3448148188=practice';
    expect(loadConfig({ CHAIN_RPC: test }).CHAIN_RPC).toEqual([{ networkId: 3_448_148_188, urls: ['practice:'] }]);
    expect(loadConfig({ CHAIN_RPC: `practice,${test}` }).CHAIN_RPC).toHaveLength(2);
    expect(loadConfig({ CHAIN_RPC: '901=practice' }).CHAIN_RPC).toEqual([{ networkId: 901, urls: ['practice:'] }]);
    for (const text of [`${test},8453=https://a.example`, `${test},${test}`]) {
      expect(errorsOf({ CHAIN_RPC: text }).CHAIN_RPC).toContain('must be practice alone');
    }
    for (const text of [
      '728126428=practice',
      '900=practice',
      '0=practice',
      '8453=practice:',
      '0=practice:',
      'Practice',
      'true',
    ]) {
      expect(errorsOf({ CHAIN_RPC: text })).toHaveProperty('CHAIN_RPC');
    }
  });

  test('a webhook without networks is for the practice network too, in practice mode alone', () => {
    expect(knownNetworks(loadConfig({ CHAIN_RPC: 'practice', NETWORKS: '1,8453' }))).toEqual([0, 1, 8453]);
    expect(knownNetworks(loadConfig({ NETWORKS: '1,8453' }))).toEqual([1, 8453]);
    expect(knownNetworks(loadConfig({ CHAIN_RPC: '3448148188=practice', NETWORKS: '1' }))).toEqual([3_448_148_188, 1]);
    expect(isPracticeMode(loadConfig({ CHAIN_RPC: '8453=https://a.example' }))).toBe(false);
  });

  test('refuse more than 100 nodes', () => {
    const nodes = (count: number) => Array.from({ length: count }, (_, n) => `1=https://a.example/${n}`).join(',');
    expect(errorsOf({ CHAIN_RPC: nodes(100) })).toEqual({});
    expect(errorsOf({ CHAIN_RPC: nodes(101) })).toEqual({ CHAIN_RPC: 'must have at most 100 nodes' });
  });

  test.each([
    ['61', 'entry 1 is not a network id'],
    ['61=0', 'entry 1 is not a network id'],
    ['61=100001', 'a number of blocks from 1 to 100000'],
    ['61=10,61=20', 'must have each network once: entry 2 repeats network 61'],
  ])('name what is wrong with CHAIN_FINALITY=%s', (text, message) => {
    expect(errorsOf({ CHAIN_FINALITY: text }).CHAIN_FINALITY).toContain(message);
  });

  test.each([
    ['1', 'entry 1 is not a network id, = and a number of blocks from 0 to 100000'],
    ['1=32,1=0', 'must have each network once: entry 2 repeats network 1'],
  ])('name what is wrong with CHAIN_MIN_DEPTH=%s', (text, message) => {
    expect(errorsOf({ CHAIN_MIN_DEPTH: text }).CHAIN_MIN_DEPTH).toContain(message);
  });

  test('allow a least depth of 0, for networks whose newest block is final', () => {
    expect(loadConfig({ CHAIN_MIN_DEPTH: '43114=0' }).CHAIN_MIN_DEPTH).toEqual([{ networkId: 43114, depth: 0 }]);
  });

  test('reject a quorum of more nodes than a network has', () => {
    const nodes = { CHAIN_RPC: '1=http://a,1=http://b' };
    expect(errorsOf({ ...nodes, CHAIN_QUORUM: '1=2' })).toEqual({});
    expect(errorsOf({ ...nodes, CHAIN_QUORUM: '1=3' }).CHAIN_QUORUM).toContain(
      'more nodes of a network than CHAIN_RPC',
    );
    expect(errorsOf({ CHAIN_QUORUM: '1=0' }).CHAIN_QUORUM).toContain('a number of nodes from 1 to 100');
  });

  test('for PostgreSQL require SECRET_KEY, and report it along with other errors', () => {
    const postgres = { DATABASE_URL: 'postgres://u:p@db/paybell' };
    expect(errorsOf(postgres).SECRET_KEY).toContain('must be set when DATABASE_URL is PostgreSQL');
    expect(Object.keys(errorsOf({ ...postgres, PORT: 'x' })).sort()).toEqual(['PORT', 'SECRET_KEY']);
    expect(errorsOf({ ...postgres, SECRET_KEY })).toEqual({});
  });

  test('read EXTRA_CA_FILE at the start, and reject it without certificates', () => {
    const folder = mkdtempSync(join(tmpdir(), 'paybell-ca-'));
    const file = join(folder, 'ca.pem');
    writeFileSync(file, 'not a certificate');
    expect(errorsOf({ EXTRA_CA_FILE: file }).EXTRA_CA_FILE).toContain('PEM');
    writeFileSync(file, '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n');
    expect(loadConfig({ EXTRA_CA_FILE: file }).EXTRA_CA_FILE).toContain('BEGIN CERTIFICATE');
    rmSync(folder, { recursive: true });
  });

  test.each([
    ['http://proxy.example.com:3128', { host: 'proxy.example.com', port: 3128, authorization: null }],
    ['http://u:p%40ss@[::1]:80/', { host: '::1', port: 80, authorization: `Basic ${btoa('u:p@ss')}` }],
    ['http://user@10.0.0.1', { host: '10.0.0.1', port: 80, authorization: `Basic ${btoa('user:')}` }],
  ])('read EGRESS_PROXY %s', (text, proxy) => {
    expect(loadConfig({ EGRESS_PROXY: text }).EGRESS_PROXY).toEqual(proxy);
  });

  test.each([
    'https://proxy.example.com',
    'socks5://proxy.example.com',
    'http://proxy.example.com/path',
    'http://proxy.example.com?x=1',
    'http://a%3Ab:sesame@proxy.example.com',
    'http://a%0D%0Ab:sesame@proxy.example.com',
    'http://%ff:sesame@proxy.example.com',
    'http://',
  ])('refuse EGRESS_PROXY %s without showing its password', (text) => {
    expect(errorsOf({ EGRESS_PROXY: text }).EGRESS_PROXY).toStartWith('must be http://host:port');
    expect(JSON.stringify(errorsOf({ EGRESS_PROXY: text }))).not.toContain('sesame');
  });

  test('read EGRESS_BIND in one spelling, and refuse names, ranges and zones', () => {
    expect(loadConfig({ EGRESS_BIND: '2001:DB8:0::1' }).EGRESS_BIND).toBe('2001:db8:0:0:0:0:0:1');
    for (const text of ['localhost', '10.0.0.0/8', 'fe80::1%eth0', '10.0.0.256']) {
      expect(errorsOf({ EGRESS_BIND: text }).EGRESS_BIND).toContain('must be an IPv4 or IPv6 address');
    }
  });

  test('list the events that can be registered for: the built-in and the extra ones', () => {
    expect(knownEvents(loadConfig({ EXTRA_EVENTS: 'Refund' }))).toHaveLength(8);
  });
});

test('the summary of the settings shows all of them and no secret', () => {
  const secrets = {
    SECRET_KEY,
    ADMIN_KEY: 'admin-key-'.repeat(4),
    METRICS_TOKEN: 'metrics-token-'.repeat(2),
    DATABASE_URL: 'postgres://user:pass-word@db.example:5433/paybell?password=pass-word',
    EGRESS_PROXY: 'http://user:pass-word@proxy.example:3128',
    CHAIN_RPC: '8453=https://a.example/v2/node-key,8453=https://b.example/node-key,1=http://localhost:8545',
  };
  const config = loadConfig(secrets);
  const summary = summarize(config);
  expect(Object.keys(config).filter((name) => !(name in summary))).toEqual([]);
  const text = JSON.stringify(summary);
  for (const secret of [
    'pass-word',
    'user',
    SECRET_KEY,
    secrets.ADMIN_KEY,
    secrets.METRICS_TOKEN,
    '"0":9',
    'node-key',
    'localhost',
  ]) {
    expect(text).not.toContain(secret);
  }
  expect(summary).toMatchObject({
    DATABASE_URL: 'postgres://db.example:5433/paybell',
    SECRET_KEY: '(set)',
    ADMIN_KEY: '(set)',
    METRICS_TOKEN: '(set)',
    EGRESS_PROXY: 'http://proxy.example:3128',
    CHAIN_RPC: '8453 (2 nodes), 1 (1 node)',
  });
});

test.each([
  ['0s', 0],
  ['1500ms', 1_500],
  ['90d', 90 * 24 * HOUR_MS],
  ['', null],
  ['5', null],
  ['-5s', null],
  ['1.5h', null],
  ['5 s', null],
  ['5S', null],
  ['1w', null],
  ['3651d', null],
  ['9999999999s', null],
])('the duration %j is %p ms', (text, expected) => {
  expect(parseDurationMs(text)).toBe(expected);
});
