import { type InputError, Problem } from '../../contract/problems.ts';

/** Deep enough for any event, and shallow enough for recursive code. */
const MAX_JSON_DEPTH = 64;
const MAX_JSON_BYTES = 256 * 1024;

/**
 * Checks the content type, then the size, then the syntax. `whenEmpty` returns the value of an empty body, which needs
 * no content type. If it returns undefined, an empty body is an error.
 */
export async function readJson(request: Request, whenEmpty: () => unknown = () => undefined): Promise<unknown> {
  const value = request.body === null ? whenEmpty() : undefined;
  if (value !== undefined) return value;
  const bytes = await readRaw(request, { contentType: 'application/json', maxBytes: MAX_JSON_BYTES });
  return (bytes.length === 0 ? whenEmpty() : undefined) ?? parseJson(decodeUtf8(bytes)).value;
}

/** The bytes of the body, after its content type and size are checked. */
export function readRaw(
  request: Request,
  { contentType, maxBytes }: { readonly contentType: string; readonly maxBytes: number },
): Promise<Uint8Array> {
  requireContentType(request.headers, contentType);
  requireNoEncoding(request.headers);
  return readBytes(request, maxBytes);
}

function requireContentType(headers: Headers, expected: string): void {
  const given = headers.get('content-type') ?? '';
  if (given === expected) return;
  const [type = '', ...parameters] = given.split(';').map((part) => part.trim().toLowerCase());
  const charset = parameters.find((parameter) => parameter.startsWith('charset='));
  const utf8 = charset === undefined || /^charset="?utf-8"?$/.test(charset);
  if (type === expected && utf8) return;
  throw new Problem('unsupported_media_type', `Send the body with content-type: ${expected}, encoded in UTF-8.`, {
    errors: [{ in: 'header', name: 'content-type', message: `must be ${expected}` }],
  });
}

/** A decompressed body could be many times larger than the request, so compressed bodies are rejected. */
function requireNoEncoding(headers: Headers): void {
  const encoding = headers.get('content-encoding');
  if (encoding === null || encoding.trim().toLowerCase() === 'identity') return;
  throw new Problem('unsupported_media_type', 'Send the body without a content-encoding: it must not be compressed.', {
    errors: [{ in: 'header', name: 'content-encoding', message: 'must be absent or identity' }],
    headers: { 'accept-encoding': 'identity' },
  });
}

/** Stops reading at the limit, whatever content-length the client sent. */
async function readBytes(request: Request, maxBytes: number): Promise<Uint8Array> {
  const length = request.headers.get('content-length');
  if (length !== null && Number(length) > maxBytes) throw tooLarge(maxBytes);
  try {
    // The server reads no more than content-length bytes.
    if (length !== null && !request.headers.has('transfer-encoding')) return await request.bytes();
    return request.body === null ? new Uint8Array() : await readParts(request.body, maxBytes);
  } catch (error) {
    // The client closed the connection or was too slow. That is not an error of the service, so it is not logged.
    throw error instanceof Problem
      ? error
      : new Problem('incomplete_body', 'The connection was closed before the whole body had arrived.');
  }
}

async function readParts(body: ReadableStream<Uint8Array>, maxBytes: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of body) {
    size += part.byteLength;
    if (size > maxBytes) throw tooLarge(maxBytes);
    parts.push(part);
  }
  return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts);
}

const strictDecoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Rejects invalid UTF-8, which would otherwise be replaced silently and change the bytes of the payload. */
export function decodeUtf8(bytes: Uint8Array): string {
  try {
    return strictDecoder.decode(bytes);
  } catch {
    throw new Problem('invalid_json', 'The body is not valid UTF-8.');
  }
}

/** A field at the top of a JSON object whose text is checked. */
export type CheckedField = { readonly name: string; readonly isInteger: boolean };

