import { parseKeys, type SigningKeys } from '../domain/signature.ts';
import type { Database } from '../store/database.ts';
import type { SecretBox } from '../store/secret-box.ts';
import { readSigningMaterial } from '../store/secrets.ts';

const MAX_ENTITIES = 10_000;

type Entry = { revision: number; expiresAtS: number; keys: Promise<SigningKeys> };

/**
 * The parsed keys of each entity: opening and parsing them costs more than signing. An entry holds until the entity's
 * revision rises, which every rotation does, or until the next of its secrets expires.
 */
export class SigningKeyCache {
  readonly #entries = new Map<string, Entry>();

  constructor(
    private readonly db: Database,
    private readonly box: SecretBox,
    private readonly asymmetric: boolean,
  ) {}

  async keysFor(entityId: string, revision: number, nowS: number): Promise<SigningKeys> {
    const known = this.#entries.get(entityId);
    if (known !== undefined && known.revision >= revision && nowS < known.expiresAtS) return known.keys;
    const entry: Entry = { revision, expiresAtS: Number.POSITIVE_INFINITY, keys: this.#load(entityId, nowS) };
    this.#remember(entityId, entry);
    try {
      return await entry.keys;
    } catch (error) {
      this.#entries.delete(entityId);
      throw error;
    }
  }

  async #load(entityId: string, nowS: number): Promise<SigningKeys> {
    const { secrets, signingKey } = await readSigningMaterial(this.db, this.box, entityId, nowS);
    const entry = this.#entries.get(entityId);
    const expiries = secrets.map(({ dateExpires }) => dateExpires ?? Number.POSITIVE_INFINITY);
    if (entry !== undefined) entry.expiresAtS = Math.min(...expiries, Number.POSITIVE_INFINITY);
    return parseKeys(
      secrets.map(({ secret }) => secret),
      this.asymmetric ? signingKey : undefined,
    );
  }

  #remember(entityId: string, entry: Entry): void {
    this.#entries.delete(entityId);
    this.#entries.set(entityId, entry);
    if (this.#entries.size <= MAX_ENTITIES) return;
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest);
      return;
    }
  }
}
