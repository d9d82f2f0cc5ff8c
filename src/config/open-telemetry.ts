import { z } from 'zod';
import { explained, flag, integer, MASKED, parsed, shown, text } from './values.ts';

/**
 * The settings of OpenTelemetry, under the names and with the defaults of its specification. For an invalid value,
 * Paybell does not start, as with every other setting, even if the specification says to ignore it.
 */

const PAIR_NAME = /^[\w!#$%&'*+.^`|~-]{1,255}$/;
const PAIR_VALUE = /^[\x20-\x7e]{0,4096}$/;

/** `name=value,name=value`, with values that may be percent-encoded. */
function parsePairs(given: string): Record<string, string> | string {
  const pairs: Record<string, string> = {};
  for (const member of given.split(',').filter((each) => each.trim() !== '')) {
    const at = member.indexOf('=');
    const name = member.slice(0, Math.max(at, 0)).trim();
    const value = decoded(member.slice(at + 1).trim());
    // The value may be a secret, so the message repeats no part of it.
    if (!PAIR_NAME.test(name) || value === null || !PAIR_VALUE.test(value)) return PAIRS_RULE;
    pairs[name] = value;
  }
  return pairs;
}

const PAIRS_RULE = 'must be a comma-separated list of name=value, with values in ASCII or percent-encoded';

function decoded(value: string): string | null {
  try {
    return decodeURIComponent(value);
  } catch {
    return null;
  }
}

const pairs = () => explained(parsePairs);

/** A user name, a password or a token may be part of it. */
const inLog = (url: string) => `${new URL(url).origin}${new URL(url).pathname}`;

const endpoint = () =>
  parsed(
    (value) => (/^https?:$/.test(URL.parse(value)?.protocol ?? '') ? value : null),
    'must be an http or https URL, such as http://collector:4318',
  )
    .optional()
    .register(shown, { inLog: (url) => (url === undefined ? '' : inLog(url)) });

const headers = () => pairs().optional().register(shown, MASKED);

const exporter = () => z.enum(['otlp', 'none'], { error: 'must be otlp or none' }).default('otlp');

const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

const MAX_MS = 600_000;

export const openTelemetrySettings = {
  OTEL_EXPORTER_OTLP_ENDPOINT: endpoint(),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: endpoint(),
  OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: endpoint(),
  OTEL_EXPORTER_OTLP_HEADERS: headers(),
  OTEL_EXPORTER_OTLP_TRACES_HEADERS: headers(),
  OTEL_EXPORTER_OTLP_METRICS_HEADERS: headers(),
  OTEL_EXPORTER_OTLP_PROTOCOL: z
    .enum(['http/protobuf', 'http/json'], {
      error: 'must be http/protobuf or http/json; a collector that takes gRPC has another port for these, usually 4318',
    })
    .default('http/protobuf'),
  OTEL_EXPORTER_OTLP_COMPRESSION: z.enum(['none', 'gzip'], { error: 'must be none or gzip' }).default('none'),
  OTEL_EXPORTER_OTLP_TIMEOUT: integer(1, MAX_MS).default(10_000),
  OTEL_TRACES_EXPORTER: exporter(),
  OTEL_METRICS_EXPORTER: exporter(),
  OTEL_TRACES_SAMPLER: z
    .enum(SAMPLERS, { error: `must be ${SAMPLERS.slice(0, -1).join(', ')} or ${SAMPLERS.at(-1)}` })
    .default('parentbased_always_on'),
  OTEL_TRACES_SAMPLER_ARG: parsed((value) => {
    const ratio = /^[0-9]*\.?[0-9]+$/.test(value) ? Number(value) : Number.NaN;
    return ratio <= 1 ? ratio : null;
  }, 'must be a number from 0 to 1').default(1),
  OTEL_SERVICE_NAME: text(/^[\x20-\x7e]{1,255}$/, 'must be 1 to 255 printable characters').optional(),
  OTEL_RESOURCE_ATTRIBUTES: pairs().default({}),
  OTEL_BSP_SCHEDULE_DELAY: integer(1, MAX_MS).default(5_000),
  OTEL_BSP_MAX_QUEUE_SIZE: integer(1, 1_000_000).default(2_048),
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: integer(1, 100_000).default(512),
  OTEL_METRIC_EXPORT_INTERVAL: integer(100, 3_600_000).default(60_000),
  OTEL_SDK_DISABLED: flag.default(false),
};

type Settings = Readonly<z.output<z.ZodObject<typeof openTelemetrySettings>>>;

export type Signal = 'TRACES' | 'METRICS';

/**
 * The URL for a signal, or null if the signal is off. A common endpoint is a base URL. An endpoint for one signal is
 * used as it is.
 */
export function telemetryUrl(settings: Settings, signal: Signal): string | null {
  if (settings.OTEL_SDK_DISABLED || settings[`OTEL_${signal}_EXPORTER`] === 'none') return null;
  const own = settings[`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`];
  if (own !== undefined) return own;
  const base = settings.OTEL_EXPORTER_OTLP_ENDPOINT;
  return base === undefined ? null : `${base.replace(/\/+$/, '')}/v1/${signal.toLowerCase()}`;
}

/** A signal's own headers replace the common ones, as the specification says. */
export function telemetryHeaders(settings: Settings, signal: Signal): Record<string, string> {
  return settings[`OTEL_EXPORTER_OTLP_${signal}_HEADERS`] ?? settings.OTEL_EXPORTER_OTLP_HEADERS ?? {};
}
