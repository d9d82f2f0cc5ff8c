import { isSuccess } from '../domain/attempt.ts';
import type { DestinationKey } from '../domain/post-url.ts';
import { traceIdsOf } from '../domain/trace-context.ts';
import type { Logger } from '../log.ts';
import { type Database, StoreUnavailableError } from '../store/database/database.ts';
import type { Claimed } from '../store/deliveries/claim/claimed.ts';
import type { AttemptRecord } from '../store/deliveries/record/attempt-log.ts';
import { recordAttempts } from '../store/deliveries/record/record-attempts.ts';
import { recordAlone } from './attempt.ts';
import type { WorkerHealth } from './worker-health.ts';

const MAX_RECORDS_PER_TRANSACTION = 200;
/**
 * Lower than for successes, because failures can wait. If many receivers hang, all their attempts fail at once, and
 * must not delay the acceptance of events.
 */
const MAX_FAILURES_PER_TRANSACTION = 50;
/** Up to this many failures are recorded at half speed, so that other work can use the database. */
const MAX_PACED = 16_384;
/** No delivery waits for an outcome to be recorded, so recording may wait this long to share another commit. */
const MAX_COMMIT_DELAY_MS = 30;
const OUTAGE_PAUSE_MS = 500;

export type AttemptRecorderOptions = {
  readonly db: Database;
  readonly log: Logger;
  readonly health: WorkerHealth;
  /** Called when these attempts are recorded. */
  readonly onRecorded: (records: readonly AttemptRecord[]) => void;
  /** Called with destinations that have due deliveries now, because an earlier delivery ended. */
  readonly onDue: (destinations: readonly DestinationKey[]) => void;
  /** Called when the attempt of the delivery is recorded, or cannot be recorded. */
  readonly onDone: (delivery: Claimed) => void;
};

/**
 * Attempts that wait to be recorded, in transactions one after another. All entities share one lane. If the tables are
 * distributed, each entity has its own lane, so that a server that is down stops only its own entities.
 */
type Lane = {
  readonly name: string;
  readonly succeeded: AttemptRecord[];
  readonly failed: AttemptRecord[];
  recording: Promise<void> | null;
};

function listOf({ succeeded, failed }: Lane, { outcome }: AttemptRecord): AttemptRecord[] {
  return isSuccess(outcome) ? succeeded : failed;
}

function takeBatch({ succeeded, failed }: Lane): AttemptRecord[] {
  const batch = succeeded.splice(0, MAX_RECORDS_PER_TRANSACTION);
  return [...batch, ...failed.splice(0, MAX_FAILURES_PER_TRANSACTION)];
}

/**
 * Records the outcomes of attempts in batches. The transactions are separate, because a claim that fails or takes
 * long must not keep a finished attempt from being recorded.
 */
export class AttemptRecorder {
  readonly #lanes = new Map<string, Lane>();
  readonly #recordedAgain = new WeakSet<AttemptRecord>();
  #isStopping = false;

  constructor(private readonly options: AttemptRecorderOptions) {}

  add(record: AttemptRecord): void {
    const name = this.options.db.dialect.isDistributed ? record.delivery.entityId : '';
    const lane = this.#lanes.get(name) ?? { name, succeeded: [], failed: [], recording: null };
    this.#lanes.set(name, lane);
    listOf(lane, record).push(record);
    lane.recording ??= this.#recordAll(lane);
  }

