import { InvalidArgumentError } from 'commander';
import { parseDurationMs } from '../../config/values.ts';
import { networkOfName } from '../../domain/networks.ts';

/** Parsers of option values. Commander prints their errors after the name of the option. */

const ISO_DATE = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2})?(Z|[+-]\d{2}:\d{2}))?$/;

/** The help text of options that take a moment. */
export const MOMENT = 'a duration ago such as 1h, a date such as 2026-01-31T12:00Z, or Unix seconds';

/** A duration before now, a date or Unix seconds, as the text of the seconds that the query schemas take. */
export function parseMoment(text: string): string {
  if (/^[0-9]{1,16}$/.test(text)) return text;
  const agoMs = parseDurationMs(text);
  const moment = agoMs === null ? parseDate(text) : Date.now() - agoMs;
  if (Number.isNaN(moment) || moment < 0) {
    throw new InvalidArgumentError('Give a duration such as 1h or 7d, a date such as 2026-01-31, or Unix seconds.');
  }
  return String(Math.floor(moment / 1000));
}

function parseDate(text: string): number {
  return ISO_DATE.test(text) ? Date.parse(text) : Number.NaN;
}

export function wholeNumber(min: number, max: number, hint = `Give a whole number from ${min} to ${max}.`) {
  return (text: string): number => {
    const value = /^[0-9]{1,16}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    throw new InvalidArgumentError(hint);
  };
}

/** Returns a parser for durations, in milliseconds. */
export function duration(minMs: number, maxMs: number, hint: string) {
  return (text: string): number => {
    const ms = parseDurationMs(text);
    if (ms !== null && ms >= minMs && ms <= maxMs) return ms;
    throw new InvalidArgumentError(hint);
  };
}

export function parseList(text: string): string[] {
  return text.split(',').map((item) => item.trim());
}

export function parseNetworks(text: string): number[] {
  return parseList(text).map((item) => {
    const networkId = /^[0-9]{1,16}$/.test(item) ? Number(item) : networkOfName(item);
    if (networkId === null)
      throw new InvalidArgumentError(`No network is named ${item}. Give names such as base, or ids such as 1,8453.`);
    return networkId;
  });
}

/** Collects the values of an option that may be repeated. */
export function collect(value: string, earlier: readonly string[] = []): string[] {
  return [...earlier, value];
}
