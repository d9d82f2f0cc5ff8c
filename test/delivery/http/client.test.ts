import { describe, expect, test } from 'bun:test';
import type { Socket } from 'node:net';
import { createHttpClient, type HttpClient } from '../../../src/delivery/http/client.ts';
import { Deadline } from '../../../src/delivery/http/deadline.ts';
import { rejection } from '../../support/rejection.ts';
import { until } from '../../support/until.ts';
import { OK, type Receiver, startReceiver } from '../receivers.ts';

const BODY = '{"a":"é"}';

function send(client: HttpClient, { port }: Receiver, deadline = new Deadline(0), entityId = 'ent_1') {
  const peer = { address: '127.0.0.1', port, isSecure: false, serverName: null };
  const head = `POST / HTTP/1.1\r\nhost: test\r\ncontent-length: ${Buffer.byteLength(BODY)}\r\n\r\n`;
  return client({ entityId, peer, head, body: BODY }, deadline);
}

const respondsWith = (text: string) => (socket: Socket) => void socket.write(text);

/** Responds to the first request on each connection and does something else with the next. */
function respondsOnce(next: (socket: Socket) => void, text = OK) {
  const seen = new Set<Socket>();
  return (socket: Socket) => {
    if (seen.has(socket)) return next(socket);
    seen.add(socket);
    socket.write(text);
  };
}

describe('a connection', () => {
  test('is kept for every request that was in flight at the same time, however many', async () => {
    const waiting: Socket[] = [];
    await using receiver = await startReceiver((socket) => void waiting.push(socket));
    const client = createHttpClient();
    for (let round = 0; round < 3; round++) {
      const requests = Array.from({ length: 200 }, () => send(client, receiver));
      await until('all have arrived', () => waiting.length === 200);
      for (const socket of waiting.splice(0)) socket.write(OK);
      expect((await Promise.all(requests)).every(({ status }) => status === 200)).toBe(true);
    }
    expect(receiver.connections).toBe(200);
  });

  test.each([
    ['says that it closes', OK.replace('\r\n\r\n', '\r\nconnection: close\r\n\r\n')],
    ['says more than it was asked', `${OK}and more`],
    ['speaks HTTP/1.0', OK.replace('1.1', '1.0')],
  ])('is not used again when the receiver %s', async (_what, text) => {
    await using receiver = await startReceiver(respondsWith(text));
    const client = createHttpClient();
    for (let requests = 1; requests <= 3; requests++) {
      expect(await send(client, receiver)).toMatchObject({ status: 200, body: 'ok' });
      expect(receiver.connections).toBe(requests);
    }
    await receiver.closed(3);
  });

  const withHead = (lines: string, status = '200 OK') => `HTTP/1.1 ${status}\r\n${lines}\r\n\r\n`;

  /** Responds once on each connection. What the second request on it gets is left over from the first. */
  const leavesBehind = (text: string) => respondsOnce((socket) => void socket.write(OK), text);

  test.each([
    ['a 204 with a length', withHead(`content-length: ${OK.length}`, '204 No Content')],
    ['a 204 in chunks', withHead('transfer-encoding: chunked', '204 No Content')],
    ['a 304 with a length', withHead(`content-length: ${OK.length}`, '304 Not Modified')],
    ['a 304 in chunks', withHead('transfer-encoding: chunked', '304 Not Modified')],
    ['"close" before another connection field', withHead('connection: close\r\nconnection: te\r\ncontent-length: 0')],
    ['a body that is not read to its end', `${withHead('content-length: 20000')}${'a'.repeat(20_000)}`],
  ])('is not used again after %s', async (_what, text) => {
    await using receiver = await startReceiver(leavesBehind(text));
    const client = createHttpClient();
    const first = await send(client, receiver);
    expect(await send(client, receiver)).toEqual(first);
    expect(receiver.connections).toBe(2);
    await receiver.closed(2);
  });

  test.each([
    ['both a length and chunks', withHead('content-length: 5\r\ntransfer-encoding: chunked')],
    ['two equal lengths', withHead('content-length: 0\r\ncontent-length: 0')],
    ['a space before a colon', withHead('content-length : 5\r\ncontent-length: 0')],
    ['a space in a field name', withHead('x y: z\r\ncontent-length: 0')],
    ['a bare carriage return', withHead('x: a\rcontent-length: 5\r\ncontent-length: 0')],
    ['a bare line feed', withHead('x: a\ncontent-length: 0')],
    ['a trailer without a colon', `${withHead('transfer-encoding: chunked')}0\r\nx\r\n\r\n`],
  ])('is closed on %s, which is no response', async (_what, text) => {
    await using receiver = await startReceiver(leavesBehind(text));
    const client = createHttpClient();
    for (let requests = 1; requests <= 2; requests++) {
      expect(await rejection(send(client, receiver))).toMatchObject({ error: 'bad_response' });
      expect(receiver.connections).toBe(requests);
    }
    await receiver.closed(2);
  });

  test('is kept after a 204 that says it has no body', async () => {
    await using receiver = await startReceiver(respondsWith(withHead('content-length: 0', '204 No Content')));
    const client = createHttpClient();
    for (let requests = 0; requests < 3; requests++)
      expect(await send(client, receiver)).toMatchObject({ status: 204 });
    expect(receiver.connections).toBe(1);
  });

  test('with unrequested bytes is closed, and they are not taken for a response', async () => {
    const sockets: Socket[] = [];
    await using receiver = await startReceiver((socket) => {
      sockets.push(socket);
      socket.write(OK);
    });
    const client = createHttpClient();
    await send(client, receiver);
    sockets[0]?.write(OK.replace('200', '500'));
    await receiver.closed(1);
    expect(await send(client, receiver)).toMatchObject({ status: 200 });
    expect(receiver.connections).toBe(2);
  });

  test('is not kept any more once the receiver has sent surplus bytes on any, because later ones could be taken for a response', async () => {
    const sockets = new Set<Socket>();
    await using receiver = await startReceiver((socket) => {
      sockets.add(socket);
      socket.write(sockets.size === 2 ? `${OK}surplus` : OK);
    });
    const client = createHttpClient();
    // The first connection is idle when the second one gets the surplus.
    await Promise.all([send(client, receiver), send(client, receiver)]);
    await receiver.closed(2);
    for (let connections = 3; connections <= 5; connections++) {
      expect(await send(client, receiver)).toMatchObject({ status: 200 });
      expect(receiver.connections).toBe(connections);
    }
  });

  test('serves one entity only', async () => {
    await using receiver = await startReceiver(respondsWith(OK));
    const client = createHttpClient();
    for (const entityId of ['ent_1', 'ent_2', 'ent_1', 'ent_2']) await send(client, receiver, undefined, entityId);
    expect(receiver.connections).toBe(2);
  });

  test('that was idle for some seconds is closed', async () => {
    await using receiver = await startReceiver(respondsWith(OK));
    await send(createHttpClient(), receiver);
    await receiver.closed(1);
    expect(receiver.connections).toBe(1);
  });
});

