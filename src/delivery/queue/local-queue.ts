import type { DestinationKey } from '../../domain/destination.ts';
import type { Sendable } from '../../store/deliveries/claimed.ts';
import type { Destinations } from './destination-health.ts';

/** Much longer than a line should take: the destination has become slow, and others may know better by now. */
const MAX_WAIT_MS = 1_000;

type Waiting = { readonly claimed: Sendable; readonly sinceMs: number };

/** Deliveries that are claimed and wait a moment for a free place at their destination, first come, first served. */
export class LocalQueue {
  readonly #lines = new Map<DestinationKey, Waiting[]>();

  constructor(private readonly destinations: Destinations) {}

  add(claimed: Sendable): void {
    const waiting = { claimed, sinceMs: performance.now() };
    const line = this.#lines.get(claimed.destination);
    if (line !== undefined) line.push(waiting);
    else this.#lines.set(claimed.destination, [waiting]);
  }

  /** The next that may begin; it counts as begun. */
  next(destination: DestinationKey): Sendable | null {
    const line = this.#lines.get(destination);
    if (line === undefined || !this.destinations.mayBegin(destination)) return null;
    const first = line.shift();
    if (line.length === 0) this.#lines.delete(destination);
    if (first === undefined) return null;
    this.destinations.begin(destination);
    return first.claimed;
  }

  /** All in line where the first has waited too long, or where a failing destination is only probed: they leave it. */
  stuck(destination: DestinationKey): Sendable[] {
    const line = this.#lines.get(destination);
    if (line === undefined) return [];
    const waitedMs = performance.now() - (line[0]?.sinceMs ?? 0);
    const isStuck = this.destinations.isUnhealthy(destination) || waitedMs > MAX_WAIT_MS;
    return isStuck ? this.#clear(destination, line) : [];
  }

  clearAll(): Sendable[] {
    return [...this.#lines].flatMap(([destination, line]) => this.#clear(destination, line));
  }

  #clear(destination: DestinationKey, line: readonly Waiting[]): Sendable[] {
    this.#lines.delete(destination);
    return line.map(({ claimed }) => {
      this.destinations.leave(destination);
      return claimed;
    });
  }
}
