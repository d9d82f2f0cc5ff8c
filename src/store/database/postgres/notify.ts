import type { Logger } from '../../../log.ts';
import type { Database } from '../database.ts';

/** Acceptances within this time share one notification. */
const GATHER_MS = 10;

/** Notifies the other instances of due deliveries, without a statement for every event. */
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
        .catch((error) =>
          this.log.debug(
            { err: error },
            'could not notify other instances of due deliveries; they find them at their next poll',
          ),
        );
    }, GATHER_MS);
  }
}
