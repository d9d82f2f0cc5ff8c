import type { Logger } from '../../log.ts';
import type { Database } from '../../store/database/database.ts';
import { continueRedelivery, findRunning } from '../../store/deliveries/redeliver.ts';

/** How often to look for redeliveries whose process died before they were queued. */
const LOOK_EVERY_MS = 30_000;
/** After a share failed: the store did not answer, or another transaction held the same deliveries. */
const PAUSE_MS = 1_000;

/** Queues bulk redeliveries in the background, a share at a time; several instances may take turns at the same one. */
export class BulkRedeliveryJob {
  #running: Promise<void> | null = null;
  #again = false;
  #stopped = false;
  #timer: Timer | undefined;
  #pause: Timer | undefined;

  constructor(
    private readonly db: Database,
    private readonly log: Logger,
    private readonly onWork: () => void,
  ) {}

  start(): void {
    this.#timer = setInterval(() => this.kick(), LOOK_EVERY_MS);
    this.kick();
  }

  /** There may be one to work on. */
  kick(): void {
    this.#again = true;
    if (this.#running === null && !this.#stopped) this.#running = this.#run();
  }

  /** Resolves when the share that is under way has ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#timer);
    clearTimeout(this.#pause);
    await this.#running;
  }

  async #run(): Promise<void> {
    try {
      while (this.#again && !this.#stopped) {
        this.#again = false;
        for (const { entityId, redeliveryId } of await findRunning(this.db)) {
          if (this.#stopped) break;
          await continueRedelivery(this.db, entityId, redeliveryId);
          // It has more, or the entity has others behind it: each share brings one of them nearer to its end.
          this.#again = true;
          this.onWork();
        }
      }
    } catch (error) {
      this.log.warn({ err: error }, 'redeliveries pause: a share of one could not be queued');
      if (!this.#stopped) this.#pause = setTimeout(() => this.kick(), PAUSE_MS);
    } finally {
      this.#running = null;
    }
  }
}
