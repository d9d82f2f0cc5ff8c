import { z } from 'zod';
import { databaseTarget, describeTarget, postgresUrl } from './config/database-target.ts';
import { describeProxy, parseEgressProxy, parseSourceAddress } from './config/egress.ts';
import { openTelemetrySettings, telemetryUrl } from './config/open-telemetry.ts';
import { isReservedHeader } from './config/reserved-headers.ts';
import { parseSecretKey, readSecretKeyFile, runSecretKeyCommand, SECRET_KEY_RULE } from './config/secret-key.ts';
import {
  addressRange,
  duration,
  explained,
  flag,
  integer,
  list,
  MASKED,
  networkId,
  origin,
  parseDurationMs,
  parsed,
  rateLimit,
  rateRule,
  readablePem,
  shown,
  sizeLimit,
  sizeRule,
  text,
  UNIT_BYTES,
  UNIT_MS,
  workerCount,
} from './config/values.ts';
import { TRANSFER } from './domain/chain/facts.ts';
import {
  describeNodes,
  hasQuorums,
  parseDepths,
  parseLeastDepths,
  parseNodes,
  parsePolls,
  parseQuorums,
} from './domain/chain/network-nodes.ts';
import { isMadeUp } from './domain/chain/practice.ts';
import { EVENT_KINDS, EVENT_NAME, RETRACTION } from './domain/event-kinds.ts';
import { type OperatorKey, parseOperatorKeys, unnamedOperatorKey } from './domain/keys/operator-keys.ts';
import { DEFAULT_NETWORKS } from './domain/networks.ts';

/** All settings, in one schema over the environment. `.env.example` has the same order, and a test compares the two. */

/** With the event of sources that stands for two kinds. */
const BUILT_IN_EVENTS: readonly string[] = [...EVENT_KINDS, RETRACTION, TRANSFER];

