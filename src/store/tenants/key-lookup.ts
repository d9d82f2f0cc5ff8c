import { BoundedMap } from '../../bounded-map.ts';
import type { Database } from '../database/database.ts';
import { Columns, chunks, integer, nullable, text } from '../database/sql.ts';
import { REVISION } from './tables.ts';

/** The entity and permissions of a valid key, with the entity's revision at the time of the lookup. */
export type KeyHolder = { keyId: string; entityId: string; permissions: ReadonlySet<string>; revision: number };

type KeyUse = { entityId: string; keyId: string; usedAt: number };

/** A holder that was found, with the expiry of the key in Unix seconds. */
type FoundHolder = KeyHolder & { expiresAt: number | null };

/** Limit on the holders that are kept, which need about 3 MB. */
const MAX_KNOWN = 10_000;

/**
 * Limit on the uses that are kept until they are saved. With more keys, the oldest uses are not recorded: the date is a hint for
 * people.
 */
const MAX_USES = 10_000;

/**
 * Finds the holder of an API key by the key's hash, and records when keys were last used.
 *
 * Lookups requested in the same tick of the event loop share one query, and equal lookups share its result. The query starts
 * after the last lookup arrived, so every request sees all commits from before its arrival. A revoked key therefore fails, and
 * the revision is current.
 *
 * On SQLite, a holder that was found before is returned as long as the store is at the same version, because no process has
 * committed anything since. The version is read at the end of each tick in place of the holders.
 */
export class KeyLookup {
  #waiting = new Map<string, PromiseWithResolvers<KeyHolder | null>>();
  /** Found while the store was at `#knownVersion`. */
  readonly #known = new BoundedMap<string, FoundHolder>(MAX_KNOWN);
  #knownVersion: number | null = null;
  readonly #uses = new BoundedMap<string, KeyUse>(MAX_USES);

  constructor(
    private readonly db: Database,
    private readonly nowMs: () => number,
  ) {}

  /** Null when the key is unknown, expired or revoked. */
  find(keyHash: string): Promise<KeyHolder | null> {
    const known = this.#waiting.get(keyHash);
    if (known !== undefined) return known.promise;
    const lookup = Promise.withResolvers<KeyHolder | null>();
    if (this.#waiting.size === 0) setImmediate(() => void this.#findAll());
    this.#waiting.set(keyHash, lookup);
    return lookup.promise;
  }

  /** Keeps the use in memory until `saveUses`, so that no request pays for a write. */
  recordUse({ entityId, keyId }: KeyHolder): void {
    const usedAt = this.#nowS();
    if (this.#uses.get(keyId)?.usedAt !== usedAt) this.#uses.set(keyId, { entityId, keyId, usedAt });
  }

  /** Writes the uses, and forgets each use once it is written. After a failure, the next run writes it. */
  async saveUses(): Promise<void> {
    for (const chunk of chunks([...this.#uses.values()])) {
      await writeUses(this.db, chunk);
      // A key that was used during the write stays in the list, so that the next run writes the newer date.
      for (const use of chunk) if (this.#uses.get(use.keyId) === use) this.#uses.delete(use.keyId);
    }
  }

  async #findAll(): Promise<void> {
    const waiting = this.#waiting;
    // A request that arrives from here on needs another query.
    this.#waiting = new Map();
    try {
      const nowS = this.#nowS();
      // The version is read before the holders. After a commit in between, the holders belong to an older version, and the next
      // lookup drops them.
      const version = await this.#forgetOlder();
      const missing: string[] = [];
      for (const [keyHash, { resolve }] of waiting) {
        const known = this.#known.get(keyHash);
        if (known !== undefined && isInForce(known, nowS)) resolve(known);
        else missing.push(keyHash);
      }
      if (missing.length === 0) return;
      const found = await findKeyHolders(this.db, missing, nowS);
      if (version !== null && version === this.#knownVersion) {
        for (const [keyHash, holder] of found) this.#known.set(keyHash, holder);
      }
      for (const keyHash of missing) waiting.get(keyHash)?.resolve(found.get(keyHash) ?? null);
    } catch (error) {
      for (const { reject } of waiting.values()) reject(error);
    }
  }

  /** Drops the holders of an older version of the store. Returns its version, or null if the engine has none. */
  async #forgetOlder(): Promise<number | null> {
    if (this.db.dataVersion === null) return null;
    const version = await this.db.dataVersion();
    if (version !== this.#knownVersion) this.#known.clear();
    this.#knownVersion = version;
    return version;
  }

  #nowS(): number {
    return Math.floor(this.nowMs() / 1000);
  }
}

const USE_TYPES = ['text', 'text', 'bigint'];

/**
 * One statement, because thousands of round trips exceed the deadline of a transaction. It locks the rows in the order
 * of their keys. In the order of a plan, two instances that save uses of the same keys could wait for each other.
 */
async function writeUses(db: Database, uses: readonly KeyUse[]): Promise<void> {
  const { lockRow, rowList } = db.dialect;
  const sql = `with uses (entity_id, id, used_at) as (${rowList.text(USE_TYPES, uses.length)}),
      locked as (select k.entity_id, k.id, uses.used_at
        from uses join api_keys k on k.entity_id = uses.entity_id and k.id = uses.id
        order by k.entity_id, k.id ${lockRow})
    update api_keys set last_used_at = locked.used_at from locked
    where api_keys.entity_id = locked.entity_id and api_keys.id = locked.id
      and (api_keys.last_used_at is null or api_keys.last_used_at < locked.used_at)`;
  const values = uses.flatMap(({ entityId, keyId, usedAt }) => [entityId, keyId, usedAt]);
  await db.transaction((queries) => queries.run(sql, rowList.bind(USE_TYPES, values)));
}

const HOLDER = new Columns({
  keyHash: text('k.key_hash'),
  keyId: text('k.id'),
  entityId: text('k.entity_id'),
  permissions: text('k.permissions'),
  expiresAt: nullable(integer('k.expires_at')),
  revision: integer(REVISION),
});

/** One of the few queries that is not limited to an entity, because its result names the entity. */
async function findKeyHolders(
  db: Database,
  keyHashes: readonly string[],
  nowS: number,
): Promise<Map<string, FoundHolder>> {
  const from = 'from api_keys k join entities e on e.id = k.entity_id where k.key_hash in';
  const inForce = 'and k.revoked_at is null and (k.expires_at is null or k.expires_at > $1)';
  const rows = await HOLDER.allIn(db, from, [nowS], keyHashes, inForce);
  return new Map(
    rows.map(({ keyHash, permissions, ...key }) => [keyHash, { ...key, permissions: permissionsIn(permissions) }]),
  );
}

function isInForce({ expiresAt }: FoundHolder, nowS: number): boolean {
  return expiresAt === null || expiresAt > nowS;
}

/** There are few combinations, and most keys have the same one, so each set is built once. */
const MAX_PERMISSION_SETS = 1_000;
const permissionSets = new BoundedMap<string, ReadonlySet<string>>(MAX_PERMISSION_SETS);

function permissionsIn(text: string): ReadonlySet<string> {
  const known = permissionSets.get(text);
  if (known !== undefined) return known;
  const permissions = new Set(text.split(','));
  permissionSets.set(text, permissions);
  return permissions;
}
