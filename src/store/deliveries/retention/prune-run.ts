import type { Database, SqlUuid } from '../../database/database.ts';
import type { PacedBatches } from '../../database/paced-batches.ts';

export type Pruned = {
  deliveries: number;
  attempts: number;
  events: number;
  redeliveries: number;
  secrets: number;
  facts: number;
};

/** One run over all entities. */
export type Run = {
  db: Database;
  batches: PacedBatches;
  /** Only counts the rows that a run would remove. */
  dryRun: boolean;
  nowS: number;
  beforeS: number;
  /** Sorts before every id that stays. */
  beforeHex: string;
  beforeMs: number;
  /** Whether a day that is only partly old stays whole. If so, batches end before such a day. */
  keepsDays: boolean;
  /** The ids at which batches end. */
  deliveriesBeforeHex: string;
  eventsBeforeHex: string;
  pruned: Pruned;
};

export type Entity = { entityId: string; key: SqlUuid };

/** Removes a part of an entity's old rows, and yields after each batch. */
export type Step = (run: Run, entity: Entity) => AsyncGenerator<void>;