/**
 * Also returns errors of the given fields that parsing would hide. If a field is given twice, `JSON.parse` takes the
 * last one, but a receiver may take the first. It also rounds a number with too many digits.
 */
export function parseJson(
  text: string,
  fields: readonly CheckedField[] = [],
): { value: unknown; hiddenErrors: readonly InputError[] } {
  try {
    const ends = scanJson(text, fields);
    if (ends !== null) return { value: JSON.parse(text), hiddenErrors: hiddenErrors(text, fields, ends) };
  } catch {
    const detail =
      text.trim() === ''
        ? 'The body is empty. Send JSON.'
        : 'The body is not valid JSON. Check quotes, commas and brackets.';
    throw new Problem('invalid_json', detail);
  }
  throw new Problem('invalid_json', `The body is nested deeper than ${MAX_JSON_DEPTH} levels.`);
}

/** For each field, the index at which its name ends in the text. */
type Ends = number[];
const ABSENT = -1;
const TWICE = -2;

const INTEGER_VALUE = /\s*:\s*[0-9]+(?:\.0+)?\s*[,}]/y;

function hiddenErrors(text: string, fields: readonly CheckedField[], ends: Ends): readonly InputError[] {
  let errors: InputError[] = NO_ERRORS;
  for (let index = 0; index < ends.length; index++) {
    const { name = '', isInteger = false } = fields[index] ?? {};
    const end = ends[index] ?? ABSENT;
    INTEGER_VALUE.lastIndex = end;
    const isInexact = isInteger && end >= 0 && !INTEGER_VALUE.test(text);
    if (end !== TWICE && !isInexact) continue;
    const message = isInexact
      ? 'must be a whole number, in plain decimal digits'
      : 'is given more than once; give it once';
    errors = [...errors, { in: 'body', name, message }];
  }
  return errors;
}

const NO_ERRORS: InputError[] = [];

/** Counts brackets outside strings and looks for the fields, in one pass before the text is parsed; null if too deep. */
function scanJson(text: string, fields: readonly CheckedField[]): Ends | null {
  const ends: Ends = [];
  let lengths = 0;
  for (const { name } of fields) {
    ends.push(ABSENT);
    lengths |= 1 << name.length;
  }
  // Only `\u` allows another spelling of a name.
  const hasEscapes = fields.length > 0 && text.includes('\\u');
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const character = text.charCodeAt(i);
    if (character === 0x22) {
      const start = i;
      i = endOfString(text, i);
      const mayBeName = depth === 1 && (hasEscapes || (lengths & (1 << (i - start - 1))) !== 0);
      if (mayBeName && isColonNext(text, i + 1)) noteField(text.slice(start, i + 1), i + 1, fields, ends);
    } else if (character === 0x7b || character === 0x5b) {
      if (++depth > MAX_JSON_DEPTH) return null;
    } else if (character === 0x7d || character === 0x5d) depth--;
  }
  return ends;
}

function isColonNext(text: string, from: number): boolean {
  let position = from;
  while (text.charCodeAt(position) <= 0x20) position++;
  return text.charCodeAt(position) === 0x3a;
}

function noteField(written: string, end: number, fields: readonly CheckedField[], ends: Ends): void {
  const name: unknown = written.includes('\\') ? JSON.parse(written) : written.slice(1, -1);
  const index = fields.findIndex((field) => field.name === name);
  if (index >= 0) ends[index] = ends[index] === ABSENT ? end : TWICE;
}

function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end !== -1 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end === -1 ? text.length : end;
}

function isEscaped(text: string, position: number): boolean {
  let backslashes = 0;
  while (text.charCodeAt(position - 1 - backslashes) === 0x5c) backslashes++;
  return backslashes % 2 === 1;
}

function tooLarge(maxBytes: number): Problem {
  // The rest of the body is not read, so the connection cannot be used for another request.
  return new Problem('body_too_large', `The body must be at most ${maxBytes} bytes.`, {
    headers: { connection: 'close' },
  });
}
