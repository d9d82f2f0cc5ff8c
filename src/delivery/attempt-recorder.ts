import type { Logger } from '../log.ts';
import { type Database, StoreUnavailableError } from '../store/database/database.ts';
import type { Claimed } from '../store/deliveries/claimed.ts';
import { type AttemptRecord, recordAttempts } from '../store/deliveries/record-attempts.ts';
import { recordAlone } from './attempt.ts';
import { Loop } from './loop.ts';

const MAX_RECORDS_PER_TRANSACTION = 500;
/** No delivery waits for an outcome to be recorded, so recording may wait this long to share another commit. */
const MAX_COMMIT_DELAY_MS = 30;
const IDLE_MS = 1_000;

export type AttemptRecorderOptions = {
  readonly db: Database;
  readonly log: Logger;
  /** These attempts are recorded. */
  readonly onRecorded: (records: readonly AttemptRecord[]) => void;
  /** Nothing more is done for the delivery: its attempt is recorded or given up. */
  readonly onDone: (delivery: Claimed) => void;
  /** Whether an attempt is in flight, whose outcome will have to be recorded. */
  readonly isExpectingMore: () => boolean;
};

/**
 * Records the outcomes of attempts in batches, in transactions of their own: a claim that takes long, or that fails, must
 * not keep what is done from being recorded.
 */
export class AttemptRecorder {
  readonly #loop: Loop;
  #finished: AttemptRecord[] = [];
  readonly #triedAgain = new WeakSet<AttemptRecord>();

  constructor(private readonly options: AttemptRecorderOptions) {
    this.#loop = new Loop({
      name: 'records',
      log: options.log,
      step: () => this.#step(),
      mayEnd: () => this.#finished.length === 0 && !options.isExpectingMore(),
    });
  }

  start(): void {
    this.#loop.start();
  }

  /** Resolves when the outcomes of all attempts in flight are recorded. */
  stop(): Promise<void> {
    return this.#loop.stop();
  }

  add(record: AttemptRecord): void {
    this.#finished.push(record);
    this.#loop.wake();
  }

  async #step(): Promise<number> {
    if (this.#finished.length === 0) return IDLE_MS;
    const batch = { records: [] as AttemptRecord[], isOver: false };
    try {
      this.#note(batch.records, await this.#recordBatch(batch));
    } catch (error) {
      if (error instanceof StoreUnavailableError) {
        this.#finished.unshift(...batch.records);
        throw error;
      }
      this.options.log.error({ err: error }, 'a batch of attempts could not be recorded; each is recorded on its own');
      for (const record of batch.records) await this.#recordAlone(record);
    } finally {
      batch.isOver = true;
    }
    return this.#finished.length > 0 ? 0 : IDLE_MS;
  }

  #recordBatch(batch: { readonly records: AttemptRecord[]; isOver: boolean }): Promise<Set<string>> {
    const { db } = this.options;
    return db.transaction(
      async (queries) => {
        if (batch.isOver) throw new StoreUnavailableError('the transaction began after its deadline');
        // Taken only now, so that what has finished while the transaction waited is in the same commit.
        batch.records.push(...this.#finished.splice(0, MAX_RECORDS_PER_TRANSACTION));
        return recordAttempts(queries, db.dialect, batch.records);
      },
      { maxCommitDelayMs: MAX_COMMIT_DELAY_MS },
    );
  }

  /** The store rejects something in one of them. That one fails with its reason, and the others are recorded as they are. */
  async #recordAlone(record: AttemptRecord): Promise<void> {
    try {
      this.#note([record], await recordAlone(this.options.db, record));
    } catch (error) {
      if (error instanceof StoreUnavailableError) {
        this.#finished.push(record);
        return;
      }
      const { entityId, deliveryId } = record.delivery;
      this.options.onDone(record.delivery);
      const message = 'an attempt could not be recorded; the delivery is due again when its lease expires';
      this.options.log.error({ err: error, entityId, deliveryId }, message);
    }
  }

  #note(records: readonly AttemptRecord[], recorded: ReadonlySet<string>): void {
    const done = records.filter((record) => recorded.has(record.delivery.deliveryId) || !this.#tryAgain(record));
    for (const { delivery } of done) this.options.onDone(delivery);
    this.options.onRecorded(done.filter(({ delivery }) => recorded.has(delivery.deliveryId)));
  }

  /** Once: after a stall its lease had expired, and a claim of this process may have just renewed the token. */
  #tryAgain(record: AttemptRecord): boolean {
    const isFirst = !this.#triedAgain.has(record);
    if (isFirst) {
      this.#triedAgain.add(record);
      this.#finished.push(record);
    } else {
      const { entityId, deliveryId } = record.delivery;
      const message = 'an attempt was not recorded: another instance has claimed the delivery';
      this.options.log.warn({ entityId, deliveryId }, message);
    }
    return isFirst;
  }
}
