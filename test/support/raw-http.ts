import type { Socket } from 'bun';

/** A connection on which a test writes whatever bytes it likes. */
export type RawConnection = {
  write: (text: string) => void;
  /** Everything that has come back, once it contains `text` or the other side has closed. */
  received: (text?: string) => Promise<string>;
  end: () => void;
};

export async function connectRaw(url: string): Promise<RawConnection> {
  const { hostname, port } = new URL(url);
  const decoder = new TextDecoder();
  let answer = '';
  let closed = false;
  let changed = Promise.withResolvers<void>();
  const note = () => {
    changed.resolve();
    changed = Promise.withResolvers();
  };
  const close = () => {
    closed = true;
    note();
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
        answer += decoder.decode(bytes, { stream: true });
        note();
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
      while (!closed && (text === undefined || !answer.includes(text))) await changed.promise;
      return answer;
    },
    end: () => socket.end(),
  };
}

/** One request as text, and all of the answer: the server is asked to close, or closes by itself. */
export async function sendRaw(
  url: string,
  request: string,
): Promise<{ status: number; headers: string; body: string }> {
  const connection = await connectRaw(url);
  connection.write(request);
  const answer = await connection.received();
  const [headers = '', ...body] = answer.split('\r\n\r\n');
  return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0), headers, body: body.join('\r\n\r\n') };
}
