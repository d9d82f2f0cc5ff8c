import type { DestinationKey } from '../../domain/destination.ts';
import type { Database } from '../../store/database/database.ts';
import { walkDestinations } from '../../store/deliveries/claim.ts';
import type { Destinations } from './destination-health.ts';

/** Seeks for one read of the index: what one plan walks at most, so that whoever is ready never waits for long. */
const WINDOW = 256;

/** Without being asked: the fallback for whatever nobody told us of. */
const ROUND_EVERY_MS = 1_000;

/** After a round over many destinations, so many times as long nothing is walked: a tenth of the time is enough. */
const REST_FACTOR = 9;

/** Of one destination in one turn: enough to keep it busy, few enough that all get theirs. */
const MOST_PER_DESTINATION = 256;

/** With more than these the walk waits, and goes on from where it stands. */
const MAX_READY = 100_000;

export type Pick = { destination: DestinationKey; most: number };

export type Plan = {
  picks: Pick[];
  /** Until another plan may find more, if nobody asks before. */
  lookAgainInMs: number;
};

/** A walk over all destinations with anything waiting, a window at a time. */
type Round = { after: string; windows: number; spentMs: number };

/**
 * Decides what to claim: the destinations where something is due, in turn, each as much as it has room for.
 *
 * Which these are is mostly known: whoever accepts an event says where it goes, and a destination that gave all it was
 * asked for has more. The rest (retries, leases that ran out, the work of other instances) is found by walking the index,
 * one seek for each destination that has anything waiting, due or not. That walk is no part of the way of a delivery:
 * with 5,000 dead destinations it takes 6 ms on SQLite and 40 ms on PostgreSQL, and every event had waited for it.
 */
export class ClaimPlanner {
  /** In the order of their turns. */
  readonly #ready = new Set<DestinationKey>();
  /** Due, but without room until one of their attempts ends. */
  readonly #full = new Set<DestinationKey>();
  /** Picked by the last plan: theirs again, should the claim have failed. */
  #picked: DestinationKey[] = [];
  #round: Round | null = null;
  #hasLookedAround = false;
  /** By the monotonic clock, like all times here. */
  #roundWantedAtMs = 0;
  #restUntilMs = 0;

  constructor(
    private readonly db: Database,
    private readonly destinations: Destinations,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  /** Something is due there. */
  expect(destinations: Iterable<DestinationKey>): void {
    for (const destination of destinations) {
      if (!this.#full.has(destination)) this.#ready.add(destination);
    }
  }

  /** Something will be due in this time, and nobody knows where. */
  ask(inMs: number): void {
    this.#roundWantedAtMs = Math.min(this.#roundWantedAtMs, this.nowMs() + inMs);
  }

  /** An attempt has ended there. Answers whether that lets something be claimed that had no room. */
  freed(destination: DestinationKey): boolean {
    if (!this.#full.delete(destination)) return false;
    this.#ready.add(destination);
    return true;
  }

  /** The last plan was carried out: these gave as much as they were asked for and may have more. */
  claimed(gaveAll: Iterable<DestinationKey>): void {
    this.#picked = [];
    this.expect(gaveAll);
  }

  get isReady(): boolean {
    return this.#ready.size > 0;
  }

  /** Whether something may be due there that comes before what is accepted now; before the first round nobody knows. */
  mayBeBehind(destination: DestinationKey): boolean {
    const known = this.#ready.has(destination) || this.#full.has(destination) || this.#picked.includes(destination);
    return known || !this.#hasLookedAround;
  }

  async plan(room: number): Promise<Plan> {
    this.expect(this.#picked);
    this.#picked = [];
    await this.#walkOn();
    const picks = this.#pick(room);
    this.#picked = picks.map(({ destination }) => destination);
    return { picks, lookAgainInMs: this.#lookAgainInMs };
  }

  get #lookAgainInMs(): number {
    if (this.#round !== null) return 0;
    return Math.max(0, Math.max(this.#roundWantedAtMs, this.#restUntilMs) - this.nowMs());
  }

  #pick(room: number): Pick[] {
    const picks: Pick[] = [];
    let free = room;
    for (const destination of this.#ready) {
      if (free <= 0) break;
      this.#ready.delete(destination);
      const most = Math.min(this.destinations.wantedAt(destination), MOST_PER_DESTINATION, free);
      free -= most;
      if (most > 0) picks.push({ destination, most });
      else if (this.destinations.hasAny(destination)) this.#full.add(destination);
      else {
        // There is no room anywhere: nothing of its own will end, and so nothing would bring it back.
        this.#ready.add(destination);
        break;
      }
    }
    return picks;
  }

  /** One window of the round that is under way, or of a new one where it is time for it. */
  async #walkOn(): Promise<void> {
    const startedAtMs = this.nowMs();
    if (this.#round === null) {
      if (startedAtMs < Math.max(this.#roundWantedAtMs, this.#restUntilMs)) return;
      this.#round = { after: '', windows: 0, spentMs: 0 };
      // Now, so that whoever asks during the round gets another: it may have passed what they mean.
      this.#roundWantedAtMs = startedAtMs + ROUND_EVERY_MS;
    }
    if (this.#ready.size >= MAX_READY) return;
    const found = await walkDestinations(this.db, this.#round.after, WINDOW);
    for (const { destination, firstDueMs, nowMs } of found) {
      if (firstDueMs <= nowMs) this.expect([destination]);
      else this.ask(firstDueMs - nowMs);
    }
    this.#round.windows += 1;
    this.#round.spentMs += this.nowMs() - startedAtMs;
    if (found.length === WINDOW) this.#round.after = found.at(-1)?.destination ?? '';
    else this.#endRound(this.#round);
  }

  /** A round of one window costs no more than the claim that follows it. */
  #endRound({ windows, spentMs }: Round): void {
    this.#round = null;
    this.#hasLookedAround = true;
    this.#restUntilMs = windows === 1 ? 0 : this.nowMs() + spentMs * REST_FACTOR;
  }
}
