import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { TRANSFER } from './domain/chain/facts.ts';
import { describeNodes, parseDepths, parseNodes } from './domain/chain/network-nodes.ts';
import { EVENT_KINDS, EVENT_NAME, RETRACTION } from './domain/event-kinds.ts';
import { parseAddressRange } from './domain/ip-address.ts';
import { DEFAULT_NETWORKS, MAX_NETWORK_ID } from './domain/networks.ts';

/** All settings, in one schema over the environment. `.env.example` has the same order, and a test compares the two. */

const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const DURATION = /^([0-9]{1,9})(ms|s|m|h|d)$/;
const MAX_DURATION_MS = 3_650 * UNIT_MS.d;

export function parseDurationMs(text: string): number | null {
  const match = DURATION.exec(text);
  if (match === null) return null;
  const value = Number(match[1]) * UNIT_MS[match[2] as keyof typeof UNIT_MS];
  return value <= MAX_DURATION_MS ? value : null;
}

/** A setting whose text `parse` turns into a value, or into null when the text is invalid. */
function parsed<Value>(parse: (text: string) => Value | null, rule: string) {
  return z.string().transform((text, context): Value => {
    const value = parse(text);
    if (value !== null) return value;
    context.addIssue({ code: 'custom', message: rule });
    return z.NEVER;
  });
}

/** A setting whose parser says itself what is wrong with a text. */
function explained<Value extends object>(parse: (text: string) => Value | string) {
  return z.string().transform((text, context): Value => {
    const value = parse(text);
    if (typeof value !== 'string') return value;
    context.addIssue({ code: 'custom', message: value });
    return z.NEVER;
  });
}

function integer(min: number, max: number) {
  return parsed((text) => {
    const value = /^[0-9]{1,16}$/.test(text) ? Number(text) : Number.NaN;
    return value >= min && value <= max ? value : null;
  }, `must be a whole number from ${min} to ${max}`);
}

const flag = parsed((text) => (text === 'true' ? true : text === 'false' ? false : null), 'must be true or false');

const duration = parsed(
  (text) => parseDurationMs(text) || null,
  'must be a duration greater than zero, such as 15s, 5m, 2h or 30d',
);

const items = (text: string) => text.split(',').map((item) => item.trim());

function list<Value>(parseItem: (text: string) => Value | null, rule: string) {
  return parsed((text) => {
    const values: Value[] = [];
    for (const item of items(text)) {
      const value = parseItem(item);
      if (value === null) return null;
      values.push(value);
    }
    return values;
  }, rule);
}

function networkId(text: string): number | null {
  const value = /^[0-9]{1,16}$/.test(text) ? Number(text) : Number.NaN;
  return value <= MAX_NETWORK_ID ? value : null;
}

/** `100/s` allows bursts of twice the rate, `100/s:500` sets the burst, and `off` means no limit. */
function rateLimit(text: string): { perSecond: number; burst: number } | 'off' | null {
  if (text === 'off') return 'off';
  const match = /^([1-9][0-9]{0,6})\/s(?::([1-9][0-9]{0,6}))?$/.exec(text);
  if (match === null) return null;
  const perSecond = Number(match[1]);
  return { perSecond, burst: match[2] === undefined ? perSecond * 2 : Number(match[2]) };
}

const UNIT_BYTES = { MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 } as const;

function sizeLimit(text: string): number | 'off' | null {
  if (text === 'off') return 'off';
  const match = /^([1-9][0-9]{0,6})(MiB|GiB|TiB)$/.exec(text);
  const bytes = match === null ? null : Number(match[1]) * UNIT_BYTES[match[2] as keyof typeof UNIT_BYTES];
  return bytes !== null && bytes <= MAX_SIZE_BYTES ? bytes : null;
}

const MAX_SIZE_BYTES = 1_024 * UNIT_BYTES.TiB;
const sizeRule = 'must be off or a size up to 1024TiB, such as 500MiB, 50GiB or 2TiB';

export type DatabaseTarget = { engine: 'sqlite'; file: string } | { engine: 'postgres'; url: string };

