import { describe, expect, test } from 'bun:test';
import { Deadline } from '../../../src/delivery/http/deadline.ts';
import { EgressTunnels } from '../../../src/delivery/http/proxy.ts';
import { createSender, type SenderOptions } from '../../../src/delivery/sender.ts';
import { PUBLIC, PUBLIC_V6 } from '../../hostile/recording-client.ts';
import { rejection } from '../../support/rejection.ts';
import { until } from '../../support/until.ts';
import { OK, startReceiver, startTlsReceiver } from '../receivers.ts';
import { makeAuthority } from './certificates.ts';
import { ESTABLISHED, proxySetting, startProxy } from './connect-proxy.ts';

const POST = { entityId: 'ent_1', headers: {}, body: '{}' };
const URL_OF_NAME = 'https://receiver.test:8443/';
const authority = makeAuthority('Paybell Test');

/** With the address guard in force: names are public, and only the proxy of the test leads to loopback. */
function strictSender(options: Partial<SenderOptions>) {
  const resolve = async () => [PUBLIC];
  const common = { timeoutMs: 60_000, allowInsecureTargets: false, userAgent: 'Paybell/test', extraCa: authority.cert };
  return createSender({ ...common, resolve, ...options });
}

describe('through a proxy', () => {
  test('CONNECT names the checked address with the credentials, and TLS names the host', async () => {
    const names: string[] = [];
    const certificate = authority.issue(['receiver.test']);
    await using receiver = await startTlsReceiver(
      certificate,
      (socket) => socket.write(OK),
      (name) => names.push(name),
    );
    await using proxy = await startProxy({ port: receiver.port });
    const sender = strictSender({ proxy: proxySetting(`http://us%65r:p%3Ass@127.0.0.1:${proxy.port}`) });
    for (let index = 0; index < 2; index++) {
      const outcome = await sender.send({ ...POST, postUrl: URL_OF_NAME });
      expect(outcome).toMatchObject({ kind: 'response', statusCode: 200 });
    }
    const credentials = Buffer.from('user:p:ss').toString('base64');
    expect(proxy.requests).toEqual([
      `CONNECT ${PUBLIC}:8443 HTTP/1.1\r\nhost: ${PUBLIC}:8443\r\nproxy-authorization: Basic ${credentials}\r\n\r\n`,
    ]);
    expect(names).toEqual(['receiver.test']);
    expect(receiver.received).toContain('host: receiver.test:8443');
  });

  test.each([
    [[PUBLIC], { kind: 'response', statusCode: 200 }],
    [['receiver.test', '127.0.0.1'], { kind: 'error', error: 'tls' }],
  ])('a receiver without a name, with a certificate for %j, is %j', async (names, outcome) => {
    await using receiver = await startTlsReceiver(authority.issue(names), (socket) => socket.write(OK));
    await using proxy = await startProxy({ port: receiver.port });
    const sender = strictSender({ proxy: proxy.setting });
    expect(await sender.send({ ...POST, postUrl: `https://${PUBLIC}/` })).toMatchObject(outcome);
    if (outcome.kind === 'error') await proxy.closed(1);
  });

  test('plain HTTP goes through a tunnel too, and an IPv6 address is written in brackets', async () => {
    await using receiver = await startReceiver((socket) => socket.write(OK));
    await using proxy = await startProxy({ port: receiver.port });
    const sender = strictSender({
      proxy: proxy.setting,
      allowInsecureTargets: true,
      resolve: async () => [PUBLIC_V6],
    });
    const outcome = await sender.send({ ...POST, postUrl: 'http://receiver.test/' });
    expect(outcome).toMatchObject({ kind: 'response', statusCode: 200, body: 'ok' });
    expect(proxy.requests).toEqual([`CONNECT [${PUBLIC_V6}]:80 HTTP/1.1\r\nhost: [${PUBLIC_V6}]:80\r\n\r\n`]);
  });

  test.each([['10.0.0.1'], ['127.0.0.1'], ['169.254.169.254']])('%s is asked for at no proxy', async (address) => {
    await using proxy = await startProxy();
    const sender = strictSender({ proxy: proxy.setting, resolve: async () => [PUBLIC, address] });
    expect(await sender.send({ ...POST, postUrl: URL_OF_NAME })).toMatchObject({ error: 'blocked_address' });
    expect(proxy.connections).toBe(0);
  });
});

