import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { until } from '../support/until.ts';
import type { Certificate } from './http/certificates.ts';

/** A receiver on loopback that speaks raw bytes, so that it can misbehave in ways that no HTTP server lets it. */
export interface Receiver extends AsyncDisposable {
  port: number;
  /** Connections taken since the start. */
  connections: number;
  /** All that was received, as text. */
  received: string;
  /** Resolves when the given number of connections has been closed. */
  closed: (count: number) => Promise<void>;
}

type Respond = (socket: Socket, request: string) => void;

export const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';

export function startReceiver(respond: Respond, hostname = '127.0.0.1'): Promise<Receiver> {
  return listen((onConnection) => createServer(onConnection), respond, hostname);
}

export function startTlsReceiver(
  certificate: Certificate,
  respond: Respond,
  onServerName: (name: string) => void = () => {},
): Promise<Receiver> {
  const options = {
    ...certificate,
    SNICallback: (name: string, done: (error: Error | null) => void) => {
      onServerName(name);
      done(null);
    },
  };
  return listen((onConnection) => createTlsServer(options, onConnection), respond, '127.0.0.1');
}

async function listen(
  create: (onConnection: (socket: Socket) => void) => Server,
  respond: Respond,
  hostname: string,
): Promise<Receiver> {
  const sockets = new Set<Socket>();
  let closedCount = 0;
  const server = create((socket) => {
    receiver.connections += 1;
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => {
      closedCount += 1;
      sockets.delete(socket);
    });
    socket.on('data', (data) => {
      receiver.received += data.toString();
      respond(socket, data.toString());
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, hostname, resolve);
  });
  const address = server.address();
  const receiver: Receiver = {
    port: address !== null && typeof address === 'object' ? address.port : 0,
    connections: 0,
    received: '',
    closed: (count) => until(`${count} connections are closed`, () => closedCount >= count),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return receiver;
}