const schema = z
  .object({
    HOST: text(/^[A-Za-z0-9.:_-]{1,253}$/, 'must be a host name or an address to listen on').default('127.0.0.1'),
    PORT: integer(0, 65_535).default(8080),
    DATABASE_URL: parsed(databaseTarget, 'must be sqlite:<file> or postgres://user:password@host:port/database')
      .default({ engine: 'sqlite', file: './data/paybell.db' })
      .register(shown, { inLog: describeTarget }),
    LISTEN_DATABASE_URL: parsed(postgresUrl, 'must be postgres://user:password@host:port/database')
      .optional()
      .register(shown, MASKED),
    DATABASE_POOL: integer(8, 1_000).default(16),
    DATABASE_TIMEOUT: duration
      .refine((ms) => ms >= 2_000 && ms <= 300_000, { error: 'must be at least 2s and at most 5m' })
      .default(5_000),
    AUTO_MIGRATE: flag.default(true),
    PROCESSOR: text(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 letters, digits, - or _').default('crypto'),
    NETWORKS: list(networkId, 'must be a comma-separated list of network ids, such as 1,8453').default([
      ...DEFAULT_NETWORKS,
    ]),
    EXTRA_EVENTS: list(
      (name) => (EVENT_NAME.test(name) && !BUILT_IN_EVENTS.includes(name) ? name : null),
      'must be a comma-separated list of event names other than the built-in ones',
    ).default([]),
    SECRET_KEY: parsed(parseSecretKey, SECRET_KEY_RULE).optional().register(shown, MASKED),
    SECRET_KEY_FILE: explained(readSecretKeyFile).optional().register(shown, MASKED),
    SECRET_KEY_COMMAND: z
      .string()
      .max(4_096, 'must be a command of at most 4096 characters')
      .optional()
      .register(shown, MASKED),
    ADMIN_KEY: text(/^[\x21-\x2b\x2d-\x7e]{32,256}$/, 'must be 32 to 256 printable characters without spaces or commas')
      .optional()
      .register(shown, MASKED),
    ADMIN_KEYS: explained(parseOperatorKeys)
      .default([])
      .register(shown, { inLog: (keys) => keys.map(({ name }) => name).join(',') }),
    ALLOW_INSECURE_TARGETS: flag.default(false),
    RETRY_SCHEDULE: list(parseDurationMs, 'must be a comma-separated list of durations, such as 0s,5s,5m')
      .refine((steps) => steps.length <= 50, { error: 'must have at most 50 steps' })
      .default([0, 5_000, 300_000, ...[0.5, 2, 5, 10, 14, 20, 24].map((hours) => hours * UNIT_MS.h)]),
    DELIVERY_TIMEOUT: duration.refine((ms) => ms <= 300_000, { error: 'must be at most 5m' }).default(15_000),
    DELIVERY_CONCURRENCY: integer(1, 65_336).default(8_192),
    DESTINATION_CONCURRENCY: integer(1, 65_336).default(16),
    RETENTION: duration.default(30 * UNIT_MS.d),
    ENTITY_WEBHOOK_LIMIT: integer(1, 100_000_000).default(10_000),
    ENTITY_BACKLOG_LIMIT: integer(1, 1_000_000_000).default(1_000_000),
    ENTITY_STORAGE_LIMIT: parsed(sizeLimit, sizeRule).default(50 * UNIT_BYTES.GiB),
    ENTITY_HELD_LIMIT: integer(1, 10_000).default(1_000),
    ENTITY_SOURCE_LIMIT: integer(1, 10_000).default(100),
    ENTITY_INVOICE_LIMIT: integer(1, 1_000_000).default(10_000),
    ENTITY_ADDRESS_LIMIT: integer(1, 10_000_000).default(100_000),
    RATE_LIMIT: parsed(rateLimit, rateRule).default({ perSecond: 100, burst: 200 }),
    EVENT_RATE_LIMIT: parsed(rateLimit, rateRule).default({ perSecond: 2_000, burst: 10_000 }),
    FEED_LIMIT: integer(1, 100_000).default(100),
    TRUST_PROXY: list(
      addressRange,
      'must be a comma-separated list of addresses or ranges, such as 10.0.0.0/8',
    ).default([]),
    CORS_ORIGINS: list(origin, 'must be a comma-separated list of origins, such as https://app.example.com').default(
      [],
    ),
    METRICS_TOKEN: text(/^[\x21-\x7e]{16,256}$/, 'must be 16 to 256 printable characters without spaces')
      .optional()
      .register(shown, MASKED),
    EXTRA_CA_FILE: parsed(readablePem, 'must be the path of a readable file with PEM certificates')
      .optional()
      .register(shown, MASKED),
    EGRESS_PROXY: explained(parseEgressProxy)
      .optional()
      .register(shown, {
        inLog: (proxy) => (proxy === undefined ? '' : describeProxy(proxy)),
      }),
    EGRESS_BIND: parsed(parseSourceAddress, 'must be an IPv4 or IPv6 address of this machine').optional(),
    BODY_SIGNATURE_HEADER: text(/^[a-z][a-z0-9-]{0,63}$/, 'must be a header name in lower case')
      .refine((name) => !isReservedHeader(name), { error: 'must be a name that neither Paybell nor HTTP uses' })
      .optional(),
    BODY_SIGNATURE_KEY: z.enum(['bytes', 'text'], { error: 'must be bytes or text' }).default('bytes'),
    SIGN_ASYMMETRIC: flag.default(false),
    CHAIN_RPC: explained(parseNodes)
      .default([])
      .register(shown, { inLog: (networks) => describeNodes(networks) }),
    CHAIN_RPC_RATE: integer(1, 10_000).default(25),
    CHAIN_FINALITY: explained(parseDepths).default([]),
    CHAIN_MIN_DEPTH: explained(parseLeastDepths).default([]),
    CHAIN_QUORUM: explained(parseQuorums).default([]),
    CHAIN_POLL: explained(parsePolls).default([]),
    CHAIN_GRACE: integer(0, 100).default(3),
    CHAIN_ADDRESS_LIMIT: integer(1, 100_000_000).default(1_000_000),
    REUSE_PORT: flag.default(false),
    WORKERS: parsed(workerCount, 'must be auto or a whole number from 1 to 256').default(1),
    ROLE: z.enum(['all', 'api', 'delivery', 'chain'], { error: 'must be all, api, delivery or chain' }).default('all'),
    LOG_LEVEL: z
      .enum(['debug', 'info', 'warn', 'error', 'silent'], { error: 'must be debug, info, warn, error or silent' })
      .default('info'),
    ...openTelemetrySettings,
  })
  // The checks below run even when other settings are invalid, so that all errors are reported together.
  .refine((settings) => settings.DATABASE_URL?.engine !== 'postgres' || secretKeysIn(settings).length > 0, {
    path: ['SECRET_KEY'],
    error: 'must be set when DATABASE_URL is PostgreSQL, to the same value on every instance: openssl rand -base64 32',
    when: () => true,
  })
  .refine((settings) => secretKeysIn(settings).length <= 1, {
    path: ['SECRET_KEY'],
    error: 'must be given in one way alone: SECRET_KEY, SECRET_KEY_FILE or SECRET_KEY_COMMAND',
    when: () => true,
  })
  .refine(({ CHAIN_QUORUM, CHAIN_RPC }) => hasQuorums(CHAIN_QUORUM ?? [], CHAIN_RPC ?? []), {
    path: ['CHAIN_QUORUM'],
    error: 'must not ask for more nodes of a network than CHAIN_RPC has',
    when: ({ issues }) => issues.length === 0,
  })
  .refine(
    ({ DATABASE_URL: target, WORKERS }) => target?.engine !== 'sqlite' || WORKERS === undefined || WORKERS === 1,
    {
      path: ['WORKERS'],
      error: 'must be 1 with SQLite, which one process has open; with PostgreSQL there can be several',
      when: () => true,
    },
  );

type SecretKeys = Partial<Record<'SECRET_KEY' | 'SECRET_KEY_FILE' | 'SECRET_KEY_COMMAND', unknown>>;

function secretKeysIn({ SECRET_KEY, SECRET_KEY_FILE, SECRET_KEY_COMMAND }: SecretKeys): unknown[] {
  return [SECRET_KEY, SECRET_KEY_FILE, SECRET_KEY_COMMAND].filter((key) => key !== undefined);
}

export const SETTING_NAMES = Object.keys(schema.shape) as (keyof typeof schema.shape)[];

export type Config = Readonly<z.output<typeof schema>>;

/** Reports all invalid settings at once. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';

  constructor(readonly errors: readonly { setting: string; message: string }[]) {
    super(errors.map(({ setting, message }) => `${setting} ${message}`).join('\n'));
  }
}

/**
 * An empty variable counts as not set, as with `NAME=` in an env file. The key is read last, and only if it is needed:
 * that may run a command.
 */
export function loadConfig(
  environment: Readonly<Record<string, string | undefined>>,
  { withSecretKey = true }: { withSecretKey?: boolean } = {},
): Config {
  const given = Object.fromEntries(
    SETTING_NAMES.map((name) => [name, environment[name]]).filter(([, value]) => value !== undefined && value !== ''),
  );
  // Parsed once: compiling the schema first takes as long again as parsing.
  const result = schema.safeParse(given, { jitless: true });
  if (!result.success) {
    const errors = new Map<string, string>();
    for (const issue of result.error.issues) {
      const setting = String(issue.path[0]);
      if (!errors.has(setting)) errors.set(setting, issue.message);
    }
    throw new ConfigError([...errors].map(([setting, message]) => ({ setting, message })));
  }
  return Object.freeze(withSecretKey ? { ...result.data, SECRET_KEY: secretKeyIn(result.data) } : result.data);
}

/** However it was given, so that no one else has to know the three ways. */
function secretKeyIn({ SECRET_KEY, SECRET_KEY_FILE, SECRET_KEY_COMMAND }: Config): Uint8Array | undefined {
  if (SECRET_KEY_COMMAND === undefined) return SECRET_KEY ?? SECRET_KEY_FILE;
  const key = runSecretKeyCommand(SECRET_KEY_COMMAND);
  if (typeof key === 'string') throw new ConfigError([{ setting: 'SECRET_KEY_COMMAND', message: key }]);
  return key;
}

/** All settings without the secrets in them, for the log. */
export function summarize(config: Config): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(config).map(([name, value]) => [name, value === undefined ? value : shownInLog(name, value)]),
  );
}

