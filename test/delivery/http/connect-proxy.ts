import { connect, type Socket } from 'node:net';
import { parseEgressProxy } from '../../../src/config/egress.ts';
import { type Receiver, startReceiver } from '../receivers.ts';

export const ESTABLISHED = 'HTTP/1.1 200 Connection established\r\n\r\n';

/** A forward proxy on loopback. Whatever CONNECT names, it connects to `port` on loopback, and to nothing without one. */
export async function startProxy({ port, answer = ESTABLISHED }: { port?: number; answer?: string } = {}) {
  /** The heads of all CONNECT requests, and the address that each came from. */
  const requests: string[] = [];
  const sources: (string | undefined)[] = [];
  const tunnels = new Map<Socket, Socket>();
  const proxy: Receiver = await startReceiver((client, text) => {
    const tunnel = tunnels.get(client);
    if (tunnel !== undefined) return;
    requests.push(text);
    sources.push(client.remoteAddress);
    if (port === undefined) return void client.write(answer);
    const receiver = connect({ host: '127.0.0.1', port });
    tunnels.set(client, receiver);
    receiver.on('error', () => client.destroy()).on('close', () => client.destroy());
    client.on('close', () => receiver.destroy());
    receiver.on('connect', () => {
      client.write(answer);
      client.pipe(receiver).pipe(client);
    });
  });
  // The same object, whose counts go on.
  return Object.assign(proxy, { requests, sources, setting: proxySetting(`http://127.0.0.1:${proxy.port}`) });
}

export function proxySetting(url: string) {
  const parsed = parseEgressProxy(url);
  if (typeof parsed === 'string') throw new TypeError(parsed);
  return parsed;
}
