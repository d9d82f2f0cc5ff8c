import type { Environment } from '../../terminal/terminal.ts';
import { joinMetrics } from './joined-metrics.ts';
import { type FromWorker, readFromSupervisor, type Started } from './messages.ts';

/** The number of this process among the workers of its supervisor. */
const VARIABLE = 'PAYBELL_WORKER';

/** Longer than the supervisor waits for the other workers. */
const SCRAPE_MS = 3_000;
/** Limit on the waiting scrapes. Further scrapes get only the metrics of this process. */
const MAX_SCRAPES = 20;

export function workerEnvironment(worker: number): Record<string, string> {
  return { [VARIABLE]: String(worker) };
}

/** The part of a worker process that talks to its supervisor. */
export class Worker {
  readonly #waiting = new Map<number, (text: string) => void>();
  #scrapes = 0;
  #ownText: () => Promise<string> = () => Promise.resolve('');

  private constructor(
    private readonly no: number,
    private readonly send: (message: FromWorker) => void,
  ) {}

  /** Null if this process has no supervisor. */
  static join(environment: Environment): Worker | null {
    const no = Number(environment[VARIABLE] ?? 0);
    const send = process.send?.bind(process);
    if (no < 1 || send === undefined) return null;
    const worker = new Worker(no, send);
    process.on('message', (message) => void worker.#receive(message));
    return worker;
  }

  /** Resolves when the supervisor is gone. Without it, nothing would restart or stop the workers. */
  orphaned(): Promise<string> {
    return new Promise((resolve) => process.on('disconnect', () => resolve('the supervisor has ended')));
  }

  /** Closes the channel, which would keep a process alive that could not start. */
  leave(): void {
    process.disconnect?.();
  }

  started(message: Omit<Started, 'type'>): void {
    this.send({ type: 'started', ...message });
  }

  /** Sets this worker's own metrics, for a scrape of all workers. */
  reports(ownText: () => Promise<string>): void {
    this.#ownText = ownText;
  }

  /** The metrics of all workers. */
  async scrape(): Promise<string> {
    if (this.#waiting.size >= MAX_SCRAPES) return this.#alone();
    const id = this.#scrapes++;
    const all = Promise.withResolvers<string>();
    const timer = setTimeout(() => all.resolve(this.#alone()), SCRAPE_MS);
    this.#waiting.set(id, all.resolve);
    try {
      this.send({ type: 'scrape', id });
      return await all.promise;
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(id);
    }
  }

  async #alone(): Promise<string> {
    return joinMetrics(new Map([[this.no, await this.#ownText()]]));
  }

  async #receive(received: unknown): Promise<void> {
    const message = readFromSupervisor(received);
    if (message?.type === 'report') this.send({ type: 'text', id: message.id, text: await this.#ownText() });
    if (message?.type === 'scraped') this.#waiting.get(message.id)?.(message.text);
  }
}
