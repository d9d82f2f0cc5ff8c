import type { App } from '../../src/api/app.ts';
import { listen } from '../../src/api/server.ts';
import { loadConfig } from '../../src/config.ts';
import { createLogger } from '../../src/log.ts';
import { connectRaw } from '../support/raw-http.ts';

/** A request as it is sent, without any validation. */
export type OutgoingRequest = {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string | Uint8Array<ArrayBuffer> | null;
  /** How its bytes violate HTTP, for a transport that sends bytes. */
  readonly malformation: Malformation | null;
};

/** What a client receives. Status 0 stands for a connection that was closed without a response. */
export type ReceivedResponse = { readonly status: number; readonly headers: Headers; readonly body: string };

/** A way to send requests to the app. `send` resolves to null for requests that it cannot send. */
export type Transport = {
  readonly send: (request: OutgoingRequest) => Promise<ReceivedResponse | null>;
  readonly close: () => Promise<void>;
};
export type OpenTransport = (app: App) => Transport;

/** Calls the app directly, without a socket. */
export const inProcess: OpenTransport = (app) => ({
  async send({ method, target, headers, body, malformation }) {
    if (malformation !== null) return null;
    let request: Request;
    try {
      const all = new Headers();
      for (const [name, value] of headers) all.append(name, value);
      const url = `http://paybell.test${target}`;
      request = new Request(url, { method, headers: all, ...(body === null ? {} : { body }) });
    } catch {
      return null;
    }
    const response = await app.fetch(request);
    return { status: response.status, headers: response.headers, body: await response.text() };
  },
  close: async () => undefined,
});

/** Sends bytes to the server that is used in production. */
export const overSocket: OpenTransport = (app) => {
  const server = listen(app, loadConfig({ PORT: '0' }), createLogger('silent'));
  return { send: (request) => exchange(server.url, request), close: server.stop };
};

type Message = { line: string; headers: string[]; body: string };

/** Each violates one rule of HTTP. The response may then have no body or be missing, but must not be a 5xx or a success. */
export const MALFORMATIONS = {
  'a header line without a colon': (message) => withHeader(message, 'nonsense'),
  'a space before the colon': (message) => withHeader(message, 'x-one : 1'),
  'a folded header': (message) => withHeader(message, 'x-one: 1\r\n two'),
  'a bare carriage return in a header': (message) => withHeader(message, 'x-one: 1\rx-two: 2'),
  'a bare line feed in a header': (message) => withHeader(message, 'x-one: 1\nx-two: 2'),
  'a NUL in a header': (message) => withHeader(message, 'x-one: \0'),
  'a header with an empty name': (message) => withHeader(message, ': 1'),
  'a second, larger content-length': (message) => withHeader(message, 'content-length: 999'),
  'a negative content-length': (message) => withHeader(message, 'content-length: -1'),
  'a content-length that is not a number': (message) => withHeader(message, 'content-length: 0x2'),
  'both framings': (message) => withHeader(message, 'content-length: 4\r\ntransfer-encoding: chunked'),
  'an unknown framing': (message) => withHeader(message, 'transfer-encoding: cow'),
  'a framing given twice': (message) => withHeader(message, 'transfer-encoding: chunked, chunked'),
  'a chunk without a valid length': (message) => ({ ...chunked(message), body: 'zz\r\nab\r\n0\r\n\r\n' }),
  'a chunk of 2^64 bytes': (message) => ({ ...chunked(message), body: '10000000000000000\r\nab\r\n0\r\n\r\n' }),
  'chunks that end early': (message) => ({ ...chunked(message), body: '5\r\nab' }),
  'a method in lower case': (message) => ({
    ...message,
    line: message.line.replace(/^\w+/, (method) => method.toLowerCase()),
  }),
  'a space in the target': (message) => ({ ...message, line: message.line.replace(' /', ' / /') }),
  'bytes of no character set in the target': (message) => ({
    ...message,
    line: message.line.replace(' HTTP', '\xff\xfe HTTP'),
  }),
  'a target with another host': (message) => ({
    ...message,
    line: message.line.replace(' /', ' http://other.example/'),
  }),
  'a target that is a star': (message) => ({ ...message, line: message.line.replace(/ \S+ /, ' * ') }),
  'an unknown version': (message) => ({ ...message, line: message.line.replace('HTTP/1.1', 'HTTP/9.9') }),
  'no version': (message) => ({ ...message, line: message.line.replace(' HTTP/1.1', '') }),
  'a second Host': (message) => withHeader(message, 'host: other.example'),
  'an upgrade to WebSocket': (message) =>
    withHeader(
      message,
      'connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-key: eA==\r\nsec-websocket-version: 13',
    ),
  'an expectation of 100-continue': (message) => withHeader(message, 'expect: 100-continue'),
  'a second request after it': (message) => ({
    ...message,
    body: `${message.body}GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n`,
  }),
  '20,000 headers': (message) =>
    withHeader(message, Array.from({ length: 20_000 }, (_, index) => `x-${index}: 1`).join('\r\n')),
} as const satisfies Record<string, (message: Message) => Message>;

export type Malformation = keyof typeof MALFORMATIONS;

function withHeader(message: Message, line: string): Message {
  return { ...message, headers: [...message.headers, line] };
}

function chunked(message: Message): Message {
  const headers = message.headers.filter((line) => !line.startsWith('content-length'));
  return { ...message, headers: [...headers, 'transfer-encoding: chunked'] };
}

/** The server may wait for the rest of a malformed request; the client closes the connection after this time. */
const CLOSE_AFTER_MS = 300;

async function exchange(
  url: string,
  { method, target, headers, body, malformation }: OutgoingRequest,
): Promise<ReceivedResponse> {
  const bytes = Buffer.from(body ?? '').toString('latin1');
  const plain: Message = {
    line: `${method} ${target} HTTP/1.1`,
    headers: [
      'host: localhost',
      'connection: close',
      ...headers.map(([name, value]) => `${name}: ${value}`),
      ...(body === null ? [] : [`content-length: ${bytes.length}`]),
    ],
    body: bytes,
  };
  const message = malformation === null ? plain : MALFORMATIONS[malformation](plain);
  const connection = await connectRaw(url);
  connection.write(`${message.line}\r\n${message.headers.join('\r\n')}\r\n\r\n${message.body}`);
  const timer = malformation === null ? null : setTimeout(() => connection.end(), CLOSE_AFTER_MS);
  const response = await connection.received();
  if (timer !== null) clearTimeout(timer);
  connection.end();
  return parseResponse(response);
}

function parseResponse(text: string): ReceivedResponse {
  const [head = '', ...body] = text.replace(/^HTTP\/1\.1 100 [^\r]*\r\n\r\n/, '').split('\r\n\r\n');
  const [line = '', ...lines] = head.split('\r\n');
  const headers = new Headers(
    lines.map((header) => [header.slice(0, header.indexOf(':')), header.slice(header.indexOf(':') + 1).trim()]),
  );
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(line)?.[1] ?? 0);
  // The length counts bytes. What follows belongs to another response.
  const bytes = Buffer.from(body.join('\r\n\r\n')).subarray(0, Number(headers.get('content-length') ?? 0));
  return { status, headers, body: bytes.toString() };
}
