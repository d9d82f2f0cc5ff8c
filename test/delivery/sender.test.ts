import { describe, expect, test } from 'bun:test';
import type { Socket } from 'node:net';
import { createSender, type SenderOptions } from '../../src/delivery/sender.ts';
import { makeAuthority, makeSelfSigned } from './http/certificates.ts';
import { OK, startReceiver, startTlsReceiver } from './receivers.ts';

const POST = {
  entityId: 'ent_1',
  headers: { 'content-type': 'application/json', 'webhook-id': 'dlv_1' },
  body: '{"a":"é"}',
};
/** Generous: it only has to distinguish an attempt that its deadline ended from one that never ends. */

function developmentSender(options: Partial<SenderOptions> = {}) {
  return createSender({ timeoutMs: 60_000, allowInsecureTargets: true, userAgent: 'Paybell/test', ...options });
}

function answer(head: string, body = ''): (socket: Socket) => void {
  return (socket) => socket.write(`HTTP/1.1 ${head}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
}

async function sendTo(port: number, options: Partial<SenderOptions> = {}) {
  return developmentSender(options).send({ ...POST, postUrl: `http://127.0.0.1:${port}/hook` });
}

describe('a request', () => {
  test('arrives with its exact bytes and headers', async () => {
    await using receiver = await startReceiver(answer('200 OK', 'ok'));
    expect(await sendTo(receiver.port)).toEqual({
      kind: 'response',
      statusCode: 200,
      retryAfter: null,
      body: 'ok',
      durationMs: expect.any(Number),
    });
    const [head = '', body] = receiver.received.split('\r\n\r\n');
    expect(body).toBe(POST.body);
    expect(head).toStartWith('POST /hook HTTP/1.1\r\n');
    const headers = head.toLowerCase();
    expect(headers).toContain(`\r\nhost: 127.0.0.1:${receiver.port}`);
    expect(headers).toContain('\r\nuser-agent: paybell/test');
    expect(headers).toContain('\r\nwebhook-id: dlv_1');
    expect(headers).not.toContain('accept-encoding');
  });

  test('arrives the same when its body is given as bytes', async () => {
    await using receiver = await startReceiver(answer('200 OK'));
    const postUrl = `http://127.0.0.1:${receiver.port}/`;
    await developmentSender().send({ ...POST, body: Buffer.from(POST.body), postUrl });
    expect(receiver.received).toEndWith(`\r\n\r\n${POST.body}`);
  });

  test('uses one connection for many', async () => {
    await using receiver = await startReceiver((socket) => socket.write(OK));
    const sender = developmentSender();
    for (let index = 0; index < 5; index++) {
      await sender.send({ ...POST, postUrl: `http://127.0.0.1:${receiver.port}/` });
    }
    expect(receiver.connections).toBe(1);
  });

  test('never carries a cookie', async () => {
    await using receiver = await startReceiver(answer('200 OK\r\nset-cookie: session=1; path=/'));
    const sender = developmentSender();
    for (let index = 0; index < 2; index++) {
      await sender.send({ ...POST, postUrl: `http://127.0.0.1:${receiver.port}/` });
    }
    expect(receiver.received.toLowerCase()).not.toContain('cookie');
  });

  test('reaches a host by its second address when the first does not listen', async () => {
    await using receiver = await startReceiver((socket) => socket.write(OK));
    const sender = developmentSender({ resolve: async () => ['::1', '127.0.0.1'] });
    const outcome = await sender.send({ ...POST, postUrl: `http://receiver.test:${receiver.port}/` });
    expect(outcome).toMatchObject({ kind: 'response', statusCode: 200 });
  });
});

describe('a response', () => {
  test.each([200, 204, 301, 302, 307, 400, 410, 429, 500, 503, 999])(
    'of %d is reported as it is',
    async (statusCode) => {
      await using receiver = await startReceiver(answer(`${statusCode} Status`));
      expect(await sendTo(receiver.port)).toMatchObject({ kind: 'response', statusCode });
    },
  );

  test('includes its retry-after', async () => {
    await using receiver = await startReceiver(answer('429 Slow\r\nretry-after: 120', 'later'));
    expect(await sendTo(receiver.port)).toMatchObject({ statusCode: 429, retryAfter: '120', body: 'later' });
  });

  test('is stored as its first KiB, without half a character', async () => {
    await using receiver = await startReceiver(answer('500 Broken', `a${'é'.repeat(3000)}`));
    expect(await sendTo(receiver.port)).toMatchObject({ body: `a${'é'.repeat(511)}` });
  });

  test('is stored with invalid UTF-8 replaced and without NUL', async () => {
    const bytes = Buffer.from([0x61, 0x00, 0xff, 0x62, 0xc3]);
    await using receiver = await startReceiver((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${bytes.length}\r\n\r\n`);
      socket.write(bytes);
    });
    expect(await sendTo(receiver.port)).toMatchObject({ body: 'a\ufffdb\ufffd' });
  });
});

describe('within its deadline', () => {
  test('a TLS handshake that never ends is a timeout', async () => {
    await using receiver = await startReceiver(() => {});
    const postUrl = `https://127.0.0.1:${receiver.port}/`;
    expect(await developmentSender({ timeoutMs: 300 }).send({ ...POST, postUrl })).toMatchObject({ error: 'timeout' });
  });

  test('a DNS lookup that never ends is a timeout', async () => {
    const sender = developmentSender({ timeoutMs: 300, resolve: () => new Promise(() => {}) });
    const outcome = await sender.send({ ...POST, postUrl: 'http://receiver.test/' });
    expect(outcome).toMatchObject({ kind: 'error', error: 'timeout' });
  });
});

describe('a failure is classified as', () => {
  test('and the code that the runtime gave as its detail', async () => {
    await using receiver = await startReceiver((socket) => socket.destroy());
    expect(await sendTo(receiver.port)).toMatchObject({ kind: 'error', error: 'reset', detail: 'ECONNRESET' });
  });

  test.each(['000', '099'])('bad_response when the status is %s, which is none', async (status) => {
    await using receiver = await startReceiver(answer(`${status} Nothing`));
    expect(await sendTo(receiver.port)).toMatchObject({ kind: 'error', error: 'bad_response' });
  });

  test('refused when no one listens on the port', async () => {
    const receiver = await startReceiver(() => {});
    await receiver[Symbol.asyncDispose]();
    expect(await sendTo(receiver.port)).toMatchObject({ kind: 'error', error: 'refused' });
  });

  test('dns when the name does not exist', async () => {
    const sender = developmentSender({ resolve: () => Promise.reject(new Error('no such name')) });
    expect(await sender.send({ ...POST, postUrl: 'http://nowhere.test/' })).toMatchObject({ error: 'dns' });
  });

  test('failed when a header cannot be sent', async () => {
    const postUrl = 'http://127.0.0.1:1/';
    const outcome = await developmentSender().send({ ...POST, headers: { bad: 'a\r\nb: c' }, postUrl });
    expect(outcome).toMatchObject({ kind: 'error', error: 'failed', detail: 'TypeError' });
  });
});

describe('over TLS', () => {
  const authority = makeAuthority('Paybell Test');
  const options = { extraCa: authority.cert, resolve: async () => ['127.0.0.1'] };
  const reply = (socket: Socket) => socket.write(OK);

  test('a receiver is dialled by address and asked for and verified by name', async () => {
    const names: string[] = [];
    await using receiver = await startTlsReceiver(authority.issue(['a.test', 'b.test']), reply, (name) =>
      names.push(name),
    );
    const sender = developmentSender(options);
    for (const name of ['a.test', 'b.test', 'a.test']) {
      const outcome = await sender.send({ ...POST, postUrl: `https://${name}:${receiver.port}/` });
      expect(outcome).toMatchObject({ kind: 'response', statusCode: 200, body: 'ok' });
    }
    expect(names).toEqual(['a.test', 'b.test']);
    expect(receiver.received.match(/host: \S+/gi)?.map((line) => line.toLowerCase())).toEqual([
      `host: a.test:${receiver.port}`,
      `host: b.test:${receiver.port}`,
      `host: a.test:${receiver.port}`,
    ]);
  });

  test.each([
    [['127.0.0.1'], { kind: 'response', statusCode: 200 }],
    [['127.0.0.2'], { kind: 'error', error: 'tls' }],
    [['receiver.test'], { kind: 'error', error: 'tls' }],
  ])('a receiver that is asked for by its address, and has a certificate for %j, is %j', async (names, outcome) => {
    await using receiver = await startTlsReceiver(authority.issue(names), reply);
    const postUrl = `https://127.0.0.1:${receiver.port}/`;
    expect(await developmentSender(options).send({ ...POST, postUrl })).toMatchObject(outcome);
    if (outcome.kind === 'error') expect(receiver.received).toBe('');
  });

  test('a name and an address at the same place never share a connection', async () => {
    await using receiver = await startTlsReceiver(authority.issue(['receiver.test']), reply);
    const sender = developmentSender(options);
    const send = (host: string) => sender.send({ ...POST, postUrl: `https://${host}:${receiver.port}/` });
    expect(await send('receiver.test')).toMatchObject({ kind: 'response', statusCode: 200 });
    expect(await send('127.0.0.1')).toMatchObject({ kind: 'error', error: 'tls' });
    expect(await send('other.test')).toMatchObject({ kind: 'error', error: 'tls' });
  });

  test('a good certificate of our own authority is a tls error without the extra CA', async () => {
    await using receiver = await startTlsReceiver(authority.issue(['receiver.test']), reply);
    const sender = developmentSender({ resolve: options.resolve });
    const outcome = await sender.send({ ...POST, postUrl: `https://receiver.test:${receiver.port}/` });
    expect(outcome).toMatchObject({ kind: 'error', error: 'tls' });
  });

  test('a receiver without TLS is a tls error', async () => {
    await using receiver = await startReceiver((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    const outcome = await developmentSender(options).send({
      ...POST,
      postUrl: `https://receiver.test:${receiver.port}/`,
    });
    expect(outcome).toMatchObject({ kind: 'error', error: 'tls' });
  });
});

describe('an environment that', () => {
  async function sendInEnvironment(url: string, env: Record<string, string>) {
    const program = `
      import { createSender } from './src/delivery/sender.ts';
      const plain = await fetch('${url}', { method: 'POST', body: '{}' }).then((answer) => answer.status, (error) => error.code);
      const sender = createSender({ timeoutMs: 60_000, allowInsecureTargets: true, userAgent: 'Paybell/test' });
      const outcome = await sender.send({ entityId: 'ent_1', postUrl: '${url}', headers: {}, body: '{}' });
      console.log(JSON.stringify({ plain, outcome }));`;
    const child = Bun.spawn([process.execPath, '-e', program], {
      cwd: `${import.meta.dir}/../..`,
      env: { PATH: process.env.PATH ?? '', ...env },
      stdout: 'pipe',
    });
    return JSON.parse(await new Response(child.stdout).text());
  }

  test.each(['HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy'])('sets %s does not divert a post', async (name) => {
    await using proxy = await startReceiver(answer('502 Proxy'));
    await using receiver = await startReceiver(answer('200 OK', 'receiver'));
    const { plain, outcome } = await sendInEnvironment(`http://127.0.0.1:${receiver.port}/`, {
      [name]: `http://127.0.0.1:${proxy.port}`,
    });
    expect(plain).toBe(502);
    expect(outcome).toMatchObject({ kind: 'response', statusCode: 200, body: 'receiver' });
    expect(proxy.connections).toBe(1);
  });

  test.each(['HTTPS_PROXY', 'https_proxy'])('sets %s does not divert a post over TLS', async (name) => {
    await using proxy = await startReceiver(answer('502 Proxy'));
    await using receiver = await startTlsReceiver(makeSelfSigned('receiver.test'), answer('200 OK'));
    const { outcome } = await sendInEnvironment(`https://127.0.0.1:${receiver.port}/`, {
      [name]: `http://127.0.0.1:${proxy.port}`,
    });
    expect(outcome).toMatchObject({ kind: 'error', error: 'tls' });
    expect(proxy.received.match(/CONNECT/g)).toHaveLength(1);
  });

  test('switches TLS verification off does not switch off ours', async () => {
    await using receiver = await startTlsReceiver(makeSelfSigned('receiver.test'), answer('200 OK'));
    const { plain, outcome } = await sendInEnvironment(`https://127.0.0.1:${receiver.port}/`, {
      NODE_TLS_REJECT_UNAUTHORIZED: '0',
    });
    expect(plain).toBe(200);
    expect(outcome).toMatchObject({ kind: 'error', error: 'tls' });
  });
});
