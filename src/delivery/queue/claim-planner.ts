import { type DestinationKey, entityOfDestination } from '../../domain/destination.ts';
import type { HealthClass } from './destination-health.ts';
import { DestinationRings } from './destination-rings.ts';
import type { LocalQueue } from './local-queue.ts';

/** One plan is one statement: these bound how long it takes, and so how long the next destination waits. */
const MAX_CLAIMS = 64;
const MAX_ROWS = 256;

/** Of one destination in one plan: enough to keep it busy, few enough that others are in the same plan. */
const MAX_ROWS_PER_DESTINATION = 128;

/** One free slot is enough for one destination; a few more are asked, because the first of them may have no right to it. */
const ADMITTED_BY_ONE_SLOT = 2;

/** No ring has strict priority: with no time left, even the failing get every fourth turn. */
const TURNS: readonly HealthClass[] = ['proven', 'untried', 'proven', 'failing'];

/** `limit` is how many deliveries are reserved for the claim. */
export type PlannedClaim = { readonly destination: DestinationKey; readonly limit: number };

/** What came of a planned claim: how many deliveries it found, and how many of these are enqueued. */
export type MadeClaim = PlannedClaim & { readonly found: number; readonly enqueued: number };

export type Plan = {
  readonly claims: readonly PlannedClaim[];
  /** Whether the plan is as large as one may be, so that another would find more. */
  readonly isCut: boolean;
};

type Slots = Pick<LocalQueue<never>, 'healthClass' | 'holds' | 'isStocked' | 'reserve' | 'release'>;

/**
 * Decides for which destinations to claim, and reserves the places for it.
 *
 * A destination where something is due is in one of three places until a claim finds nothing more there:
 *
 *   waiting   in its ring, for its turn and for a slot    → planned, full
 *   full      it holds deliveries and has no room         → waiting, as soon as one of those ends
 *   planned   a claim for it is being made                → waiting, if it may have more
 *
 * A destination that is refused a slot while it holds nothing stays in its ring, because no end of its own would bring
 * it back: the end of any attempt does, see `noteReleased`.
 */
export class ClaimPlanner {
  readonly #waiting = new DestinationRings();
  readonly #full = new Set<DestinationKey>();
  readonly #planned = new Set<DestinationKey>();
  #turn = 0;

  constructor(private readonly slots: Slots) {}

  /** Something is due at these destinations. */
  wake(destinations: Iterable<DestinationKey>): void {
    for (const destination of destinations) this.#wait(destination, false);
  }

  /** A slot or a place in the queue was released. Returns whether another plan may find something. */
  noteReleased(destination: DestinationKey): boolean {
    if (this.#full.delete(destination)) this.#wait(destination, true);
    if (this.#waiting.size === 0) return false;
    this.#waiting.admit(entityOfDestination(destination), ADMITTED_BY_ONE_SLOT);
    return true;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** Whether older deliveries may be due there, which go first. */
  mayHaveOlder(destination: DestinationKey): boolean {
    return this.#waiting.has(destination) || this.#full.has(destination) || this.#planned.has(destination);
  }

  plan(): Plan {
    const claims: PlannedClaim[] = [];
    let rows = 0;
    let emptyTurns = 0;
    while (emptyTurns < TURNS.length && claims.length < MAX_CLAIMS && rows < MAX_ROWS) {
      const claim = this.#planFrom(TURNS[this.#turn++ % TURNS.length] ?? 'proven', MAX_ROWS - rows);
      if (claim === null) emptyTurns++;
      else {
        emptyTurns = 0;
        claims.push(claim);
        rows += claim.limit;
      }
    }
    return { claims, isCut: emptyTurns < TURNS.length };
  }

  /** The claims of a plan are made and their deliveries enqueued: what was reserved for no delivery is released. */
  noteClaimed(claims: readonly MadeClaim[]): void {
    for (const { destination, limit, found, enqueued } of claims) {
      this.#planned.delete(destination);
      if (found === limit) this.#wait(destination, true);
      if (enqueued < limit) this.#release(destination, limit - enqueued);
    }
  }

  /** The claims of a plan failed: what was due is due as before. */
  noteFailed(planned: readonly PlannedClaim[]): void {
    this.noteClaimed(planned.map((claim) => ({ ...claim, found: claim.limit, enqueued: 0 })));
  }

  #release(destination: DestinationKey, count: number): void {
    this.slots.release(destination, count);
    this.noteReleased(destination);
  }

  #wait(destination: DestinationKey, hadTurn: boolean): void {
    if (!this.#full.has(destination)) this.#waiting.add(destination, this.slots.healthClass(destination), hadTurn);
  }

  #planFrom(healthClass: HealthClass, mostRows: number): PlannedClaim | null {
    let claim: PlannedClaim | null = null;
    const take = (destination: DestinationKey) => {
      const limit = this.#reserve(destination, Math.min(mostRows, MAX_ROWS_PER_DESTINATION));
      if (limit > 0) {
        claim = { destination, limit };
        this.#planned.add(destination);
      } else if (this.slots.holds(destination)) this.#full.add(destination);
      else return false;
      return true;
    };
    while (claim === null && this.#waiting.offer(healthClass, take) !== null);
    return claim;
  }

  #reserve(destination: DestinationKey, limit: number): number {
    return this.slots.isStocked(destination) ? 0 : this.slots.reserve(destination, limit);
  }
}
