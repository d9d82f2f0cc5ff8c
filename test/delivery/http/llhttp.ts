/** What llhttp, the parser of Node and of Bun's `node:http`, makes of the bytes that a receiver sends before it closes. */
export type LlhttpReading =
  | {
      readonly status: number;
      readonly body: Buffer;
      /** Whether the connection can be used again: it is kept alive, and nothing came after the response. */
      readonly isReusable: boolean;
    }
  | { readonly failure: string };

type OnHeadersComplete = (
  ...head: [major: number, minor: number, fields: unknown, method: unknown, url: unknown, status: number]
) => number;

interface HttpParser {
  initialize(type: number, resource: object): void;
  /** How many bytes were read, or the error. */
  execute(bytes: Buffer): number | Error;
  /** The connection was closed. */
  finish(): Error | null | undefined;
  close(): void;
  [callback: number]: OnHeadersComplete | ((part: Buffer) => void) | (() => void) | undefined;
}

interface HttpParserClass {
  new (): HttpParser;
  readonly RESPONSE: number;
  readonly kOnHeadersComplete: number;
  readonly kOnBody: number;
  readonly kOnMessageComplete: number;
}

/** Internal to the runtime, and the only door to its llhttp that does not go through a socket. */
declare const process: { binding(name: 'http_parser'): { HTTPParser: HttpParserClass } };
const { HTTPParser } = process.binding('http_parser');
const SHOULD_KEEP_ALIVE = 8;

export function readWithLlhttp(bytes: Buffer): LlhttpReading {
  const parser = new HTTPParser();
  parser.initialize(HTTPParser.RESPONSE, {});
  const parts: Buffer[] = [];
  let status = 0;
  let keepsAlive = false;
  let isComplete = false;
  parser[HTTPParser.kOnHeadersComplete] = (...head: readonly unknown[]) => {
    if (isComplete) return 0;
    status = Number(head[5]);
    keepsAlive = head[SHOULD_KEEP_ALIVE] === true;
    parts.length = 0;
    return 0;
  };
  parser[HTTPParser.kOnBody] = (part: Buffer) => {
    if (!isComplete) parts.push(Buffer.from(part));
  };
  parser[HTTPParser.kOnMessageComplete] = () => {
    // Informational responses come before the one that counts.
    isComplete ||= status >= 200 || status === 101 || status < 100;
  };
  // The last byte by itself tells whether the response was complete before it.
  let failure = parser.execute(bytes.subarray(0, -1));
  const hasSurplus = isComplete;
  if (!(failure instanceof Error)) failure = parser.execute(bytes.subarray(-1));
  const atEnd = failure instanceof Error ? failure : parser.finish();
  parser.close();
  if (isComplete) return { status, body: Buffer.concat(parts), isReusable: keepsAlive && !hasSurplus };
  return { failure: atEnd instanceof Error ? codeOf(atEnd) : 'incomplete' };
}

function codeOf(error: Error): string {
  return 'code' in error ? String(error.code) : error.message;
}