function databaseTarget(text: string): DatabaseTarget | null {
  if (/^postgres(ql)?:\/\//.test(text)) return URL.parse(text)?.hostname ? { engine: 'postgres', url: text } : null;
  const file = /^sqlite:(?:\/\/(?=\/))?(.+)$/.exec(text)?.[1];
  return file === undefined || file.includes(':memory:') || file.startsWith('//') ? null : { engine: 'sqlite', file };
}

export const SECRET_KEY_RULE = 'must be base64 of exactly 32 random bytes: openssl rand -base64 32';

export function parseSecretKey(text: string): Uint8Array | null {
  const bytes = Buffer.from(text, 'base64');
  return bytes.length === 32 && bytes.toString('base64') === text ? new Uint8Array(bytes) : null;
}

function readablePem(file: string): string | null {
  try {
    const text = readFileSync(file, 'utf8');
    return text.includes('-----BEGIN CERTIFICATE-----') ? text : null;
  } catch {
    return null;
  }
}

const origin = (text: string) => (URL.canParse(text) && new URL(text).origin === text ? text : null);
const addressRange = (text: string) => (parseAddressRange(text) === null ? null : text);
const text = (shape: RegExp, rule: string) => parsed((value) => (shape.test(value) ? value : null), rule);

/** The names that Paybell sends, and those of HTTP: as a signature, they would break the request or be misread. */
const RESERVED_PREFIX = /^(?:webhook|paybell|content|accept|access-control|proxy|sec|if|x-forwarded)-/;
const RESERVED_NAMES = new Set(
  (
    'accept authorization cache-control connection cookie date expect forwarded from host keep-alive max-forwards ' +
    'origin pragma range referer te trailer transfer-encoding upgrade user-agent via'
  ).split(' '),
);
const isReservedHeader = (name: string) => RESERVED_PREFIX.test(name) || RESERVED_NAMES.has(name);

const rateRule = 'must be off, a rate such as 100/s, or a rate with a burst such as 100/s:200';

/** With the event of sources that stands for two kinds. */
const BUILT_IN_EVENTS: readonly string[] = [...EVENT_KINDS, RETRACTION, TRANSFER];

/** How the log shows the settings that it must not show as they are. */
const shown = z.registry<{ inLog: (value: z.$output) => string }>();
const MASKED = { inLog: () => '(set)' };

const schema = z
  .object({
    HOST: text(/^[A-Za-z0-9.:_-]{1,253}$/, 'must be a host name or an address to listen on').default('127.0.0.1'),
    PORT: integer(0, 65_535).default(8080),
    DATABASE_URL: parsed(databaseTarget, 'must be sqlite:<file> or postgres://user:password@host:port/database')
      .default({ engine: 'sqlite', file: './data/paybell.db' })
      .register(shown, { inLog: describeTarget }),
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
    ADMIN_KEY: text(/^[\x21-\x2b\x2d-\x7e]{32,256}$/, 'must be 32 to 256 printable characters without spaces or commas')
      .optional()
      .register(shown, MASKED),
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
    ENTITY_SOURCE_LIMIT: integer(1, 10_000).default(100),
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
    BODY_SIGNATURE_HEADER: text(/^[a-z][a-z0-9-]{0,63}$/, 'must be a header name in lower case')
      .refine((name) => !isReservedHeader(name), { error: 'must be a name that neither Paybell nor HTTP uses' })
      .optional(),
    BODY_SIGNATURE_KEY: z.enum(['bytes', 'text'], { error: 'must be bytes or text' }).default('bytes'),
    SIGN_ASYMMETRIC: flag.default(false),
    CHAIN_RPC: explained(parseNodes)
      .default([])
      .register(shown, { inLog: (networks) => describeNodes(networks) }),
    CHAIN_FINALITY: explained(parseDepths).default([]),
    CHAIN_GRACE: integer(0, 100).default(3),
    REUSE_PORT: flag.default(false),
    ROLE: z.enum(['all', 'api', 'delivery', 'chain'], { error: 'must be all, api, delivery or chain' }).default('all'),
    LOG_LEVEL: z
      .enum(['debug', 'info', 'warn', 'error', 'silent'], { error: 'must be debug, info, warn, error or silent' })
      .default('info'),
  })
  .refine((settings) => settings.DATABASE_URL?.engine !== 'postgres' || settings.SECRET_KEY !== undefined, {
    path: ['SECRET_KEY'],
    error: 'must be set when DATABASE_URL is PostgreSQL, to the same value on every instance: openssl rand -base64 32',
    // Checked even when other settings are invalid, so that all errors are reported together.
    when: () => true,
  });

export const SETTING_NAMES = Object.keys(schema.shape) as (keyof typeof schema.shape)[];

export type Config = Readonly<z.output<typeof schema>>;

/** Reports all invalid settings at once. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';

  constructor(readonly errors: readonly { setting: string; message: string }[]) {
    super(errors.map(({ setting, message }) => `${setting} ${message}`).join('\n'));
  }
}

/** An empty variable counts as not set, which is what `NAME=` in an env file means. */
export function loadConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const given = Object.fromEntries(
    SETTING_NAMES.map((name) => [name, environment[name]]).filter(([, value]) => value !== undefined && value !== ''),
  );
  const result = schema.safeParse(given);
  if (!result.success) {
    const errors = new Map<string, string>();
    for (const issue of result.error.issues) {
      const setting = String(issue.path[0]);
      if (!errors.has(setting)) errors.set(setting, issue.message);
    }
    throw new ConfigError([...errors].map(([setting, message]) => ({ setting, message })));
  }
  return Object.freeze(result.data);
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

export function describeTarget(target: DatabaseTarget): string {
  if (target.engine === 'sqlite') return `sqlite:${target.file}`;
  const url = new URL(target.url);
  return `postgres://${url.host}${url.pathname}`;
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

/** All event kinds that webhooks can be registered for. */
export function knownEvents(config: Config): string[] {
  return [...EVENT_KINDS, ...config.EXTRA_EVENTS];
}

/** All event kinds that events and deliveries can be of. */
export function sentEvents(config: Config): string[] {
  return [...knownEvents(config), RETRACTION];
}
