import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type ListeningServer, listen } from '../../../src/api/server.ts';
import { loadConfig } from '../../../src/config.ts';
import { createLogger } from '../../../src/log.ts';
import { createTenant, type Tenant, testApp, WEBHOOKS } from '../../support/api.ts';
import { sendRaw } from '../../support/raw-http.ts';
import { onSuiteEngine } from '../../support/stores.ts';

const EVENTS = '/api/v1/crypto/events';
/** More than Bun would read by itself, and more than any limit of the API. */
const HUGE = 'content-length: 9000000';

onSuiteEngine('a request over a socket', (store) => {
  let server: ListeningServer;
  let credentials: string;

  beforeAll(async () => {
    server = listen(testApp(store.db), loadConfig({ PORT: '0' }), createLogger('silent'));
    const { apiKey, entityId }: Tenant = await createTenant(store.db);
    credentials = `api-key: ${apiKey}\r\nentity-id: ${entityId}`;
  });
  afterAll(() => server.stop());

  const send = (line: string, ...headers: string[]) =>
    sendRaw(server.url, `${[`${line} HTTP/1.1`, 'host: a', ...headers, 'connection: close'].join('\r\n')}\r\n\r\n`);

  const codeOf = ({ body }: { body: string }) => (JSON.parse(body) as { code: string }).code;

  test.each(['1.2.3.999', 'a:99999', '[:::]', '08', '[1::2::3]', 'a.0x'])(
    'with the Host %s is 400 for every method, and for a target with a host of its own',
    async (host) => {
      const ask = (line: string) =>
        sendRaw(server.url, `${line} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`);
      for (const target of ['/healthz', 'http://example.com/healthz']) {
        expect((await ask(`HEAD ${target}`)).status).toBe(400);
        for (const method of ['GET', 'POST', 'DELETE', 'OPTIONS', 'FOO']) {
          const response = await ask(`${method} ${target}`);
          expect([response.status, codeOf(response)]).toEqual([400, 'malformed_host']);
        }
      }
    },
  );

  test.each(['FOO', 'get', 'BREW', 'PROPFIND', 'TRACE'])(
    'with the method %s is 405 with Allow, or 404 where there is no path',
    async (method) => {
      const response = await send(`${method} ${WEBHOOKS}?limit=1`, credentials);
      expect([response.status, codeOf(response)]).toEqual([405, 'method_not_allowed']);
      expect(response.headers).toMatch(/^allow: GET, HEAD, POST, PATCH, DELETE\r?$/im);
      expect((await send(`${method} ${WEBHOOKS}/wh_1`, credentials)).status).toBe(405);
      expect((await send(`${method} /`)).status).toBe(405);
      for (const path of ['/nothing', '//healthz', '/api/v1/crypto/nothing']) {
        expect(codeOf(await send(`${method} ${path}`))).toBe('not_found');
      }
    },
  );

  test('finds its path however it is encoded, also beside the paths of the server', async () => {
    for (const target of [WEBHOOKS, WEBHOOKS.replace('classic', 'cl%61ssic'), `http://b.example${WEBHOOKS}`]) {
      expect((await send(`GET ${target}`, credentials)).status).toBe(200);
    }
    expect(codeOf(await send('GET //healthz'))).toBe('not_found');
  });

  test('that announces 9 MB gets the problem of its first error, not a bare 413', async () => {
    const json = 'content-type: application/json';
    for (const [line, headers, code] of [
      ['POST /nothing', [], 'not_found'],
      ['PUT /healthz', [], 'method_not_allowed'],
      [`POST ${EVENTS}`, [json], 'unauthenticated'],
      [`POST ${EVENTS}`, [credentials, 'content-type: text/plain'], 'unsupported_media_type'],
      [`POST ${EVENTS}`, [credentials, json], 'body_too_large'],
      [`POST ${EVENTS}/batch`, [credentials, 'content-type: application/x-ndjson'], 'body_too_large'],
      [`POST ${WEBHOOKS}`, [credentials, json], 'body_too_large'],
    ] as const) {
      // Not asked for by the client: the server hangs up by itself instead of reading all that was announced.
      const response = await sendRaw(
        server.url,
        `${[`${line} HTTP/1.1`, 'host: a', ...headers, HUGE].join('\r\n')}\r\n\r\n${' '.repeat(100_000)}`,
      );
      expect([line, codeOf(response)]).toEqual([line, code]);
    }
  });

  test.each(['/healthz', WEBHOOKS, '/nothing', '/docs'])('of HEAD %s has a Date like GET', async (path) => {
    for (const method of ['GET', 'HEAD']) expect((await send(`${method} ${path}`, credentials)).headers).toMatch(DATE);
  });

  test('with an ETag that the client has is 304 with a Date, for GET and HEAD', async () => {
    const { headers } = await send(`GET ${WEBHOOKS}`, credentials);
    const etag = /^etag: (.*?)\r?$/im.exec(headers)?.[1] ?? '';
    for (const method of ['GET', 'HEAD']) {
      const known = await send(`${method} ${WEBHOOKS}`, credentials, `if-none-match: ${etag}`);
      expect([known.status, DATE.test(known.headers)]).toEqual([304, true]);
    }
  });
});

const DATE = /^date: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT\r?$/im;
