import { afterEach, describe, expect, setSystemTime, test } from 'bun:test';
import type { HttpClient } from '../../../src/delivery/http/client.ts';
import { createSender } from '../../../src/delivery/sender.ts';
import { PUBLIC, recordingClient, urlOf } from '../../hostile/recording-client.ts';
import { OK, startReceiver } from '../receivers.ts';

const POST = { entityId: 'ent_1', headers: { 'content-type': 'application/json' }, body: '{}' };

function strictSender(client: HttpClient, answers: string[][]) {
  let asked = 0;
  const resolve = async () => answers[Math.min(asked++, answers.length - 1)] ?? [];
  return createSender({ timeoutMs: 60_000, allowInsecureTargets: false, userAgent: 'Paybell/test', resolve, client });
}

afterEach(() => {
  setSystemTime();
});

describe('a canary on 127.0.0.1 gets no byte', () => {
  test.each([
    '127.0.0.1',
    '127.0.0.1.',
    '2130706433',
    '0x7f000001',
    '0x7f.1',
    '017700000001',
    '127.1',
    '0',
    '%31%32%37.0.0.1',
    '127。0。0。1',
    '[::1]',
    '[::127.0.0.1]',
    '[::ffff:127.0.0.1]',
    '[64:ff9b::7f00:1]',
    '[2002:7f00:1::]',
  ])('when it is written as %s', async (host) => {
    await using canary = await startReceiver((socket) => socket.end(OK));
    const { dialled, client } = recordingClient();
    const sender = strictSender(client, [[PUBLIC]]);
    for (const scheme of ['https', 'http']) {
      const outcome = await sender.send({ ...POST, postUrl: `${scheme}://${host}:${canary.port}/hook` });
      expect(outcome).toMatchObject({ kind: 'error', error: scheme === 'https' ? 'blocked_address' : 'invalid_url' });
    }
    expect(dialled).toEqual([]);
    expect(canary.connections).toBe(0);
  });

  test.each([[['127.0.0.1']], [['::1']], [['::ffff:127.0.0.1']], [[PUBLIC, '127.0.0.1']], [['0.0.0.0']]])(
    'when a name resolves to %j',
    async (addresses) => {
      await using canary = await startReceiver((socket) => socket.end(OK));
      const { dialled, client } = recordingClient();
      const sender = strictSender(client, [addresses]);
      const outcome = await sender.send({ ...POST, postUrl: `https://innocent.example.com:${canary.port}/` });
      expect(outcome).toEqual({ kind: 'error', error: 'blocked_address', durationMs: expect.any(Number) });
      expect(dialled).toEqual([]);
      expect(canary.connections).toBe(0);
    },
  );

  test('when a name is public at the check and resolves to it right after', async () => {
    await using canary = await startReceiver((socket) => socket.end(OK));
    const { dialled, client } = recordingClient();
    const sender = strictSender(client, [[PUBLIC], ['127.0.0.1']]);
    const postUrl = `https://rebinding.example.com:${canary.port}/`;
    expect(await sender.send({ ...POST, postUrl })).toMatchObject({ kind: 'response', statusCode: 200 });
    setSystemTime(Date.now() + 60_000);
    expect(await sender.send({ ...POST, postUrl })).toMatchObject({ kind: 'error', error: 'blocked_address' });
    expect(dialled).toEqual([`https://${PUBLIC}:${canary.port}/`]);
    expect(canary.connections).toBe(0);
  });

  test('when a receiver redirects to it', async () => {
    await using canary = await startReceiver((socket) => socket.end(OK));
    for (const status of ['301', '302', '303', '307', '308']) {
      const head = `HTTP/1.1 ${status} Elsewhere\r\nlocation: http://127.0.0.1:${canary.port}/\r\n`;
      await using receiver = await startReceiver((socket) => socket.write(`${head}content-length: 0\r\n\r\n`));
      const sender = createSender({ timeoutMs: 60_000, allowInsecureTargets: true, userAgent: 'Paybell/test' });
      const outcome = await sender.send({ ...POST, postUrl: `http://127.0.0.1:${receiver.port}/` });
      expect(outcome).toMatchObject({ kind: 'response', statusCode: Number(status) });
    }
    expect(canary.connections).toBe(0);
  });
});

describe('what is dialled', () => {
  test.each([
    ['https://Example.com/a%2Fb?c=%20', PUBLIC, `https://${PUBLIC}:443/a%2Fb?c=%20`, 'example.com', 'example.com'],
    ['https://example.com:8443', PUBLIC, `https://${PUBLIC}:8443/`, 'example.com:8443', 'example.com'],
    ['https://example.com./', PUBLIC, `https://${PUBLIC}:443/`, 'example.com.', 'example.com'],
    ['https://example.com/', '2606:4700::1111', 'https://[2606:4700::1111]:443/', 'example.com', 'example.com'],
    [`https://${PUBLIC}/`, '', `https://${PUBLIC}:443/`, PUBLIC, null],
    ['https://[2606:4700::1111]:8443/', '', 'https://[2606:4700::1111]:8443/', '[2606:4700::1111]:8443', null],
  ])('for %s at %j is %s, with the name in Host and SNI', async (postUrl, address, url, host, serverName) => {
    const { requests, dialled, client } = recordingClient();
    await strictSender(client, [[address]]).send({
      ...POST,
      headers: { Host: 'forged.example', ...POST.headers },
      postUrl,
    });
    expect(dialled).toEqual([url]);
    expect(requests[0]?.head.match(/^host: .*$/gim)).toEqual([`host: ${host}`]);
    expect(requests[0]?.peer).toMatchObject({ isSecure: true, serverName });
  });

  test('is the next address when one cannot be connected to, three at most', async () => {
    const addresses = ['2606:4700::1', '2606:4700::2', PUBLIC, '93.184.216.35'];
    const dialled: string[] = [];
    const refuse: HttpClient = async (request) => {
      dialled.push(new URL(urlOf(request)).hostname);
      throw Object.assign(new TypeError(), { code: dialled.length === 1 ? 'ENETUNREACH' : 'ECONNREFUSED' });
    };
    const outcome = await strictSender(refuse, [addresses]).send({ ...POST, postUrl: 'https://example.com/' });
    expect(outcome).toMatchObject({ kind: 'error', error: 'refused' });
    expect(dialled).toEqual(['[2606:4700::1]', '[2606:4700::2]', PUBLIC]);
  });

  test('is no second address once the request may have been received', async () => {
    let dials = 0;
    const reset: HttpClient = async () => {
      dials += 1;
      throw Object.assign(new TypeError(), { code: 'ECONNRESET' });
    };
    const outcome = await strictSender(reset, [[PUBLIC, '1.1.1.1']]).send({ ...POST, postUrl: 'https://example.com/' });
    expect(outcome).toMatchObject({ kind: 'error', error: 'reset', detail: 'ECONNRESET' });
    expect(dials).toBe(1);
  });

  test('is nothing for http or an invalid URL', async () => {
    const { dialled, client } = recordingClient();
    const sender = strictSender(client, [[PUBLIC]]);
    for (const postUrl of ['http://example.com/', 'ftp://example.com/', 'example.com', '']) {
      expect(await sender.send({ ...POST, postUrl })).toMatchObject({ kind: 'error', error: 'invalid_url' });
    }
    expect(dialled).toEqual([]);
  });
});
