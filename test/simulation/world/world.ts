import { RealCalls } from './calls.ts';
import { as, currentOwner } from './owners.ts';
import { Random } from './random.ts';
import { type Task, Tasks } from './tasks.ts';

/**
 * Virtual time. One task runs at a time, and the next one only when everything that it led to has settled, so that a seed
 * leads to one order of all work. Tasks of the same time run in an order that the seed draws.
 */

/** Kept from before the timers of the process are replaced. */
const setRealImmediate = globalThis.setImmediate;
const realNowMs = performance.now.bind(performance);

/** The date on which every run begins. */
const EPOCH_MS = 1_800_000_000_000;

/** How long an immediate callback waits at most: immediates of different instances overtake each other. */
const IMMEDIATE_MS = 0.05;

/** How soon an instance goes on when it is no longer frozen. */
export const THAW_LOOK_MS = 1_000;

export class World {
  nowMs = 0;
  random = new Random(0);
  /** How far the clock of the machines was set, forward or back. */
  clockStepMs = 0;
  /** Those of this run: an answer to a call of an earlier run says nothing. */
  calls = new RealCalls();
  /** Whether virtual time has to go on although calls are under way, because they wait for each other. */
  isBlocked: () => Promise<boolean> = async () => false;
  tasksRun = 0;
  /** Counts the runs of this process. */
  runs = 0;
  #tasks = new Tasks();
  #hash = 0;
  #trace: string[] | null = null;

  begin(seed: number, isTraced = false): void {
    this.nowMs = 0;
    this.clockStepMs = 0;
    this.calls = new RealCalls();
    this.tasksRun = 0;
    this.random = new Random(seed);
    this.#tasks = new Tasks();
    this.runs++;
    this.#hash = 0;
    this.#trace = isTraced ? [] : null;
  }

  /** The time of day, as every machine of the simulation has it. */
  get wallMs(): number {
    return Math.floor(EPOCH_MS + this.nowMs + this.clockStepMs);
  }

  /** Equal for two runs in which the same happened at the same times. */
  get hash(): string {
    return (this.#hash >>> 0).toString(16).padStart(8, '0');
  }

  get trace(): readonly string[] {
    return this.#trace ?? [];
  }

  note(text: string): void {
    const line = `${this.nowMs.toFixed(2)} ${text}`;
    for (let at = 0; at < line.length; at++) this.#hash = (Math.imul(this.#hash, 31) + line.charCodeAt(at)) | 0;
    this.#trace?.push(line);
  }

  schedule(run: () => void, delayMs: number): Task {
    const atMs = this.nowMs + Math.max(0, delayMs);
    const task: Task = { atMs, order: this.random.next(), owner: currentOwner(), run, isCancelled: false };
    this.#tasks.push(task);
    return task;
  }

  scheduleSoon(run: () => void): Task {
    return this.schedule(run, this.random.next() * IMMEDIATE_MS);
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => void this.schedule(resolve, ms));
  }

  /** Lets time pass until `isDone`, and for this long at most. */
  async pass(ms: number, isDone: () => boolean = () => false): Promise<void> {
    const untilMs = this.nowMs + ms;
    for (;;) {
      await settled();
      if (isDone()) return;
      if (this.calls.pending > 0 && !(await this.#mayGoOn())) continue;
      const task = this.#tasks.first;
      if (task === undefined || task.atMs > untilMs) {
        this.nowMs = Math.max(this.nowMs, untilMs);
        return;
      }
      this.#tasks.pop();
      this.#run(task);
    }
  }

  /** Lets time pass until the work has ended. Throws what it throws, and if it does not end. */
  async until<Value>(work: Promise<Value>, mostMs = 3_600_000): Promise<Value> {
    let isDone = false;
    const end = () => {
      isDone = true;
    };
    work.then(end, end);
    await this.pass(mostMs, () => isDone);
    if (!isDone) throw new Error(`the work did not end within ${mostMs} ms of virtual time`);
    return work;
  }

  #run(task: Task): void {
    const { owner } = task;
    if (task.isCancelled || owner?.isAlive === false) return;
    this.nowMs = Math.max(this.nowMs, task.atMs);
    if (owner !== undefined && owner.frozenUntilMs > this.nowMs) {
      task.atMs = Math.min(owner.frozenUntilMs, this.nowMs + THAW_LOOK_MS);
      this.#tasks.push(task);
      return;
    }
    this.tasksRun++;
    if (owner === undefined) task.run();
    else as(owner, task.run);
  }

  /** Immediate work goes on during a call. Other work waits for its end, unless the call waits for that work. */
  async #mayGoOn(): Promise<boolean> {
    const task = this.#tasks.first;
    if (task !== undefined && task.atMs <= this.nowMs + IMMEDIATE_MS) return true;
    const answer = await this.calls.nextAnswer();
    return answer === 'overdue' || (answer === 'waiting' && (await this.isBlocked()));
  }
}

/** Resolves when every promise that can settle has done so. */
function settled(): Promise<void> {
  return new Promise((resolve) => void setRealImmediate(resolve));
}

export { realNowMs };

/** There is one, because the timers of the process are replaced by its own. */
export const world = new World();
