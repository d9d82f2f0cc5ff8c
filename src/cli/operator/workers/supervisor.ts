import type { Subprocess } from 'bun';
import { portOf } from '../../../domain/post-url.ts';
import type { Logger } from '../../../log.ts';
import { joinMetrics } from './joined-metrics.ts';
import { type FromSupervisor, type FromWorker, readFromWorker, type Started } from './messages.ts';
import { workerEnvironment } from './worker.ts';

/**
 * Runs a service as several processes behind one port. Each worker is an instance like any other; this process only starts
 * them, restarts those that end, and passes on when to stop.
 *
 *                 "started"                    ends
 *     starting ───────────────▶ running ──────────────────▶ waiting ──┐
 *        ▲  └──────────────── ends ─────────────────────────▶  │      │ after a pause that doubles, from half a second
 *        └──────────────────────────────────────────────────────┼──────┘ to half a minute, until one has run for a minute
 *                                                     stop      ▼
 *     each state ────────────── SIGTERM, in the end SIGKILL ── gone
 */

const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 30_000;
const STEADY_MS = 60_000;
/** The longest time that a scrape waits for a worker. */
const REPORT_MS = 2_000;

export type SupervisorOptions = {
  readonly workers: number;
  /** Starts this program again. */
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly log: Logger;
  /** Time after which a worker that does not stop is killed. */
  readonly longestStopMs: number;
};

type Child = {
  readonly no: number;
  process: Subprocess | null;
  pauseMs: number;
  timer: Timer | null;
};

type Scrape = { readonly texts: Map<number, string>; readonly missing: Set<number>; readonly done: () => void };

export class Supervisor {
  readonly #children: Child[] = [];
  readonly #scrapes = new Map<number, Scrape>();
  #scrapeCount = 0;
  #isStopping = false;
  #failures = 0;

  constructor(private readonly options: SupervisorOptions) {}

  /**
   * Starts the first worker, which checks the settings, migrates the database and chooses the port. Then starts the
   * other workers. Null if the first worker has ended; its own messages say why.
   */
  async start(): Promise<Started | null> {
    const first = this.#addChild(1);
    const started = Promise.withResolvers<Started | null>();
    this.#run(first, this.options.environment, {
      onStarted: started.resolve,
      onEnd: () => started.resolve(null),
    });
    const found = await started.promise;
    if (found === null) return null;
    const environment = { ...this.options.environment, PORT: portOf(new URL(found.url)) };
    this.#keepRunning(first, environment);
    for (let no = 2; no <= this.options.workers && !this.#isStopping; no++) {
      const child = this.#addChild(no);
      this.#run(child, environment);
      this.#keepRunning(child, environment);
    }
    return found;
  }

  /** Resolves when every worker has ended, with true if all workers ended without an error. */
  async stop(): Promise<boolean> {
    this.#isStopping = true;
    await Promise.all(
      this.#children.map(async ({ process: running, timer }) => {
        if (timer !== null) clearTimeout(timer);
        if (running === null) return;
        running.kill('SIGTERM');
        const killing = setTimeout(() => running.kill('SIGKILL'), this.options.longestStopMs);
        const exitCode = await running.exited;
        clearTimeout(killing);
        if (exitCode !== 0) this.#failures++;
      }),
    );
    return this.#failures === 0;
  }

  #addChild(no: number): Child {
    const child: Child = { no, process: null, pauseMs: FIRST_PAUSE_MS, timer: null };
    this.#children.push(child);
    return child;
  }

  #run(
    child: Child,
    environment: SupervisorOptions['environment'],
    { onStarted, onEnd }: { onStarted?: (message: Started) => void; onEnd?: () => void } = {},
  ): void {
    const running = Bun.spawn([...this.options.command], {
      env: { ...environment, WORKERS: '1', REUSE_PORT: 'true', ...workerEnvironment(child.no) },
      stdio: ['ignore', 'inherit', 'inherit'],
      serialization: 'json',
      ipc: (received) => {
        const message = readFromWorker(received);
        if (message?.type === 'started') {
          this.options.log.info({ worker: child.no, pid: running.pid }, 'a worker is running');
          onStarted?.(message);
        } else if (message !== null) this.#receive(child, message);
      },
    });
    child.process = running;
    void running.exited.then(() => {
      child.process = null;
      this.#forget(child.no);
      onEnd?.();
    });
  }

  /** Starts the worker again whenever it ends. */
  #keepRunning(child: Child, environment: SupervisorOptions['environment']): void {
    const running = child.process;
    if (running === null) {
      this.#startLater(child, environment);
      return;
    }
    const startedAtMs = performance.now();
    void running.exited.then((exitCode) => {
      if (this.#isStopping) return;
      if (performance.now() - startedAtMs >= STEADY_MS) child.pauseMs = FIRST_PAUSE_MS;
      const { pid, signalCode } = running;
      this.options.log.error(
        { worker: child.no, pid, exitCode, signalCode, inMs: child.pauseMs },
        'a worker has ended and is started again',
      );
      this.#startLater(child, environment);
    });
  }

  #startLater(child: Child, environment: SupervisorOptions['environment']): void {
    child.timer = setTimeout(() => {
      child.timer = null;
      if (this.#isStopping) return;
      this.#run(child, environment);
      this.#keepRunning(child, environment);
    }, child.pauseMs);
    child.pauseMs = longerPause(child.pauseMs);
  }

  #receive(child: Child, message: Exclude<FromWorker, Started>): void {
    if (message.type === 'scrape') {
      void this.#scrape(child, message.id);
      return;
    }
    const scrape = this.#scrapes.get(message.id);
    if (scrape?.missing.delete(child.no) !== true) return;
    scrape.texts.set(child.no, message.text);
    if (scrape.missing.size === 0) scrape.done();
  }

  /** Collects the metrics of all workers. Leaves out a worker that starts, ends or hangs. */
  async #scrape(asking: Child, askedId: number): Promise<void> {
    const id = this.#scrapeCount++;
    const done = Promise.withResolvers<void>();
    const running = this.#children.filter((child) => child.process !== null);
    const missing = new Set(running.map(({ no }) => no));
    const texts = new Map<number, string>();
    this.#scrapes.set(id, { texts, missing, done: done.resolve });
    const timer = setTimeout(done.resolve, REPORT_MS);
    for (const child of running) say(child, { type: 'report', id });
    await done.promise;
    clearTimeout(timer);
    this.#scrapes.delete(id);
    const inOrder = new Map([...texts].sort(([one], [other]) => one - other));
    say(asking, { type: 'scraped', id: askedId, text: joinMetrics(inOrder) });
  }

  #forget(no: number): void {
    for (const { missing, done } of this.#scrapes.values()) if (missing.delete(no) && missing.size === 0) done();
  }
}

export function longerPause(ms: number): number {
  return Math.min(ms * 2, MAX_PAUSE_MS);
}

/** Sends a message, unless the worker has just ended. */
function say({ process: running }: Child, message: FromSupervisor): void {
  try {
    running?.send(message);
  } catch {}
}
