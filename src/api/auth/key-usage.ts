import type { Database } from '../../store/database/database.ts';
import { type KeyUse, recordKeyUses } from '../../store/tenants/api-keys.ts';

/** Beyond this many keys in one interval the rest goes unnoted: it is a hint for people, not a record. */
const MAX_NOTED = 10_000;

/** When each key was last used, gathered in memory and written now and then: no request pays for a write. */
export class KeyUsage {
  #uses = new Map<string, KeyUse>();

  note(entityId: string, keyId: string, usedAt: number): void {
    if (this.#uses.size < MAX_NOTED) this.#uses.set(keyId, { entityId, keyId, usedAt });
  }

  async flush(db: Database): Promise<void> {
    if (this.#uses.size === 0) return;
    const uses = [...this.#uses.values()];
    this.#uses = new Map();
    await recordKeyUses(db, uses);
  }
}
