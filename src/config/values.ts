import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { parseAddressRange } from '../domain/ip-address.ts';
import { MAX_NETWORK_ID } from '../domain/networks.ts';

/** The kinds of values that settings have, each with the rule that an invalid one is answered with. */

/** How the log shows the settings that it must not show as they are. */
export const shown = z.registry<{ inLog: (value: z.$output) => string }>();
export const MASKED = { inLog: () => '(set)' };

export const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const DURATION = /^([0-9]{1,9})(ms|s|m|h|d)$/;
const MAX_DURATION_MS = 3_650 * UNIT_MS.d;

export function parseDurationMs(text: string): number | null {
  const match = DURATION.exec(text);
  if (match === null) return null;
  const value = Number(match[1]) * UNIT_MS[match[2] as keyof typeof UNIT_MS];
  return value <= MAX_DURATION_MS ? value : null;
}

/** A setting whose text `parse` turns into a value, or into null when the text is invalid. */
export function parsed<Value>(parse: (text: string) => Value | null, rule: string) {
  return z.string().transform((text, context): Value => {
    const value = parse(text);
    if (value !== null) return value;
    context.addIssue({ code: 'custom', message: rule });
    return z.NEVER;
  });
}

/** A setting whose parser says itself what is wrong with a text. */
export function explained<Value extends object>(parse: (text: string) => Value | string) {
  return z.string().transform((text, context): Value => {
    const value = parse(text);
    if (typeof value !== 'string') return value;
    context.addIssue({ code: 'custom', message: value });
    return z.NEVER;
  });
}

export function integer(min: number, max: number) {
  return parsed((text) => {
    const value = /^[0-9]{1,16}$/.test(text) ? Number(text) : Number.NaN;
    return value >= min && value <= max ? value : null;
  }, `must be a whole number from ${min} to ${max}`);
}

/** `auto` is one for each core. */
export function workerCount(text: string): number | 'auto' | null {
  if (text === 'auto') return text;
  const count = /^[0-9]{1,3}$/.test(text) ? Number(text) : 0;
  return count >= 1 && count <= 256 ? count : null;
}

export const flag = parsed(
  (text) => (text === 'true' ? true : text === 'false' ? false : null),
  'must be true or false',
);

export const duration = parsed(
  (text) => parseDurationMs(text) || null,
  'must be a duration greater than zero, such as 15s, 5m, 2h or 30d',
);

const items = (text: string) => text.split(',').map((item) => item.trim());

export function list<Value>(parseItem: (text: string) => Value | null, rule: string) {
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

export function networkId(text: string): number | null {
  const value = /^[0-9]{1,16}$/.test(text) ? Number(text) : Number.NaN;
  return value <= MAX_NETWORK_ID ? value : null;
}

/** `100/s` allows bursts of twice the rate, `100/s:500` sets the burst, and `off` means no limit. */
export function rateLimit(text: string): { perSecond: number; burst: number } | 'off' | null {
  if (text === 'off') return 'off';
  const match = /^([1-9][0-9]{0,6})\/s(?::([1-9][0-9]{0,6}))?$/.exec(text);
  if (match === null) return null;
  const perSecond = Number(match[1]);
  return { perSecond, burst: match[2] === undefined ? perSecond * 2 : Number(match[2]) };
}

export const rateRule = 'must be off, a rate such as 100/s, or a rate with a burst such as 100/s:200';

export const UNIT_BYTES = { MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 } as const;

export function sizeLimit(text: string): number | 'off' | null {
  if (text === 'off') return 'off';
  const match = /^([1-9][0-9]{0,6})(MiB|GiB|TiB)$/.exec(text);
  const bytes = match === null ? null : Number(match[1]) * UNIT_BYTES[match[2] as keyof typeof UNIT_BYTES];
  return bytes !== null && bytes <= MAX_SIZE_BYTES ? bytes : null;
}

const MAX_SIZE_BYTES = 1_024 * UNIT_BYTES.TiB;
export const sizeRule = 'must be off or a size up to 1024TiB, such as 500MiB, 50GiB or 2TiB';

export function readablePem(file: string): string | null {
  try {
    const text = readFileSync(file, 'utf8');
    return text.includes('-----BEGIN CERTIFICATE-----') ? text : null;
  } catch {
    return null;
  }
}

export const origin = (text: string) => (URL.canParse(text) && new URL(text).origin === text ? text : null);
export const addressRange = (text: string) => (parseAddressRange(text) === null ? null : text);
export const text = (shape: RegExp, rule: string) => parsed((value) => (shape.test(value) ? value : null), rule);
