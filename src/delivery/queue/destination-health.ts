import type { DestinationKey } from '../../domain/destination.ts';

/** Five in a row and the destination is taken for unwell: probed by one post at a time until one succeeds. */
const UNHEALTHY_AFTER = 5;

/** Forgetting a destination costs it no more than a few posts to be found out again. */
const MAX_REMEMBERED = 50_000;

/**
 * One that answers fast may have a line of deliveries ready here, so that it is never idle while the next ones are
 * claimed: as many as it takes in this time, and no more than so many times its cap.
 */
const LINE_MS = 100;
const LINE_CAPS = 31;

/** How much the latest post counts in what is typical. */
const WEIGHT_OF_LATEST = 0.2;

/** What an attempt says about the destination as a whole. */
export type AttemptResult = 'success' | 'unwell' | 'other';

type State = {
  /** Posts under way, those in line for it, and places that are kept. */
  taken: number;
  inFlight: number;
  failuresInARow: number;
  /** How long a post that succeeds takes; null before the first. */
  typicalMs: number | null;
};

/** How many deliveries each destination has here, and how many more it may have. In memory, for this process. */
export class Destinations {
  readonly #states = new Map<DestinationKey, State>();
  #taken = 0;
  /** Those of them that are beyond the cap of their destination, and so wait for the end of another. */
  #inLine = 0;

  constructor(
    private readonly cap: number,
    /** Of all destinations together: how many may be under way, and how many in line at the same time. */
    private readonly most = Number.POSITIVE_INFINITY,
  ) {}

  /** How many more may be under way, of all destinations together. */
  get room(): number {
    return this.most - (this.#taken - this.#inLine);
  }

  get inLine(): number {
    return this.#inLine;
  }

  /** How many more may be taken for it. */
  roomAt(destination: DestinationKey): number {
    const state = this.#states.get(destination);
    const taken = state?.taken ?? 0;
    const most = state === undefined ? this.cap : this.#mostOf(state);
    const underWay = Math.max(0, Math.min(most, this.cap) - taken);
    if (underWay > this.room) return Math.max(0, this.room);
    // Whoever is beyond the cap stands in line.
    const inLine = Math.min(most - Math.max(this.cap, taken), this.most - this.#inLine);
    return underWay + Math.max(0, inLine);
  }

  /** How many to claim for it: none while its line is more than half full, so that a claim is worth its commit. */
  wantedAt(destination: DestinationKey): number {
    const state = this.#states.get(destination);
    const inLine = (state?.taken ?? 0) - this.cap;
    const isHalfFull = state !== undefined && inLine > 0 && inLine * 2 > this.#mostOf(state) - this.cap;
    return isHalfFull ? 0 : this.roomAt(destination);
  }

  /** Whether anything of it is here, and so will end. */
  hasAny(destination: DestinationKey): boolean {
    return (this.#states.get(destination)?.taken ?? 0) > 0;
  }

  take(destination: DestinationKey): void {
    const state = this.#stateOf(destination);
    if (state.taken >= this.cap) this.#inLine++;
    state.taken++;
    this.#taken++;
  }

  /** Whether the next post may begin, as one of those under way at the same time. */
  mayBegin(destination: DestinationKey): boolean {
    const state = this.#stateOf(destination);
    return state.inFlight < (isUnhealthy(state) ? 1 : this.cap);
  }

  begin(destination: DestinationKey): void {
    this.#stateOf(destination).inFlight++;
  }

  end(destination: DestinationKey, result: AttemptResult, durationMs: number): void {
    const state = this.#stateOf(destination);
    state.inFlight--;
    if (result === 'success') {
      state.failuresInARow = 0;
      const before = state.typicalMs ?? durationMs;
      state.typicalMs = before + (durationMs - before) * WEIGHT_OF_LATEST;
    }
    if (result === 'unwell') state.failuresInARow++;
    this.leave(destination);
  }

  /** Gives a place back without a post. */
  leave(destination: DestinationKey): void {
    const state = this.#stateOf(destination);
    state.taken--;
    if (state.taken >= this.cap) this.#inLine--;
    this.#taken--;
    if (this.#states.size > MAX_REMEMBERED) this.#forgetOneIdle();
  }

  isUnhealthy(destination: DestinationKey): boolean {
    const state = this.#states.get(destination);
    return state !== undefined && isUnhealthy(state);
  }

  /** How many are being probed at the moment. */
  get unhealthy(): number {
    return [...this.#states.values()].filter(isUnhealthy).length;
  }

  #stateOf(destination: DestinationKey): State {
    const known = this.#states.get(destination);
    if (known !== undefined) return known;
    const state = { taken: 0, inFlight: 0, failuresInARow: 0, typicalMs: null };
    this.#states.set(destination, state);
    return state;
  }

  #mostOf(state: State): number {
    if (isUnhealthy(state)) return 1;
    if (state.typicalMs === null) return this.cap;
    const inTime = Math.floor((this.cap * LINE_MS) / Math.max(1, state.typicalMs));
    return this.cap + Math.min(inTime, this.cap * LINE_CAPS);
  }

  #forgetOneIdle(): void {
    for (const [destination, state] of this.#states) {
      if (state.taken > 0) continue;
      this.#states.delete(destination);
      return;
    }
  }
}

function isUnhealthy(state: State): boolean {
  return state.failuresInARow >= UNHEALTHY_AFTER;
}
