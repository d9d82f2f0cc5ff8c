import { join } from 'node:path';

/** Receivers in a process of their own that record each event they receive, except for one that never responds. */
export type LedgerReceivers = {
  readonly urls: readonly string[];
  /** How many events were received, and how many requests the hanging receiver holds. */
  readonly count: () => Promise<{ received: number; hanging: number }>;
  readonly ledger: () => Promise<readonly LedgerEntry[]>;
  readonly stop: () => Promise<void>;
};

export type LedgerEntry = { readonly eventId: string; readonly receivedAtMs: number };

type Options = {
  readonly receivers: number;
  /** The index of the one that hangs. */
  readonly hanging?: number;
  /** Events whose ids begin with this are refused with 503, and not recorded. */
  readonly refused?: string;
};

export async function startLedgerReceivers({
  receivers,
  hanging = -1,
  refused = '',
}: Options): Promise<LedgerReceivers> {
  const script = join(import.meta.dir, 'ledger-receivers-process.ts');
  const args = [String(receivers), String(hanging), refused];
  const child = Bun.spawn([process.execPath, script, ...args], { stdout: 'pipe', stderr: 'inherit', stdin: 'ignore' });
  const ports = await readPorts(child.stdout);
  const get = async <Body>(path: string) => (await (await fetch(`http://127.0.0.1:${ports[0]}${path}`)).json()) as Body;
  return {
    urls: ports.map((port) => `http://127.0.0.1:${port}/hook`),
    count: () => get('/count'),
    ledger: () => get('/ledger'),
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
  throw new Error('The receivers ended before they listened');
}