function shownInLog(name: string, value: unknown): unknown {
  const setting: z.ZodType | undefined = schema.shape[name as keyof Config];
  const inLog = setting === undefined ? undefined : shown.get(setting)?.inLog;
  return inLog === undefined ? value : inLog(value);
}

/** The settings that differ from their defaults, for the log. */
export function summarizeChanges(config: Config): Record<string, unknown> {
  const defaults = summarize(loadConfig({}));
  const differs = ([name, value]: [string, unknown]) => JSON.stringify(value) !== JSON.stringify(defaults[name]);
  return Object.fromEntries(Object.entries(summarize(config)).filter(differs));
}

/** All keys that act for every entity. */
export function operatorKeys({ ADMIN_KEY, ADMIN_KEYS }: Pick<Config, 'ADMIN_KEY' | 'ADMIN_KEYS'>): OperatorKey[] {
  return ADMIN_KEY === undefined ? ADMIN_KEYS : [unnamedOperatorKey(ADMIN_KEY), ...ADMIN_KEYS];
}

export function storageLimitBytes({ ENTITY_STORAGE_LIMIT: limit }: Config): number {
  return limit === 'off' ? Number.POSITIVE_INFINITY : limit;
}

export function servesApi({ ROLE }: Pick<Config, 'ROLE'>): boolean {
  return ROLE === 'all' || ROLE === 'api';
}

export function delivers({ ROLE }: Pick<Config, 'ROLE'>): boolean {
  return ROLE === 'all' || ROLE === 'delivery';
}

export function followsChains({ ROLE, CHAIN_RPC }: Pick<Config, 'ROLE' | 'CHAIN_RPC'>): boolean {
  return CHAIN_RPC.length > 0 && (ROLE === 'all' || ROLE === 'chain');
}

/** Whether Paybell makes payments up instead of reading networks. */
export function isPracticeMode({ CHAIN_RPC }: Pick<Config, 'CHAIN_RPC'>): boolean {
  return CHAIN_RPC.some(isMadeUp);
}

/** The networks of a registration that names none. Practice payments need a webhook too. */
export function knownNetworks(config: Pick<Config, 'NETWORKS' | 'CHAIN_RPC'>): number[] {
  const madeUp = config.CHAIN_RPC.filter(isMadeUp).map(({ networkId }) => networkId);
  return [...new Set([...madeUp, ...config.NETWORKS])];
}

export function exportsTelemetry(config: Config): boolean {
  return telemetryUrl(config, 'TRACES') !== null || telemetryUrl(config, 'METRICS') !== null;
}

/** All event kinds that webhooks can be registered for. */
export function knownEvents(config: Config): string[] {
  return [...EVENT_KINDS, ...config.EXTRA_EVENTS];
}

/** All event kinds that events and deliveries can be of. */
export function sentEvents(config: Config): string[] {
  return [...knownEvents(config), RETRACTION];
}
