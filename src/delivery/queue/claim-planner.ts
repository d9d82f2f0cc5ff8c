import type { DestinationKey } from '../../domain/destination.ts';
import type { Database } from '../../store/database/database.ts';
import { walkDestinations } from '../../store/deliveries/claim.ts';
import type { Destinations } from './destination-health.ts';

/** Destinations that one plan reads from the index, so that those known to be due never wait long for it. */
const WINDOW = 256;

/** The interval of scans that nothing has asked for, which find what no wake-up has announced. */
const SCAN_EVERY_MS = 1_000;

/** After a scan of several windows the planner rests this many times as long, so that a tenth of the time is spent. */
const REST_FACTOR = 9;

/** From one destination in one claim: enough to keep it busy, few enough that every destination has its turn soon. */
const MAX_PER_DESTINATION = 256;

/** With more ready than this the scan pauses. */
const MAX_READY = 100_000;

export type PlannedClaim = { readonly destination: DestinationKey; readonly limit: number };

export type Plan = {
  readonly claims: readonly PlannedClaim[];
  /** Until another plan may find more, unless something wakes the planner before. */
  readonly nextPlanInMs: number;
};

/** A walk over all destinations with pending deliveries, a window at a time. */
type Scan = { after: string; windows: number; spentMs: number };

/**
 * Decides what to claim: from the destinations with due deliveries, round-robin, as many as each has free slots for.
 *
 * Most of these destinations are known, because accepting an event wakes the planner with its destinations and because a
 * destination whose claim was filled may have more. The others (retries, expired leases, the work of other instances) are
 * found by a scan of the index, one seek for each destination with pending deliveries. The scan is kept out of the path
 * of a delivery: with 5,000 destinations that are down it takes 6 ms on SQLite and 40 ms on PostgreSQL.
 */
export class ClaimPlanner {
  /** Destinations with due deliveries, in round-robin order. */
  readonly #ready = new Set<DestinationKey>();
  /** Destinations with due deliveries that have no free slot. */
  readonly #full = new Set<DestinationKey>();
  /** In the last plan; ready again if its transaction fails. */
  #planned: readonly DestinationKey[] = [];
  #scan: Scan | null = null;
  #hasScanned = false;
  /** By the monotonic clock, like all times here. */
  #scanAtMs = 0;
  #restUntilMs = 0;

  constructor(
    private readonly db: Database,
    private readonly destinations: Destinations,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  /** Deliveries are due at these destinations. */
  wake(destinations: Iterable<DestinationKey>): void {
    for (const destination of destinations) {
      if (!this.#full.has(destination)) this.#ready.add(destination);
    }
  }

  /** Deliveries will be due by then, at destinations that are not known. */
  scheduleScan(inMs: number): void {
    this.#scanAtMs = Math.min(this.#scanAtMs, this.nowMs() + inMs);
  }

  /** A slot was released. Returns whether that makes a claim possible. */
  noteReleased(destination: DestinationKey): boolean {
    if (!this.#full.delete(destination)) return false;
    this.#ready.add(destination);
    return true;
  }

  /** The claims of the last plan were made. */
  noteClaimed(mayHaveMore: Iterable<DestinationKey>): void {
    this.#planned = [];
    this.wake(mayHaveMore);
  }

  get isReady(): boolean {
    return this.#ready.size > 0;
  }

  /** Whether older deliveries may be due there, which go first. Before the first scan this is not known. */
  mayHaveOlder(destination: DestinationKey): boolean {
    if (!this.#hasScanned) return true;
    return this.#ready.has(destination) || this.#full.has(destination) || this.#planned.includes(destination);
  }

  async plan(freeSlots: number): Promise<Plan> {
    this.wake(this.#planned);
    this.#planned = [];
    await this.#scanOn();
    const claims = this.#take(freeSlots);
    this.#planned = claims.map(({ destination }) => destination);
    return { claims, nextPlanInMs: this.#nextPlanInMs };
  }

  get #nextPlanInMs(): number {
    if (this.#scan !== null) return 0;
    return Math.max(0, Math.max(this.#scanAtMs, this.#restUntilMs) - this.nowMs());
  }

  #take(freeSlots: number): PlannedClaim[] {
    const claims: PlannedClaim[] = [];
    let free = freeSlots;
    for (const destination of this.#ready) {
      if (free <= 0) break;
      this.#ready.delete(destination);
      const limit = Math.min(this.destinations.claimableAt(destination), MAX_PER_DESTINATION, free);
      free -= limit;
      if (limit > 0) claims.push({ destination, limit });
      else if (this.destinations.holdsAny(destination)) this.#full.add(destination);
      else {
        // The slots of all destinations are taken. This one holds none, so that no release of its own would bring it back.
        this.#ready.add(destination);
        break;
      }
    }
    return claims;
  }

  /** Reads one window of the scan in progress, or of a new one if it is time for it. */
  async #scanOn(): Promise<void> {
    const startedAtMs = this.nowMs();
    if (this.#scan === null) {
      if (startedAtMs < Math.max(this.#scanAtMs, this.#restUntilMs)) return;
      this.#scan = { after: '', windows: 0, spentMs: 0 };
      // Before the scan, so that a scan scheduled meanwhile is made: this one may have passed the destination already.
      this.#scanAtMs = startedAtMs + SCAN_EVERY_MS;
    }
    if (this.#ready.size >= MAX_READY) return;
    const found = await walkDestinations(this.db, this.#scan.after, WINDOW);
    for (const { destination, firstDueMs, nowMs } of found) {
      if (firstDueMs <= nowMs) this.wake([destination]);
      else this.scheduleScan(firstDueMs - nowMs);
    }
    this.#scan.windows += 1;
    this.#scan.spentMs += this.nowMs() - startedAtMs;
    if (found.length === WINDOW) this.#scan.after = found.at(-1)?.destination ?? '';
    else this.#endScan(this.#scan);
  }

  /** A scan of one window costs no more than the claim that follows it, and needs no rest. */
  #endScan({ windows, spentMs }: Scan): void {
    this.#scan = null;
    this.#hasScanned = true;
    this.#restUntilMs = windows === 1 ? 0 : this.nowMs() + spentMs * REST_FACTOR;
  }
}
