import { join } from 'node:path';

/** The receivers of a bench, from the outside. */
export type Receivers = {
  readonly urls: readonly string[];
  readonly count: () => Promise<{ count: number; hung: number }>;
  readonly ledger: () => Promise<Ledger>;
  readonly stop: () => Promise<void>;
};

export type Ledger = {
  ledger: { eventId: string; deliveryId: string; receivedAtMs: number; from: string }[];
  /** How often a post came while another of the same delivery was being answered. */
  together: number;
};

type Options = { receivers: number; replyMs?: number; hanging?: number };

export async function startReceivers({ receivers, replyMs = 0, hanging = -1 }: Options): Promise<Receivers> {
  const script = join(import.meta.dir, 'receiver-process.ts');
  const args = [receivers, replyMs, hanging].map(String);
  const child = Bun.spawn([process.execPath, script, ...args], { stdout: 'pipe', stderr: 'inherit', stdin: 'ignore' });
  const ports = await readPorts(child.stdout);
  const ask = async <Answer>(path: string) =>
    (await (await fetch(`http://127.0.0.1:${ports[0]}${path}`)).json()) as Answer;
  return {
    urls: ports.map((port) => `http://127.0.0.1:${port}/hook`),
    count: () => ask('/count'),
    ledger: () => ask('/ledger'),
    stop: async () => {
      child.kill('SIGKILL');
      await child.exited;
    },
  };
}

async function readPorts(stdout: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<number[]> {
  let text = '';
  for await (const chunk of stdout) {
    text += new TextDecoder().decode(chunk);
    if (text.includes('\n')) return JSON.parse(text) as number[];
  }
  throw new Error('the receivers ended before they listened');
}
