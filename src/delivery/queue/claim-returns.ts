import type { DestinationKey } from '../../domain/post-url.ts';
import type { Logger } from '../../log.ts';
import type { Database } from '../../store/database/database.ts';
import type { Claimed } from '../../store/deliveries/claim/claimed.ts';
import { returnClaims } from '../../store/deliveries/claim/leases.ts';

const MAX_RETURNED_PER_TRANSACTION = 100;

export type ClaimReturnsOptions = {
  readonly db: Database;
  readonly log: Logger;
  /** Claims were returned: deliveries to the destinations are due in the store. */
  readonly onReturned: (destinations: ReadonlySet<DestinationKey>) => void;
};

/**
 * Returns claims in batches, one transaction at a time: when a thousand destinations begin to hang, each of them gives
 * back what waits for it, and a transaction for each would keep everything else from the store.
 */
export class ClaimReturns {
  #waiting: Claimed[] = [];
  #returning: Promise<void> | null = null;

  constructor(private readonly options: ClaimReturnsOptions) {}

  add(deliveries: readonly Claimed[]): void {
    this.#waiting.push(...deliveries);
    if (this.#waiting.length > 0) this.#returning ??= this.#returnAll();
  }

  /** Resolves when the store has all claims that were added so far. */
  async finished(): Promise<void> {
    while (this.#returning !== null) await this.#returning;
  }

  async #returnAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      // What else gives back its claims now is in the same batch.
      await new Promise((resolve) => setImmediate(resolve));
      await this.#returnBatch(this.#waiting.splice(0, MAX_RETURNED_PER_TRANSACTION));
    }
    this.#returning = null;
  }

  async #returnBatch(batch: readonly Claimed[]): Promise<void> {
    const { db, log, onReturned } = this.options;
    try {
      await db.transaction((queries) => returnClaims(queries, db.dialect, batch));
      onReturned(new Set(batch.map(({ destination }) => destination)));
    } catch (error) {
      // The others would each wait for the store as long as these have, also when the process stops.
      const deliveries = batch.length + this.#waiting.splice(0).length;
      const message = 'claims could not be returned; the deliveries are due again when their leases expire';
      log.warn({ err: error, deliveries }, message);
    }
  }
}