describe('a request on a reused connection', () => {
  test.each<[string, (socket: Socket) => void]>([
    ['closed', (socket) => void socket.end()],
    ['reset', (socket) => void socket.resetAndDestroy()],
  ])('that is %s without a response is sent again, the same bytes on a new one', async (_how, end) => {
    await using receiver = await startReceiver(respondsOnce(end));
    const client = createHttpClient();
    for (let requests = 0; requests < 3; requests++)
      expect(await send(client, receiver)).toMatchObject({ status: 200 });
    expect(receiver.connections).toBe(3);
    expect(receiver.received.match(/POST \/ HTTP\/1\.1/g)).toHaveLength(5);
  });

  test('that ends within the response fails, and is not sent again', async () => {
    await using receiver = await startReceiver(respondsOnce((socket) => void socket.end('HTTP/1.1 200 OK\r\nx: ')));
    const client = createHttpClient();
    await send(client, receiver);
    expect(await rejection(send(client, receiver))).toMatchObject({ error: 'reset' });
    expect(receiver.connections).toBe(1);
  });

  test('that times out fails and closes the connection', async () => {
    await using receiver = await startReceiver(respondsOnce(() => undefined));
    const client = createHttpClient();
    await send(client, receiver);
    const deadline = new Deadline(0);
    const late = send(client, receiver, deadline);
    await until('it has arrived', () => receiver.received.split('POST').length === 3);
    deadline.expire();
    expect(await rejection(late)).toMatchObject({ error: 'timeout' });
    await receiver.closed(1);
  });
});

test('a request that times out before it is connected leaves no connection behind', async () => {
  await using receiver = await startReceiver(respondsWith(OK));
  const deadline = new Deadline(0);
  const late = send(createHttpClient(), receiver, deadline);
  deadline.expire();
  expect(await rejection(late)).toMatchObject({ error: 'timeout' });
  if (receiver.connections > 0) await receiver.closed(receiver.connections);
  expect(receiver.received).toBe('');
});

test('a connection whose request got its response before it was completely sent is not reused', async () => {
  const sockets = new Set<Socket>();
  await using receiver = await startReceiver((socket) => {
    if (sockets.has(socket)) return;
    sockets.add(socket);
    socket.write(OK);
    socket.pause();
  });
  const body = 'a'.repeat(32 * 2 ** 20);
  const peer = { address: '127.0.0.1', port: receiver.port, isSecure: false, serverName: null };
  const head = `POST / HTTP/1.1\r\nhost: test\r\ncontent-length: ${body.length}\r\n\r\n`;
  const client = createHttpClient();
  expect(await client({ entityId: 'ent_1', peer, head, body }, new Deadline(0))).toMatchObject({ status: 200 });
  expect(await send(client, receiver)).toMatchObject({ status: 200 });
  expect(receiver.connections).toBe(2);
});

test('a body of bytes and one of a megabyte arrive completely', async () => {
  let received = 0;
  const body = Buffer.alloc(2 ** 20, 'é');
  const head = `POST / HTTP/1.1\r\nhost: test\r\ncontent-length: ${body.length}\r\n\r\n`;
  await using receiver = await startReceiver((socket, request) => {
    received += Buffer.byteLength(request);
    if (received >= head.length + body.length) socket.write(OK);
  });
  const peer = { address: '127.0.0.1', port: receiver.port, isSecure: false, serverName: null };
  expect(await createHttpClient()({ entityId: 'ent_1', peer, head, body }, new Deadline(0))).toMatchObject({
    status: 200,
  });
});
