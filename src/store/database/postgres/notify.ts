import type { Logger } from '../../../log.ts';
import type { Database } from '../database.ts';

/** Several acceptances within this time share one announcement. */
const GATHER_MS = 10;

/** Tells the other instances that there is work, without a statement for every event. */
export class WorkNotifier {
  #pending = false;

  constructor(
    private readonly db: Database,
    private readonly log: Logger,
  ) {}

  notify(): void {
    if (this.#pending || this.db.engine === 'sqlite') return;
    this.#pending = true;
    setTimeout(() => {
      this.#pending = false;
      this.db
        .announceWork()
        .catch((error) => this.log.debug({ err: error }, 'work was not announced; polls will find it'));
    }, GATHER_MS);
  }
}
