/** Five in a row and the destination is taken for unwell: probed by one post at a time until one succeeds. */
const UNWELL_AFTER = 5;

/** Forgetting a failing destination costs it no more than a few posts to be found out again. */
const MAX_REMEMBERED = 50_000;

/** What an attempt says about the destination as a whole. */
export type AttemptResult = 'success' | 'unwell' | 'other';

type State = { inFlight: number; failuresInARow: number };

/** How many posts each destination has in flight here, and how many more it may have. In memory, for this process. */
export class Destinations {
  readonly #states = new Map<string, State>();

  constructor(private readonly cap: number) {}

  roomAt(destination: string): number {
    const state = this.#states.get(destination);
    if (state === undefined) return this.cap;
    return Math.max(0, (state.failuresInARow >= UNWELL_AFTER ? 1 : this.cap) - state.inFlight);
  }

  begin(destination: string): void {
    const state = this.#states.get(destination);
    if (state !== undefined) state.inFlight++;
    else this.#states.set(destination, { inFlight: 1, failuresInARow: 0 });
  }

  end(destination: string, result: AttemptResult): void {
    const state = this.#states.get(destination);
    if (state === undefined) return;
    state.inFlight--;
    if (result === 'success') state.failuresInARow = 0;
    if (result === 'unwell') state.failuresInARow++;
    if (state.inFlight > 0) return;
    if (state.failuresInARow === 0) this.#states.delete(destination);
    else if (this.#states.size > MAX_REMEMBERED) this.#forgetOneIdle();
  }

  /** How many are being probed at the moment. */
  get unwell(): number {
    return [...this.#states.values()].filter((state) => state.failuresInARow >= UNWELL_AFTER).length;
  }

  #forgetOneIdle(): void {
    for (const [destination, state] of this.#states) {
      if (state.inFlight > 0) continue;
      this.#states.delete(destination);
      return;
    }
  }
}
