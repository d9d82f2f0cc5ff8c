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
  /** Only counts what would go. */
  dryRun: boolean;
  nowS: number;
  beforeS: number;
  /** Sorts before every id that stays. */
  beforeHex: string;
  beforeMs: number;
  /** Whether days that are old only in part stay whole; then batches end before them. */
  keepsDays: boolean;
  /** Where batches end. */
  deliveriesBeforeHex: string;
  eventsBeforeHex: string;
  pruned: Pruned;
};

export type Entity = { entityId: string; key: SqlUuid };

/** Removes a part of an entity's old rows, and yields after each batch. */
export type Step = (run: Run, entity: Entity) => AsyncGenerator<void>;
