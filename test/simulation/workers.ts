import { join } from 'node:path';
import type { FailedSeed, Job, SeedResult } from './job.ts';

/** A run of today's store takes a second or two; shrinking repeats it some hundred times. */
const LONGEST_RUN_MS = 300_000;
const LONGEST_SHRINK_MS = 3_600_000;

const PROGRAM = join(import.meta.dir, 'worker.ts');

/** A process in virtual time, which takes one job at a time. */
class Worker {
  readonly #child: Bun.Subprocess<'pipe', 'pipe', 'inherit'>;
  #rest = '';
  #answer: (line: string) => void = () => undefined;

  constructor(environment: Readonly<Record<string, string>>) {
    this.#child = Bun.spawn([process.execPath, PROGRAM], {
      stdin: 'pipe',
      stdout: 'pipe',
      stderr: 'inherit',
      env: { ...process.env, ...environment },
    });
    void this.#read();
  }

  /** Rejects if the process ends or takes too long; it is of no use any longer then. */
  async run(job: Job): Promise<SeedResult | FailedSeed> {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    this.#answer = resolve;
    const longestMs = job.shrinks === undefined ? LONGEST_RUN_MS : LONGEST_SHRINK_MS;
    const timer = setTimeout(
      () => reject(new Error(`stands still: no verdict within ${longestMs / 1_000} s`)),
      longestMs,
    );
    void this.#child.exited.then((code) => reject(new Error(`the worker ended with ${code}`)));
    this.#child.stdin.write(`${JSON.stringify(job)}\n`);
    await this.#child.stdin.flush();
    try {
      return JSON.parse(await promise) as SeedResult | FailedSeed;
    } finally {
      clearTimeout(timer);
    }
  }

  end(): void {
    this.#child.kill();
  }

  async #read(): Promise<void> {
    const decoder = new TextDecoder();
    for await (const bytes of this.#child.stdout) {
      this.#rest += decoder.decode(bytes, { stream: true });
      const end = this.#rest.indexOf('\n');
      if (end === -1) continue;
      const line = this.#rest.slice(0, end);
      this.#rest = this.#rest.slice(end + 1);
      this.#answer(line);
    }
  }
}

export type WorkersOptions = {
  readonly processes: number;
  readonly environment: Readonly<Record<string, string>>;
  readonly onResult: (result: SeedResult | FailedSeed) => void;
  /** Whether no other run begins after this result. */
  readonly isLast?: (result: SeedResult | FailedSeed) => boolean;
};

/** Runs the jobs in processes of their own, several at a time. A run that stands still costs its process, and no other run. */
export async function runJobs(
  jobs: readonly Job[],
  { processes, environment, onResult, isLast = () => false }: WorkersOptions,
): Promise<void> {
  const waiting = [...jobs];
  const isRepeated = new Set<Job>();
  /** A machine that was suspended looks like a run that stands still. */
  const repeated = (job: Job) => {
    isRepeated.add(job);
    return job;
  };
  const note = (result: SeedResult | FailedSeed) => {
    onResult(result);
    if (isLast(result)) waiting.length = 0;
  };
  const work = async () => {
    let worker: Worker | null = null;
    for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) {
      worker ??= new Worker(environment);
      try {
        note(await worker.run(job));
      } catch (error) {
        worker.end();
        worker = null;
        if (!isRepeated.has(job)) waiting.push(repeated(job));
        else note({ seed: job.seed, failure: error instanceof Error ? error.message : String(error) });
      }
    }
    worker?.end();
  };
  await Promise.all(Array.from({ length: Math.min(processes, jobs.length) }, work));
}