  /**
   * Resolves when everything is recorded. Also resolves in an outage of the database: unrecorded deliveries are due
   * again after their lease.
   */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.all([...this.#lanes.values()].map(({ recording }) => recording));
  }

  async #recordAll(lane: Lane): Promise<void> {
    while (lane.succeeded.length + lane.failed.length > 0) {
      // Everything else that is ready runs first, so that more attempts are in the same batch.
      await new Promise((resolve) => setImmediate(resolve));
      const startedAtMs = performance.now();
      try {
        await this.#recordBatch(lane);
        await this.#leaveTime(lane, performance.now() - startedAtMs);
      } catch (error) {
        this.options.health.noteFailure(error);
        this.options.log.error({ err: error }, 'recording attempts is paused: the database is unavailable');
        if (this.#isStopping) break;
        await Bun.sleep(OUTAGE_PAUSE_MS);
      }
    }
    this.#lanes.delete(lane.name);
  }

  async #leaveTime(lane: Lane, tookMs: number): Promise<void> {
    const failures = lane.failed.length;
    const isCrowd = failures > MAX_FAILURES_PER_TRANSACTION && failures <= MAX_PACED;
    const isBusy = lane.succeeded.length >= MAX_RECORDS_PER_TRANSACTION || this.#isStopping;
    if (isCrowd && !isBusy) await Bun.sleep(tookMs);
  }

  async #recordBatch(lane: Lane): Promise<void> {
    const { db, log } = this.options;
    const batch: AttemptRecord[] = [];
    const due: DestinationKey[] = [];
    let isOver = false;
    const write = db.transaction(
      async (queries) => {
        if (isOver) throw new StoreUnavailableError('the transaction began after its deadline');
        // Taken only now, so that attempts that ended while the transaction waited are in the same commit.
        batch.push(...takeBatch(lane));
        return recordAttempts(queries, db.dialect, batch, (destinations) => due.push(...destinations));
      },
      { maxCommitDelayMs: MAX_COMMIT_DELAY_MS, entityId: lane.name },
    );
    const recorded = await write.catch((error: unknown) => {
      isOver = true;
      if (!(error instanceof StoreUnavailableError)) return error;
      // Puts the batch back, in the order in which its attempts ended.
      for (const record of batch.toReversed()) listOf(lane, record).unshift(record);
      throw error;
    });
    if (due.length > 0) this.options.onDue(due);
    if (recorded instanceof Set) this.#note(lane, batch, recorded);
    else {
      log.error({ err: recorded }, 'a batch of attempts could not be recorded; each is recorded on its own');
      for (const record of batch) await this.#recordAlone(lane, record);
    }
  }

  /**
   * Records one attempt of a batch that the store rejected. Only the attempt that caused the error loses a part or
   * fails (`recordAlone`).
   */
  async #recordAlone(lane: Lane, record: AttemptRecord): Promise<void> {
    try {
      this.#note(lane, [record], await recordAlone(this.options.db, record));
    } catch (error) {
      if (error instanceof StoreUnavailableError) {
        listOf(lane, record).push(record);
        return;
      }
      this.options.health.noteFailure(error);
      const { entityId, deliveryId, trace } = record.delivery;
      this.options.onDone(record.delivery);
      const message = 'an attempt could not be recorded; the delivery is due again when its lease expires';
      this.options.log.error({ err: error, entityId, deliveryId, ...traceIdsOf(trace) }, message);
    }
  }

  #note(lane: Lane, records: readonly AttemptRecord[], recorded: ReadonlySet<string>): void {
    this.options.health.failuresInARow = 0;
    const done = records.filter(
      (record) => recorded.has(record.delivery.deliveryId) || !this.#recordAgain(lane, record),
    );
    for (const { delivery } of done) this.options.onDone(delivery);
    this.options.onRecorded(done.filter(({ delivery }) => recorded.has(delivery.deliveryId)));
  }

  /**
   * Records an attempt once more. If the lease had expired during a stall, a claim of this process may have renewed the
   * token since then.
   */
  #recordAgain(lane: Lane, record: AttemptRecord): boolean {
    const isFirst = !this.#recordedAgain.has(record);
    if (isFirst) {
      this.#recordedAgain.add(record);
      listOf(lane, record).push(record);
    } else {
      const { entityId, deliveryId, trace } = record.delivery;
      const message = 'an attempt was not recorded: another instance has claimed the delivery';
      this.options.log.warn({ entityId, deliveryId, ...traceIdsOf(trace) }, message);
    }
    return isFirst;
  }
}
