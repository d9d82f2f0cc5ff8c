import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { fileShortage, LocalShortageError, shortageIn } from '../../src/delivery/local-shortage.ts';
import { createSender } from '../../src/delivery/sender.ts';
import { rejection } from '../support/rejection.ts';
import { OK, startReceiver } from './receivers.ts';

function thrownWith(code: string): Error {
  return Object.assign(new Error('a text that must not matter: EMFILE'), { code });
}

describe('a failure to connect', () => {
  test.each([
    ['EMFILE', 'files'],
    ['ENFILE', 'files'],
    ['ENOMEM', 'memory'],
    ['ENOBUFS', 'memory'],
    ['EADDRNOTAVAIL', 'ports'],
  ] as const)('with the code %s is a shortage of %s', (code, resource) => {
    expect(shortageIn(thrownWith(code), '203.0.113.1')).toMatchObject({ code, resource });
  });

  test.each(['ECONNREFUSED', 'ENETUNREACH', 'ETIMEDOUT', 'ECONNRESET', 'CERT_HAS_EXPIRED'])(
    'with the code %s is none while files are free',
    (code) => {
      expect(fileShortage()).toBeNull();
      expect(shortageIn(thrownWith(code), '203.0.113.1')).toBeNull();
    },
  );
});

const NAMED = { entityId: 'ent_1', postUrl: 'https://receiver.test/', headers: {}, body: '{}' };

/** Sends to a name with two addresses, each of which fails so. */
function sendTo(failures: Readonly<Record<string, Error>>, tried: string[] = []) {
  const sender = createSender({
    timeoutMs: 1_000,
    allowInsecureTargets: false,
    userAgent: 'Paybell/test',
    resolve: () => Promise.resolve(Object.keys(failures)),
    client: ({ peer: { address } }) => {
      tried.push(address);
      return Promise.reject(failures[address] ?? new Error('This address was not resolved'));
    },
  });
  return sender.send(NAMED);
}

describe('a request', () => {
  const files = new LocalShortageError('files', 'EMFILE');
  const ports = new LocalShortageError('ports', 'EADDRNOTAVAIL');
  const refused = thrownWith('ECONNREFUSED');

  test('has no outcome if this machine has no free files, and tries no other address', async () => {
    const tried: string[] = [];
    expect(await rejection(sendTo({ '93.184.215.14': files, '93.184.215.15': refused }, tried))).toBe(files);
    expect(tried).toEqual(['93.184.215.14']);
  });

  test('tries the other addresses without a free port for the first, and has the outcome of the last', async () => {
    expect(await rejection(sendTo({ '93.184.215.14': refused, '93.184.215.15': ports }))).toBe(ports);
    const outcome = await sendTo({ '93.184.215.14': ports, '93.184.215.15': refused });
    expect(outcome).toMatchObject({ kind: 'error', error: 'refused' });
  });
});

/** In its own process, because every other test needs files too. */
test('a process without free files sends nothing over any route, and blames no receiver, name or proxy', async () => {
  await using receiver = await startReceiver((socket, request) => {
    socket.end(request.startsWith('CONNECT') ? 'HTTP/1.1 403 No\r\n\r\n' : OK);
  });
  const child = [process.execPath, join(import.meta.dir, 'local-shortage-child.ts'), String(receiver.port)];
  const limited = ['/bin/sh', '-c', 'ulimit -n 256 && exec "$@"', 'sh', ...child];
  const { stdout } = Bun.spawn(limited, { stdout: 'pipe', stderr: 'ignore' });
  const shortage = 'files EMFILE';
  expect(await new Response(stdout).json()).toEqual({
    without: { address: shortage, tls: shortage, name: shortage, proxy: shortage },
    after: { address: '200', tls: 'tls', name: '200', proxy: 'proxy_refused' },
  });
});
