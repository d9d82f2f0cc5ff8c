import { type DestinationKey, entityOfDestination } from '../../domain/post-url.ts';
import type { HealthClass } from './destination-health.ts';
import { DestinationRings } from './destination-rings.ts';
import type { LocalQueue } from './local-queue.ts';

/** One plan is one statement. These limits bound how long it takes, and so how long the next destination waits. */
const MAX_CLAIMS = 64;
const MAX_ROWS = 384;

/**
 * Limit for one destination in one plan: enough to keep it busy, and few enough that other destinations fit into the
 * plan.
 */
const MAX_ROWS_PER_DESTINATION = 256;

/** A released slot readmits two refused entities, because the first may still be over its share. */
const ADMITTED_BY_ONE_SLOT = 2;

/** No ring has strict priority: even under full load, failing destinations get every fourth turn. */
const TURNS: readonly HealthClass[] = ['proven', 'untried', 'proven', 'failing'];

/** `limit` is how many deliveries are reserved for the claim. */
export type PlannedClaim = { readonly destination: DestinationKey; readonly limit: number };

/** The result of a planned claim: how many deliveries are enqueued, and whether more may be due there. */
export type MadeClaim = PlannedClaim & { readonly enqueued: number; readonly mayHaveMore: boolean };

export type Plan = {
  readonly claims: readonly PlannedClaim[];
  /** Whether the plan has reached a limit, so that another plan may find more. */
  readonly isCut: boolean;
};

type Slots = Pick<
  LocalQueue<never>,
  'healthClass' | 'holds' | 'isStocked' | 'pacedForMs' | 'pausedForMs' | 'reserve' | 'release' | 'sendsTo'
>;

/**
 * The state of a destination, from the moment at which deliveries are due there until a claim has found all of them:
 *
 *   waiting        in its ring, for its turn and for a slot       → planned, full
 *   full           it holds deliveries and has no room for more   → waiting, as soon as one of those ends
 *   paced          its rate limit or a pause allows no attempt    → waiting, as soon as it does
 *   planned        a claim for it is being made                   → waiting if it may have more, else gone
 *   planned again  the same, and more has become due since        → waiting
 *
 * If a destination without deliveries in this process gets no slot, it stays in its ring, because it has no attempt
 * whose end could bring it back. The end of any other attempt gives it a turn again (`noteReleased`). A destination
 * that only other instances send to has no state here.
 */
type Place = 'waiting' | 'full' | 'paced' | 'planned' | 'planned again';

/** Decides for which destinations to claim, and reserves the places for the claims. */
export class ClaimPlanner {
  readonly #places = new Map<DestinationKey, Place>();
  readonly #rings = new DestinationRings();
  #isScanned = false;
  #turn = 0;

  constructor(
    private readonly slots: Slots,
    /** Asks the owner to call `notePaced` after this time. */
    private readonly onPaced: (destination: DestinationKey, inMs: number) => void = () => undefined,
  ) {}

  /** Call this when the first scan is complete: all destinations that had due deliveries at the start are known. */
  noteScanned(): void {
    this.#isScanned = true;
  }

  /** Call this if deliveries are due at these destinations. */
  wake(destinations: Iterable<DestinationKey>): void {
    for (const destination of destinations) {
      const place = this.#places.get(destination);
      if (place === 'planned') this.#places.set(destination, 'planned again');
      else if (place === undefined && this.slots.sendsTo(destination)) this.#wait(destination, false);
    }
  }

  /** How many destinations wait for their turn or for a slot. */
  get waiting(): number {
    return this.#rings.size;
  }

  /**
   * Whether the destination may have older due deliveries, which must be sent first. True before the first scan, which finds
   * them.
   */
  mayHaveOlder(destination: DestinationKey): boolean {
    return !this.#isScanned || this.#places.has(destination);
  }

  /** Call this when the rate limit or the pause of the destination allows another attempt. */
  notePaced(destination: DestinationKey): void {
    if (this.#places.get(destination) === 'paced') this.#wait(destination, true);
  }

  /** Call this when a slot or a place in the queue was released. Returns whether another plan may find something. */
  noteReleased(destination: DestinationKey): boolean {
    if (this.#places.size === 0) return false;
    if (this.#places.get(destination) === 'full') this.#wait(destination, true);
    this.#rings.admit(entityOfDestination(destination), ADMITTED_BY_ONE_SLOT);
    return this.#rings.size > 0;
  }

  plan(): Plan {
    if (this.slots.pausedForMs > 0) return { claims: [], isCut: false };
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

  /** The claims of a plan are made. Releases the reservations for which no delivery was enqueued. */
  noteClaimed(claims: readonly MadeClaim[]): void {
    // Updates all places before the first release, which may throw, so that no destination stays planned after its
    // claim.
    for (const { destination, mayHaveMore } of claims) {
      if (mayHaveMore || this.#places.get(destination) === 'planned again') this.#wait(destination, true);
      else this.#places.delete(destination);
    }
    for (const { destination, limit, enqueued } of claims) {
      if (enqueued >= limit) continue;
      this.slots.release(destination, limit - enqueued);
      this.noteReleased(destination);
    }
  }

  /** The claims of a plan failed. Their deliveries are still due. */
  noteFailed(planned: readonly PlannedClaim[]): void {
    this.noteClaimed(planned.map((claim) => ({ ...claim, enqueued: 0, mayHaveMore: true })));
  }

  #wait(destination: DestinationKey, hadTurn: boolean): void {
    this.#places.set(destination, 'waiting');
    this.#rings.add(destination, this.slots.healthClass(destination), hadTurn);
  }

  #planFrom(healthClass: HealthClass, mostRows: number): PlannedClaim | null {
    let claim: PlannedClaim | null = null;
    const take = (destination: DestinationKey) => {
      // An instance may have started or stopped since the destination began to wait.
      if (!this.slots.sendsTo(destination)) return this.#places.delete(destination);
      // Read before anything is reserved. The pause may end between the two, and then no timer would bring the
      // destination back.
      const isPaced = this.#isPaced(destination);
      const limit = isPaced ? 0 : this.#reserve(destination, Math.min(mostRows, MAX_ROWS_PER_DESTINATION));
      if (limit > 0) {
        claim = { destination, limit };
        this.#places.set(destination, 'planned');
      } else if (isPaced) this.#places.set(destination, 'paced');
      else if (this.slots.holds(destination)) this.#places.set(destination, 'full');
      else return false;
      return true;
    };
    while (claim === null && this.#rings.offer(healthClass, take) !== null);
    return claim;
  }

  #isPaced(destination: DestinationKey): boolean {
    const inMs = this.slots.pacedForMs(destination);
    if (inMs > 0) this.onPaced(destination, inMs);
    return inMs > 0;
  }

  #reserve(destination: DestinationKey, limit: number): number {
    return this.slots.isStocked(destination) ? 0 : this.slots.reserve(destination, limit);
  }
}
