import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../src/config.ts';
import { createLogger } from '../../src/log.ts';
import { type Service, startService } from '../../src/service.ts';
import { WEBHOOKS } from '../support/api.ts';
import { connectRaw, sendRaw } from '../support/raw-http.ts';

/** What only shows on a real socket: the bytes that a parser sees before the app does. */
describe('a listening server', () => {
  const folder = mkdtempSync(join(tmpdir(), 'paybell-server-'));
  let service: Service;
  let credentials: string;

  beforeAll(async () => {
    const settings = { PORT: '0', DATABASE_URL: `sqlite:${join(folder, 'paybell.db')}` };
    service = await startService(loadConfig(settings), createLogger('silent'));
    const { entityId, apiKey } = service.firstEntity ?? { entityId: '', apiKey: '' };
    credentials = `api-key: ${apiKey}\r\nentity-id: ${entityId}\r\n`;
  });

  afterAll(async () => {
    await service.stop();
    rmSync(folder, { recursive: true });
  });

  const send = (line: string, headers = '', body = '') =>
    sendRaw(service.url, `${line} HTTP/1.1\r\nconnection: close\r\n${headers}\r\n${body}`);
  const list = (headers: string, query = '') => send(`GET ${WEBHOOKS}${query}`, headers);

  test('responds to a plain request', async () => {
    const response = await list(`host: localhost\r\n${credentials}`);
    expect(response.status).toBe(200);
    expect(JSON.parse(response.body)).toEqual({ totalResults: 0, webhooks: [] });
  });

  test.each([
    'host:',
    'host: ',
    'host: a b',
    'host: a/b',
    'host: a:b:c',
    'host: <script>',
    'host: [::1',
    'host: a\r\nhost: b',
  ])('responds to %j with 400 and a problem', async (host) => {
    const response = await list(`${host}\r\n${credentials}`);
    expect(response.status).toBe(400);
    expect(response.headers).toMatch(/content-type: application\/problem\+json/i);
    expect(response.headers).toMatch(/x-request-id: /i);
    expect(JSON.parse(response.body)).toMatchObject({ code: 'malformed_host', errors: [{ name: 'host' }] });
  });

  test('serves HTTP/1.0 without a Host like any other request, since simple health checks send it', async () => {
    for (const path of ['/healthz', `${WEBHOOKS}?limit=1`]) {
      const response = await sendRaw(service.url, `GET ${path} HTTP/1.0\r\n${credentials}\r\n`);
      expect(response.status).toBe(200);
    }
  });

  test('refuses HTTP/1.1 without a Host with 400', async () => {
    expect((await list(credentials)).status).toBe(400);
  });

  test('rejects a URL of more than 8,192 characters with 414 and a problem', async () => {
    const response = await list(`host: localhost\r\n${credentials}`, `?webhookId=${'x'.repeat(9_000)}`);
    expect(response.status).toBe(414);
    expect(JSON.parse(response.body)).toMatchObject({ code: 'url_too_long' });
  });

  test('refuses a URL of 100,000 characters and a header as long with 431', async () => {
    const long = 'x'.repeat(100_000);
    expect((await list(`host: localhost\r\n${credentials}`, `?webhookId=${long}`)).status).toBe(431);
    expect((await list(`host: localhost\r\n${credentials}x-long: ${long}\r\n`)).status).toBe(431);
  });

  test('rejects more headers than any client sends', async () => {
    const many = Array.from({ length: 5_000 }, (_, index) => `x-${index}: 1\r\n`).join('');
    expect((await list(`host: localhost\r\n${credentials}${many}`)).status).toBe(431);
  });

  test.each(['api-key', 'entity-id'])('rejects %s given twice with 401, even if both are equal', async (name) => {
    const again = credentials.split('\r\n').find((line) => line.startsWith(name));
    const response = await list(`host: localhost\r\n${credentials}${again}\r\n`);
    expect(response.status).toBe(401);
    expect(JSON.parse(response.body)).toMatchObject({ code: 'unauthenticated' });
  });

  test('cuts a chunked body off at the limit, with 413 and a problem', async () => {
    const chunk = `10000\r\n${' '.repeat(0x10000)}\r\n`;
    const headers = `host: localhost\r\n${credentials}content-type: application/json\r\ntransfer-encoding: chunked\r\n`;
    const response = await send(`POST ${WEBHOOKS}`, headers, `${chunk.repeat(6)}0\r\n\r\n`);
    expect(response.status).toBe(413);
    expect(JSON.parse(response.body)).toMatchObject({ code: 'body_too_large' });
  });

  test('rejects a body whose stated length is over the limit with 413 before reading it', async () => {
    const headers = `host: localhost\r\n${credentials}content-type: application/json\r\ncontent-length: 300000\r\n`;
    const response = await send(`POST ${WEBHOOKS}`, headers);
    expect(response.status).toBe(413);
    expect(JSON.parse(response.body)).toMatchObject({ code: 'body_too_large' });
  });

  test('refuses a body of many megabytes', async () => {
    const headers = `host: localhost\r\n${credentials}content-type: application/json\r\ncontent-length: 999999999\r\n`;
    expect((await send(`POST ${WEBHOOKS}`, headers)).status).toBe(413);
  });

  test('refuses a body framed in two ways', async () => {
    const headers = `host: localhost\r\n${credentials}content-type: application/json\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n`;
    const { status } = await send(`POST ${WEBHOOKS}`, headers, '2\r\n{}\r\n0\r\n\r\n');
    expect([0, 400]).toContain(status);
  });

  test.each(['GARBAGE', 'GET', '\x16\x03\x01\x02', 'GET / HTTP/9.9', 'BREW /'])(
    'never responds to %j with 2xx or 5xx, and keeps running',
    async (line) => {
      const { status } = await sendRaw(service.url, `${line} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`);
      expect(status).toBeOneOf([0, 400, 404, 405, 505]);
      expect((await list(`host: localhost\r\n${credentials}`)).status).toBe(200);
    },
  );

  test('responds to HEAD like GET, with the length and without the body', async () => {
    const headers = `host: localhost\r\n${credentials}`;
    const [get, head] = await Promise.all([list(headers), send(`HEAD ${WEBHOOKS}`, headers)]);
    expect(head.status).toBe(200);
    expect(head.body).toBe('');
    const lengthOf = (text: string) => /content-length: (\d+)/i.exec(text)?.[1];
    expect(Number(lengthOf(get.headers))).toBeGreaterThan(0);
    expect(lengthOf(head.headers)).toBe(lengthOf(get.headers));
    expect(/etag: .+/i.exec(head.headers)?.[0]).toBe(/etag: .+/i.exec(get.headers)?.[0] ?? '');
  });

  test('serves several requests on one connection, one after the other', async () => {
    const headers = `host: localhost\r\n${credentials}`;
    const connection = await connectRaw(service.url);
    connection.write(`GET ${WEBHOOKS}?limit=1 HTTP/1.1\r\n${headers}\r\n`);
    expect(await connection.received('"webhooks"')).toStartWith('HTTP/1.1 200');
    connection.write(`GET ${WEBHOOKS}?limit=0 HTTP/1.1\r\n${headers}connection: close\r\n\r\n`);
    expect(await connection.received()).toContain('HTTP/1.1 400');
  });
});
