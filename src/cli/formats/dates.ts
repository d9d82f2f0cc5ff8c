import { InvalidArgumentError } from 'commander';

const ISO_DATE = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2})?(Z|[+-]\d{2}:\d{2}))?$/;

/** A date as people write it, or Unix seconds; answers the seconds as text, for the schema of the query. */
export function parseMoment(text: string): string {
  if (/^[0-9]{1,16}$/.test(text)) return text;
  const moment = ISO_DATE.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(moment) || moment < 0) {
    throw new InvalidArgumentError('Give a date such as 2026-01-31, 2026-01-31T12:00Z, or Unix seconds.');
  }
  return String(Math.floor(moment / 1000));
}
