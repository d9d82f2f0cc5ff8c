import type { Socket, TCPSocketListener } from 'bun';

/** A wire that a test can pause: connections stay open and are accepted, but no byte passes, as with a frozen server. */
export type TcpProxy = {
  readonly port: number;
  pause: () => void;
  resume: () => void;
  /** Cuts every connection, as a server that restarts does. */
  cut: () => void;
  stop: () => void;
};

type Side = { peer: Socket<Side> | null; kept: Buffer[] };

export function startTcpProxy(targetHost: string, targetPort: number): TcpProxy {
  const sides = new Set<Socket<Side>>();
  let paused = false;

  const flush = (socket: Socket<Side>) => {
    const { peer, kept } = socket.data;
    while (!paused && peer !== null && kept.length > 0) {
      const bytes = kept.shift() ?? Buffer.alloc(0);
      const sent = peer.write(bytes);
      if (sent < bytes.length) {
        kept.unshift(bytes.subarray(Math.max(sent, 0)));
        return;
      }
    }
  };
  const handlers = {
    data(socket: Socket<Side>, bytes: Buffer) {
      socket.data.kept.push(Buffer.from(bytes));
      flush(socket);
    },
    drain(socket: Socket<Side>) {
      if (socket.data.peer !== null) flush(socket.data.peer);
    },
    close(socket: Socket<Side>) {
      sides.delete(socket);
      socket.data.peer?.end();
    },
    error() {},
  };
  const listener: TCPSocketListener<Side> = Bun.listen<Side>({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      ...handlers,
      async open(socket) {
        socket.data = { peer: null, kept: [] };
        sides.add(socket);
        const data: Side = { peer: socket, kept: [] };
        const peer = await Bun.connect<Side>({ hostname: targetHost, port: targetPort, data, socket: handlers });
        sides.add(peer);
        socket.data.peer = peer;
        flush(socket);
      },
    },
  });
  const cut = () => {
    for (const socket of sides) socket.terminate();
  };
  return {
    port: listener.port,
    pause: () => {
      paused = true;
    },
    resume: () => {
      paused = false;
      for (const socket of sides) flush(socket);
    },
    cut,
    stop: () => {
      listener.stop(true);
      cut();
    },
  };
}
