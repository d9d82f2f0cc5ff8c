import type { Logger } from '../log.ts';
import type { Database } from '../store/database.ts';
import { continueRedelivery, findRunning } from '../store/redeliveries.ts';

/** How often to look for redeliveries whose process died before they were queued. */
const LOOK_EVERY_MS = 30_000;

/** Queues bulk redeliveries in the background, a share at a time; several instances may take turns at the same one. */
export class RedeliveryRunner {
  #running = false;
  #again = false;
  #stopped = false;
  #timer: Timer | null = null;

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
    if (!this.#running && !this.#stopped) void this.#run();
  }

  stop(): void {
    this.#stopped = true;
    if (this.#timer !== null) clearInterval(this.#timer);
  }

  async #run(): Promise<void> {
    this.#running = true;
    try {
      while (this.#again && !this.#stopped) {
        this.#again = false;
        for (const { entityId, redeliveryId } of await findRunning(this.db)) {
          if (this.#stopped) break;
          if (await continueRedelivery(this.db, entityId, redeliveryId)) this.#again = true;
          this.onWork();
        }
      }
    } catch (error) {
      this.log.warn({ err: error }, 'redeliveries pause: the store does not answer');
    } finally {
      this.#running = false;
    }
  }
}
