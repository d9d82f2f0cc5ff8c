import type { Socket, TCPSocketListener } from 'bun';

/** A proxy that a test can pause: it accepts and keeps connections but forwards no bytes, like a frozen server. */
export type TcpProxy = {
  readonly port: number;
  /** How many connections it has accepted. */
  readonly accepted: () => number;
  pause: () => void;
  resume: () => void;
  /** Forwards nothing more on the connections that there are, as a firewall that lost them; new ones work. */
  freezeOpen: () => void;
  /** From now on all bytes take this long in each direction, as on a long way; not to be lowered during transfers. */
  delay: (ms: number) => void;
  /** Closes every connection, as a restarting server does. */
  cut: () => void;
  stop: () => void;
};

type Side = { peer: Socket<Side> | null; pending: Buffer[] };

export function startTcpProxy(targetHost: string, targetPort: number): TcpProxy {
  let accepted = 0;
  let delayMs = 0;
  // Timers of the same length fire in the order in which they were set, so bytes keep theirs.
  const afterDelay = (work: () => void) => void (delayMs === 0 ? work() : setTimeout(work, delayMs));
  const sides = new Set<Socket<Side>>();
  const frozen = new WeakSet<Socket<Side>>();
  let paused = false;

  const flush = (socket: Socket<Side>) => {
    const { peer, pending } = socket.data;
    while (!paused && !frozen.has(socket) && peer !== null && pending.length > 0) {
      const bytes = pending.shift() ?? Buffer.alloc(0);
      const sent = peer.write(bytes);
      if (sent < bytes.length) {
        pending.unshift(bytes.subarray(Math.max(sent, 0)));
        return;
      }
    }
  };
  const handlers = {
    data(socket: Socket<Side>, bytes: Buffer) {
      const copy = Buffer.from(bytes);
      afterDelay(() => {
        socket.data.pending.push(copy);
        flush(socket);
      });
    },
    drain(socket: Socket<Side>) {
      if (socket.data.peer !== null) flush(socket.data.peer);
    },
    close(socket: Socket<Side>) {
      sides.delete(socket);
      afterDelay(() => socket.data.peer?.end());
    },
    error() {},
  };
  const listener: TCPSocketListener<Side> = Bun.listen<Side>({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      ...handlers,
      async open(socket) {
        accepted++;
        socket.data = { peer: null, pending: [] };
        sides.add(socket);
        const data: Side = { peer: socket, pending: [] };
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
    accepted: () => accepted,
    pause: () => {
      paused = true;
    },
    resume: () => {
      paused = false;
      for (const socket of sides) flush(socket);
    },
    freezeOpen: () => {
      for (const socket of sides) frozen.add(socket);
    },
    delay: (ms) => {
      delayMs = ms;
    },
    cut,
    stop: () => {
      listener.stop(true);
      cut();
    },
  };
}
