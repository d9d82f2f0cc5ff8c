import { world } from '../world/world.ts';

/** What goes wrong with a call of the database, and with which of the next ones. */
export type DatabaseFault = {
  readonly on: 'statement' | 'commit';
  /** `unanswered`: it is carried out, and the caller gets an error. Statements are slow or fail; commits can be all three. */
  readonly effect: 'slow' | 'fails' | 'unanswered';
  /** Calls that are as usual before it. */
  readonly after: number;
  readonly delayMs: number;
};

type Armed = DatabaseFault & { left: number };

/** Of calls without a fault, how many take a moment, and of those, how many take longer. Instances overtake each other then. */
const LATENT_SHARE = 0.15;
const LATENCY_MS = 30;
const LONG_SHARE = 0.1;
const LONG_LATENCY_MS = 1_500;

/** The faults that one instance meets. */
export class DatabaseFaults {
  #armed: Armed[] = [];

  arm(fault: DatabaseFault): void {
    this.#armed.push({ ...fault, left: fault.after });
  }

  clear(): void {
    this.#armed = [];
  }

  /** The fault of this call, if it is its turn. */
  take(on: DatabaseFault['on']): DatabaseFault | null {
    let due: Armed | null = null;
    for (const fault of this.#armed) {
      if (fault.on !== on) continue;
      if (fault.left === 0 && due === null) due = fault;
      else fault.left = Math.max(0, fault.left - 1);
    }
    if (due !== null) this.#armed = this.#armed.filter((fault) => fault !== due);
    return due;
  }

  latencyMs(): number {
    const { random } = world;
    if (!random.chance(LATENT_SHARE)) return 0;
    return random.next() * (random.chance(LONG_SHARE) ? LONG_LATENCY_MS : LATENCY_MS);
  }
}
