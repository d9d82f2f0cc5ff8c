import { BoundedMap } from '../../domain/bounded-map.ts';
import type { Database } from '../../store/database/database.ts';
import { type KeyUse, recordKeyUses } from '../../store/tenants/api-keys.ts';

/** With more keys in one interval, those used longest ago go unrecorded: the date is a hint for people. */
const MAX_NOTED = 10_000;

/** When each key was last used, gathered in memory and written now and then: no request pays for a write. */
export class KeyUsage {
  #uses = new BoundedMap<string, KeyUse>(MAX_NOTED);

  note(entityId: string, keyId: string, usedAt: number): void {
    this.#uses.set(keyId, { entityId, keyId, usedAt });
  }

  async flush(db: Database): Promise<void> {
    if (this.#uses.size === 0) return;
    const uses = [...this.#uses.values()];
    this.#uses = new BoundedMap(MAX_NOTED);
    await recordKeyUses(db, uses);
  }
}
