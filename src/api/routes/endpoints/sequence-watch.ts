import { type DestinationKey, destinationKey, withoutRate } from '../../../domain/post-url.ts';
import type { Logger } from '../../../log.ts';
import type { Database } from '../../../store/database/database.ts';
import { type EndpointKey, readLastSequences } from '../../../store/endpoints/read-feed.ts';

/** An endpoint for whose next sequence number a reader waits. */
export type WatchedEndpoint = EndpointKey & { readonly postUrl: string };

type Waiter = { readonly after: number; readonly resolve: () => void };

type Watched = {
  readonly endpoint: WatchedEndpoint;
  /** Without the rate limit, which can change during the wait. */
  readonly destination: DestinationKey;
  readonly waiters: Set<Waiter>;
};

/** Finds numbers of other instances whose notification was lost. */
const LOOK_EVERY_MS = 1_000;

/**
 * Wakes readers of feeds when their endpoint has a new sequence number. A commit of this process wakes the readers of
 * its destinations. A notification of another instance, or a timer every second, wakes all readers. One statement then
 * reads the numbers of a hundred endpoints, and only readers with a new number continue.
 */
export class SequenceWatch {
  readonly #watched = new Map<string, Watched>();
  readonly #byDestination = new Map<DestinationKey, Set<Watched>>();
  /** Whether no reader waits, so that callers can skip `wake`. */
  isIdle = true;
  /** The endpoints to read next. */
  #due = new Set<Watched>();
  #isLooking = false;
  #timer: ReturnType<typeof setInterval> | null = null;
  #isClosed = false;

  constructor(
    private readonly db: Database,
    private readonly log: Logger,
    private readonly everyMs = LOOK_EVERY_MS,
  ) {}

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Resolves when the endpoint has a number above `after`, after the time-out, when the signal aborts, or at `close`. */
  async wait(endpoint: WatchedEndpoint, after: number, timeoutMs: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted || this.#isClosed) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiter = { after, resolve };
    const watched = this.#watch(endpoint);
    watched.waiters.add(waiter);
    // The number may have been committed since the reader's last read.
    this.#lookAt([watched]);
    const timer = Number.isFinite(timeoutMs) ? setTimeout(resolve, timeoutMs) : undefined;
    const onAbort = () => resolve();
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      watched.waiters.delete(waiter);
      if (watched.waiters.size === 0) this.#unwatch(watched);
    }
  }

  /** Call this after a commit for these destinations. Without destinations, the commit may be for any. */
  wake(destinations?: Iterable<DestinationKey>): void {
    if (destinations === undefined) this.#lookAt(this.#watched.values());
    else for (const destination of destinations) this.#lookAt(this.#byDestination.get(withoutRate(destination)) ?? []);
  }

  /** Every wait ends, and none begins. */
  close(): void {
    this.#isClosed = true;
    for (const { waiters } of this.#watched.values()) for (const { resolve } of waiters) resolve();
  }

  #watch(endpoint: WatchedEndpoint): Watched {
    const key = keyOf(endpoint);
    const known = this.#watched.get(key);
    if (known !== undefined) return known;
    const destination = destinationKey(endpoint.entityId, endpoint.postUrl);
    const watched = { endpoint, destination, waiters: new Set<Waiter>() };
    this.#watched.set(key, watched);
    this.isIdle = false;
    const others = this.#byDestination.get(destination) ?? new Set();
    this.#byDestination.set(destination, others.add(watched));
    this.#timer ??= setInterval(() => this.wake(), this.everyMs);
    return watched;
  }

  #unwatch(watched: Watched): void {
    if (this.#watched.get(keyOf(watched.endpoint)) !== watched) return;
    this.#watched.delete(keyOf(watched.endpoint));
    this.isIdle = this.#watched.size === 0;
    this.#due.delete(watched);
    const others = this.#byDestination.get(watched.destination);
    others?.delete(watched);
    if (others?.size === 0) this.#byDestination.delete(watched.destination);
    if (!this.isIdle || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }

  #lookAt(some: Iterable<Watched>): void {
    for (const watched of some) this.#due.add(watched);
    if (this.#due.size > 0 && !this.#isLooking) void this.#look();
  }

  /** Runs one read at a time. Endpoints that become due during a read are part of the next one. */
  async #look(): Promise<void> {
    this.#isLooking = true;
    // Waits that begin in the same tick share a statement.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#due.size > 0) {
      const due = [...this.#due];
      this.#due = new Set();
      try {
        const lasts = await readLastSequences(
          this.db,
          due.map(({ endpoint }) => endpoint),
        );
        for (const [index, { waiters }] of due.entries()) {
          for (const { after, resolve } of waiters) if ((lasts[index] ?? 0) > after) resolve();
        }
      } catch (error) {
        this.log.warn({ err: error }, 'the numbers of endpoints could not be read; the next look is in a second');
        break;
      }
    }
    this.#isLooking = false;
  }
}

function keyOf({ entityId, endpointNo }: EndpointKey): string {
  return `${entityId} ${endpointNo}`;
}
