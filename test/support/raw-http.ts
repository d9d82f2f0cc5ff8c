import type { Socket } from 'bun';

/** A connection on which a test can write any bytes. */
export type RawConnection = {
  write: (text: string) => void;
  /** Everything received, as soon as it contains `text` or the connection is closed. */
  received: (text?: string) => Promise<string>;
  end: () => void;
};

export async function connectRaw(url: string): Promise<RawConnection> {
  const { hostname, port } = new URL(url);
  const decoder = new TextDecoder();
  let received = '';
  let closed = false;
  let changed = Promise.withResolvers<void>();
  const notify = () => {
    changed.resolve();
    changed = Promise.withResolvers();
  };
  const close = () => {
    closed = true;
    notify();
  };
  let rest = Buffer.alloc(0);
  const flush = (socket: Socket) => {
    rest = rest.subarray(Math.max(socket.write(rest), 0));
  };
  const socket = await Bun.connect({
    hostname,
    port: Number(port),
    socket: {
      data(_, bytes) {
        received += decoder.decode(bytes, { stream: true });
        notify();
      },
      drain: flush,
      close,
      error: close,
    },
  });
  return {
    write(text) {
      rest = Buffer.concat([rest, Buffer.from(text, 'latin1')]);
      flush(socket);
    },
    async received(text) {
      while (!closed && (text === undefined || !received.includes(text))) await changed.promise;
      return received;
    },
    end: () => socket.end(),
  };
}

/** Sends one request as text and returns the whole response. The connection has to be closed by the server. */
export async function sendRaw(
  url: string,
  request: string,
): Promise<{ status: number; headers: string; body: string }> {
  const connection = await connectRaw(url);
  connection.write(request);
  const response = await connection.received();
  const [headers = '', ...body] = response.split('\r\n\r\n');
  return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(response)?.[1] ?? 0), headers, body: body.join('\r\n\r\n') };
}
