import type { DestinationKey } from '../../domain/post-url.ts';
import type { Logger } from '../../log.ts';
import type { Database } from '../../store/database/database.ts';
import type { Claimed } from '../../store/deliveries/claim/claimed.ts';
import { returnClaims } from '../../store/deliveries/claim/leases.ts';

const MAX_RETURNED_PER_TRANSACTION = 100;

export type ClaimReturnsOptions = {
  readonly db: Database;
  readonly log: Logger;
  /** Called after claims were returned: deliveries to the destinations are due again. */
  readonly onReturned: (destinations: ReadonlySet<DestinationKey>) => void;
};

/** Claims to be returned, in transactions one after another. */
type Lane = { readonly waiting: Claimed[]; returning: Promise<void> | null };

/**
 * Returns claims in batches, one transaction at a time. When a thousand destinations begin to hang, each returns its
 * waiting deliveries, and a transaction for each would block all other work in the database. If the tables are
 * distributed, each entity has its own transactions, so that a server that is down delays only its own entities.
 */
export class ClaimReturns {
  readonly #lanes = new Map<string, Lane>();

  constructor(private readonly options: ClaimReturnsOptions) {}

  add(deliveries: readonly Claimed[]): void {
    const { isDistributed } = this.options.db.dialect;
    for (const delivery of deliveries) {
      const name = isDistributed ? delivery.entityId : '';
      const lane = this.#lanes.get(name) ?? { waiting: [], returning: null };
      this.#lanes.set(name, lane);
      lane.waiting.push(delivery);
      lane.returning ??= this.#returnAll(name, lane);
    }
  }

  /** Resolves when all claims that were added so far are returned. */
  async finished(): Promise<void> {
    while (this.#lanes.size > 0) await Promise.all([...this.#lanes.values()].map(({ returning }) => returning));
  }

  async #returnAll(name: string, { waiting }: Lane): Promise<void> {
    while (waiting.length > 0) {
      // Other claims that are returned in this tick join the batch.
      await new Promise((resolve) => setImmediate(resolve));
      await this.#returnBatch(waiting);
    }
    this.#lanes.delete(name);
  }

  async #returnBatch(waiting: Claimed[]): Promise<void> {
    const { db, log, onReturned } = this.options;
    const batch = waiting.splice(0, MAX_RETURNED_PER_TRANSACTION);
    try {
      await db.transaction((queries) => returnClaims(queries, db.dialect, batch), { entityId: batch[0]?.entityId });
      onReturned(new Set(batch.map(({ destination }) => destination)));
    } catch (error) {
      // The remaining claims would each wait for the database as long as these have, even when the process stops.
      const deliveries = batch.length + waiting.splice(0).length;
      const message = 'claims could not be returned; the deliveries are due again when their leases expire';
      log.warn({ err: error, deliveries }, message);
    }
  }
}
