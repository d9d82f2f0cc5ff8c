import { BoundedMap } from '../../../bounded-map.ts';
import type { WebhookListQuery } from '../../../contract/webhooks.ts';
import type { Counter, Family } from '../../../metrics/registry.ts';
import type { Database } from '../../../store/database/database.ts';
import { countAtRevision, readWebhookList } from '../../../store/webhooks/list.ts';
import { WebhookListSnapshot } from '../../../store/webhooks/list-snapshot.ts';
import { etagOf, headersOf, respondTagged } from '../../http/responses.ts';
import { KeptResponses } from './kept-responses.ts';

const MAX_SNAPSHOT_BYTES = 64 * 1024 * 1024;
/** An entity with more webhooks is read page by page: reading this many takes about a millisecond. */
const MAX_SNAPSHOT_WEBHOOKS = 1_000;

/**
 * Once memory is full, one in 16 new snapshots is admitted. When more entities are in use than fit, most snapshots stay
 * long enough to be useful. If all were admitted, each would be evicted before its second use.
 */
const ADMIT_ONE_IN = 16;

const MAX_SEEN_ENTITIES = 20_000;
/** Much larger than the number of responses that fit into memory, so that few queries share a position. */
const SEEN_QUERIES = 65_536;

type DatedJson = { readonly revision: number; readonly json: string };

/**
 * Responds to list requests from memory if possible: with the response to the same query, or from a snapshot of all
 * webhooks of the entity, which serves every filter, order and page.
 *
 * Both are stored with the revision of the entity that they were read at. Every write to the entity's webhooks raises
 * the revision, and authentication reads the current one for each request. So no instance ever serves a stale response,
 * and no entry has to be invalidated. Even a lower revision makes an entry stale: after a failover to a replica without
 * the last writes, the revision goes back.
 *
 * Both are kept only from the second request on. A client that reads all pages once neither pays for keeping them nor
 * evicts entries that other clients use repeatedly.
 */
export class WebhookListCache {
  readonly #responses = new KeptResponses();
  readonly #snapshots: BoundedMap<string, WebhookListSnapshot>;
  #snapshotsAreFull = false;
  /** The revision at which an entity was last listed, and whether the entity was too large for a snapshot. */
  readonly #seenEntities = new BoundedMap<string, { readonly revision: number; readonly tooLarge: boolean }>(
    MAX_SEEN_ENTITIES,
  );
  /** Hashes of recent queries, each at the one position that it can have. */
  readonly #seenQueries = new Uint32Array(SEEN_QUERIES);
  readonly #served: Readonly<Record<'response' | 'snapshot' | 'store', Counter>>;

  constructor(
    private readonly db: Database,
    served: Pick<Family<Counter>, 'of'>,
    maxSnapshotBytes = MAX_SNAPSHOT_BYTES,
  ) {
    this.#served = { response: served.of('kept'), snapshot: served.of('view'), store: served.of('store') };
    this.#snapshots = new BoundedMap(maxSnapshotBytes, {
      weigh: ({ bytes }) => bytes,
      onEvict: () => {
        this.#snapshotsAreFull = true;
      },
    });
  }

  /**
   * `search` is the query as it was sent. As a key, it costs nothing to build. Another spelling of a query has another
   * entry.
   */
  respond(
    request: Request,
    { entityId, revision }: { readonly entityId: string; readonly revision: number },
    query: WebhookListQuery,
    search: string,
  ): Response | Promise<Response> {
    const key = `${entityId} ${search}`;
    const kept = this.#responses.get(key);
    if (kept?.revision !== revision) return this.#readAndRespond(request, { key, entityId, revision }, query);
    this.#served.response.inc();
    return respondTagged(request, kept);
  }

  async #readAndRespond(
    request: Request,
    { key, entityId, revision }: { key: string; entityId: string; revision: number },
    query: WebhookListQuery,
  ): Promise<Response> {
    const list = await this.#read(entityId, revision, query);
    const etag = etagOf(list.json);
    if (!this.#wasSeen(key)) return respondTagged(request, { etag, body: list.json });
    const kept = { etag, headers: headersOf(etag), body: Buffer.from(list.json), revision: list.revision };
    this.#responses.set(key, entityId, kept);
    return respondTagged(request, kept);
  }

  async #read(entityId: string, revision: number, query: WebhookListQuery): Promise<DatedJson> {
    // A single webhook is found faster by its id in the database.
    const snapshot = query.webhookId === undefined ? await this.#snapshotOf(entityId, revision) : null;
    if (snapshot !== null) {
      this.#served.snapshot.inc();
      return { revision: snapshot.revision, json: snapshot.list(query) };
    }
    this.#served.store.inc();
    const read = await readWebhookList(this.db, entityId, query);
    return { revision: read.revision, json: JSON.stringify(read.list) };
  }

  #snapshotOf(entityId: string, revision: number): WebhookListSnapshot | null | Promise<WebhookListSnapshot | null> {
    const known = this.#snapshots.get(entityId);
    if (known?.revision === revision) return known;
    if (known !== undefined) {
      this.#snapshots.delete(entityId);
      this.#snapshotsAreFull = false;
    }
    const seen = this.#seenEntities.get(entityId);
    if (seen?.revision !== revision) {
      this.#seenEntities.set(entityId, { revision, tooLarge: false });
      return null;
    }
    if (seen.tooLarge || (this.#snapshotsAreFull && Math.random() * ADMIT_ONE_IN >= 1)) return null;
    return this.#readSnapshot(entityId, revision);
  }

  async #readSnapshot(entityId: string, seenAtRevision: number): Promise<WebhookListSnapshot | null> {
    const snapshot = await this.db.snapshot(async (queries) => {
      const { total, revision } = await countAtRevision(queries, entityId, {});
      return total > MAX_SNAPSHOT_WEBHOOKS ? null : WebhookListSnapshot.read(queries, entityId, revision);
    }, entityId);
    if (snapshot === null) this.#seenEntities.set(entityId, { revision: seenAtRevision, tooLarge: true });
    else this.#snapshots.set(entityId, snapshot);
    return snapshot;
  }

  #wasSeen(key: string): boolean {
    const hash = Bun.hash.xxHash32(key);
    const position = hash % SEEN_QUERIES;
    if (this.#seenQueries[position] === hash) return true;
    this.#seenQueries[position] = hash;
    return false;
  }
}