describe('a proxy that', () => {
  const send = (options: Partial<SenderOptions>) =>
    strictSender({ resolve: async () => [PUBLIC, '93.184.216.35'], ...options }).send({
      ...POST,
      postUrl: URL_OF_NAME,
    });

  test.each([
    ['wants credentials', 'HTTP/1.1 407 Proxy Authentication Required\r\n\r\n', 'proxy_credentials'],
    ['refuses', 'HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\n\r\nno', 'proxy_refused'],
    ['does not speak HTTP', 'SSH-2.0-OpenSSH\r\n', 'proxy_bad_response'],
    ['responds without end', `HTTP/1.1 200 OK\r\nx: ${'a'.repeat(9_000)}`, 'proxy_bad_response'],
    ['responds with no status', 'HTTP/1.1 abc\r\n\r\n', 'proxy_bad_response'],
    ['says more than it was asked', `${ESTABLISHED}HTTP/1.1 200 OK\r\n\r\n`, 'proxy_bad_response'],
  ])('%s is not asked for another address', async (_what, answer, error) => {
    await using proxy = await startProxy({ answer });
    expect(await send({ proxy: proxy.setting })).toMatchObject({ kind: 'error', error });
    expect(proxy.requests).toHaveLength(1);
    await proxy.closed(1);
  });

  test.each([502, 503, 504])(
    'responds with %d did not reach the receiver, and is asked for its next address',
    async (status) => {
      await using proxy = await startProxy({ answer: `HTTP/1.1 ${status} No\r\n\r\n` });
      expect(await send({ proxy: proxy.setting })).toMatchObject({ error: 'unreachable', detail: `proxy ${status}` });
      expect(proxy.requests.map((head) => head.split(' ')[1])).toEqual([`${PUBLIC}:8443`, '93.184.216.35:8443']);
    },
  );

  test('is down, or closes the connection, is unreachable', async () => {
    const down = await startReceiver(() => {});
    await down[Symbol.asyncDispose]();
    const proxy = proxySetting(`http://127.0.0.1:${down.port}`);
    expect(await send({ proxy })).toMatchObject({ error: 'proxy_unreachable', detail: 'ECONNREFUSED' });
    await using closing = await startReceiver((socket) => socket.end());
    const setting = proxySetting(`http://127.0.0.1:${closing.port}`);
    expect(await send({ proxy: setting })).toMatchObject({ error: 'proxy_unreachable' });
  });

  test('never responds has timed out', async () => {
    await using hanging = await startReceiver(() => {});
    const proxy = proxySetting(`http://127.0.0.1:${hanging.port}`);
    expect(await send({ timeoutMs: 300, proxy })).toMatchObject({ kind: 'error', error: 'proxy_timeout' });
    await hanging.closed(1);
  });

  test('has responded to others meanwhile is not what a request waits for: the receiver has timed out', async () => {
    await using proxy = await startReceiver((socket, text) => {
      if (text.includes(':8444')) socket.write('HTTP/1.1 403 Forbidden\r\n\r\n');
    });
    const tunnels = new EgressTunnels(proxySetting(`http://127.0.0.1:${proxy.port}`), null);
    const begin = async (connections: number) => {
      const deadline = new Deadline(0);
      const failure = rejection(tunnels.open({ address: PUBLIC, port: 8443 }, deadline));
      await until('the request has arrived', () => proxy.received.split(':8443 HTTP').length > connections);
      return { deadline, failure };
    };
    const alone = await begin(1);
    alone.deadline.expire();
    expect(await alone.failure).toMatchObject({ error: 'proxy_timeout' });
    const waiting = await begin(2);
    const refused = rejection(tunnels.open({ address: PUBLIC, port: 8444 }, new Deadline(0)));
    expect(await refused).toMatchObject({ error: 'proxy_refused' });
    waiting.deadline.expire();
    expect(await waiting.failure).toMatchObject({ error: 'timeout' });
  });
});

describe('from a source address', () => {
  const SOURCE = '127.0.0.2';

  test('receivers and the proxy see connections of that address alone', async () => {
    const seen: (string | undefined)[] = [];
    await using receiver = await startReceiver((socket) => {
      seen.push(socket.remoteAddress);
      socket.write(OK);
    });
    const options = { allowInsecureTargets: true, sourceAddress: SOURCE };
    const postUrl = `http://127.0.0.1:${receiver.port}/`;
    expect(await strictSender(options).send({ ...POST, postUrl })).toMatchObject({ statusCode: 200 });
    expect(seen).toEqual([SOURCE]);
    await using proxy = await startProxy({ port: receiver.port });
    const proxied = strictSender({ ...options, proxy: proxy.setting });
    expect(await proxied.send({ ...POST, postUrl })).toMatchObject({ statusCode: 200 });
    expect(proxy.sources).toEqual([SOURCE]);
  });

  test('over TLS too', async () => {
    const seen: (string | undefined)[] = [];
    await using receiver = await startTlsReceiver(authority.issue(['127.0.0.1']), (socket) => {
      seen.push(socket.remoteAddress);
      socket.write(OK);
    });
    const sender = strictSender({ allowInsecureTargets: true, sourceAddress: SOURCE });
    await sender.send({ ...POST, postUrl: `https://127.0.0.1:${receiver.port}/` });
    expect(seen).toEqual([SOURCE]);
  });

  test('that is not of this machine, nothing is sent, and the receiver is not at fault', async () => {
    await using receiver = await startReceiver((socket) => socket.write(OK));
    const options = { allowInsecureTargets: true, sourceAddress: '203.0.113.9' };
    const postUrl = `http://127.0.0.1:${receiver.port}/`;
    expect(await strictSender(options).send({ ...POST, postUrl })).toMatchObject({ error: 'source_address' });
    await using proxy = await startProxy({ port: receiver.port });
    const proxied = strictSender({ ...options, proxy: proxy.setting });
    expect(await proxied.send({ ...POST, postUrl })).toMatchObject({ error: 'source_address' });
    expect(receiver.connections).toBe(0);
  });

  test('only addresses of its family are tried', async () => {
    await using receiver = await startReceiver((socket) => socket.write(OK));
    const send = (addresses: string[]) =>
      strictSender({
        allowInsecureTargets: true,
        sourceAddress: SOURCE,
        resolve: async () => addresses,
      }).send({ ...POST, postUrl: `http://receiver.test:${receiver.port}/` });
    expect(await send(['::1', '127.0.0.1'])).toMatchObject({ statusCode: 200 });
    expect(await send(['::1'])).toMatchObject({ error: 'unreachable', detail: 'EAFNOSUPPORT' });
  });
});
