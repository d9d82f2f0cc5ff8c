import { BoundedMap } from '../../bounded-map.ts';
import { badResponse } from './errors.ts';

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9][0-9]{2})(?: .*)?$/;
const LENGTH = /^[0-9]{1,15}$/;

/** How the body ends: after so many bytes, with its last chunk, or with the connection. */
export type BodyEnd = number | 'in chunks' | 'until the end';

/** What counts of an answer's head. */
export type Head = {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly keepsAlive: boolean;
  readonly body: BodyEnd;
};

/** Receivers say the same over and over, but for the date, which changes once a second. */
const MAX_KNOWN = 256;
const known = new BoundedMap<string, Head>(MAX_KNOWN);
const MAX_KNOWN_LENGTH = 1_024;

export function readHead(text: string): Head {
  const before = known.get(text);
  if (before !== undefined) return before;
  const head = parseHead(text);
  if (text.length > MAX_KNOWN_LENGTH) return head;
  known.set(text, head);
  return head;
}

function parseHead(text: string): Head {
  const [statusLine = '', ...lines] = text.split(/\r?\n/);
  const [, minor, digits] = STATUS_LINE.exec(statusLine) ?? [];
  if (digits === undefined || text.includes('\0')) throw badResponse('malformed head');
  const status = Number(digits);
  if (status === 101) throw badResponse('unrequested upgrade');
  const fields = readFields(lines);
  const body = bodyEnd(status, fields);
  const keepsAlive = minor === '1' && body !== 'until the end' && !/\bclose\b/i.test(fields.connection ?? '');
  return { status, retryAfter: fields['retry-after'] ?? null, keepsAlive, body };
}

const WANTED = ['content-length', 'transfer-encoding', 'connection', 'retry-after'] as const;
type Fields = { -readonly [Name in (typeof WANTED)[number]]?: string };

function readFields(lines: readonly string[]): Fields {
  const fields: Fields = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    if (colon < 1 || line.startsWith(' ') || line.startsWith('\t')) throw badResponse('malformed header');
    const name = WANTED.find((wanted) => wanted.length === colon && wanted === line.slice(0, colon).toLowerCase());
    if (name === undefined) continue;
    const value = line.slice(colon + 1).trim();
    const before = fields[name];
    if (name === 'content-length' && before !== undefined && before !== value) throw badResponse('two lengths');
    fields[name] = name === 'transfer-encoding' && before !== undefined ? `${before}, ${value}` : value;
  }
  return fields;
}

function bodyEnd(status: number, fields: Fields): BodyEnd {
  const encoding = fields['transfer-encoding'];
  const length = fields['content-length'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'chunked') throw badResponse('unknown transfer encoding');
  if (length !== undefined && !LENGTH.test(length)) throw badResponse('malformed length');
  if (status < 200 || status === 204 || status === 304) return 0;
  if (encoding !== undefined) return 'in chunks';
  return length === undefined ? 'until the end' : Number(length);
}
