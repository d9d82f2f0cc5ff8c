import { Problem } from '../../../contract/problems.ts';
import type { Logger } from '../../../log.ts';
import type { Database } from '../../../store/database/database.ts';
import { type EndpointKey, type FeedPage, type FeedPosition, readFeed } from '../../../store/endpoints/read-feed.ts';
import { SequenceWatch } from './sequence-watch.ts';

const RETRY_AFTER_S = 1;

/** The feeds that this process has open, by long polling and as streams. */
export class Feeds {
  readonly watch: SequenceWatch;
  readonly #open = new Map<string, number>();
  #reads = new Map<string, Promise<FeedPage | null>>();

  constructor(
    private readonly db: Database,
    log: Logger,
    /** `FEED_LIMIT`, the limit of one entity. */
    private readonly limit: number,
    /** How often to look for numbers that no notification announced. */
    lookEveryMs?: number,
  ) {
    this.watch = new SequenceWatch(db, log, lookEveryMs);
  }

  /** Counts an open feed. Call the returned function when the feed has ended. */
  enter(entityId: string): () => void {
    const count = this.#open.get(entityId) ?? 0;
    if (count >= this.limit) {
      const detail = `At most ${this.limit} feeds of an entity can be open at a time. Close one first.`;
      throw new Problem('rate_limited', detail, { headers: { 'retry-after': String(RETRY_AFTER_S) } });
    }
    this.#open.set(entityId, count + 1);
    let isOpen = true;
    return () => {
      if (isOpen) this.#leave(entityId);
      isOpen = false;
    };
  }

  #leave(entityId: string): void {
    const left = (this.#open.get(entityId) ?? 1) - 1;
    if (left > 0) this.#open.set(entityId, left);
    else this.#open.delete(entityId);
  }

  /**
   * Equal reads of one tick share a query, because a commit wakes all readers of an endpoint together. The query is
   * sent after the last of these reads was requested, so each read sees all earlier commits.
   */
  read(endpoint: EndpointKey, position: FeedPosition): Promise<FeedPage | null> {
    const key = `${endpoint.entityId} ${endpoint.endpointNo} ${position.after} ${position.limit}`;
    const known = this.#reads.get(key);
    if (known !== undefined) return known;
    if (this.#reads.size === 0) setImmediate(() => this.#sendReads());
    const page = new Promise<void>((resolve) => this.#unsent.push(resolve)).then(() =>
      readFeed(this.db, endpoint, position),
    );
    this.#reads.set(key, page);
    return page;
  }

  #unsent: (() => void)[] = [];

  #sendReads(): void {
    const unsent = this.#unsent;
    this.#unsent = [];
    this.#reads = new Map();
    for (const send of unsent) send();
  }
}
