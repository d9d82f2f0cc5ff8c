import { connect, createServer, type Server, type Socket } from 'node:net';

const CONNECT = /^CONNECT ([\d.]+):(\d+) HTTP\/1\.1\r\n[\s\S]*\r\n\r\n$/;

/** An HTTP proxy on loopback that a trial can stop and start again on its port. */
export class ForwardProxy implements AsyncDisposable {
  /** Requests for a tunnel that it has granted. */
  tunnels = 0;
  readonly #sockets = new Set<Socket>();
  #server: Server | null = null;
  #port = 0;

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async start(): Promise<void> {
    const server = createServer((client) => this.#accept(client));
    this.#server = server;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(this.#port, '127.0.0.1', resolve);
    });
    const address = server.address();
    if (address !== null && typeof address === 'object') this.#port = address.port;
  }

  /** As a proxy that is killed: its tunnels are cut, and nothing listens. */
  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    if (server === null) return;
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #accept(client: Socket): void {
    this.#keep(client);
    client.once('data', (head) => {
      const [, host = '', port = ''] = CONNECT.exec(head.toString('latin1')) ?? [];
      const isLoopback = host.startsWith('127.');
      if (!isLoopback) return void client.end('HTTP/1.1 403 Forbidden\r\n\r\n');
      const receiver = connect({ host, port: Number(port) });
      this.#keep(receiver);
      client.on('close', () => receiver.destroy());
      receiver.on('close', () => client.destroy());
      receiver.on('connect', () => {
        this.tunnels++;
        client.write('HTTP/1.1 200 Connection established\r\n\r\n');
        client.pipe(receiver).pipe(client);
      });
    });
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => this.#sockets.delete(socket));
  }
}
