import { BoundedMap } from '../bounded-map.ts';
import { parseKeys, type SigningKeys, textOf, toWhsec } from '../domain/signing.ts';
import type { Database } from '../store/database/database.ts';
import type { SecretBox } from '../store/tenants/secret-box.ts';
import { readSigningMaterial } from '../store/tenants/secrets.ts';

const MAX_ENTRIES = 10_000;

/** `keys` is a promise while they are being read. */
type Entry = { expiresAtS: number; keys: SigningKeys | Promise<SigningKeys> };

/**
 * The parsed signing keys of each entity, because decrypting and parsing them costs more than signing. An entry serves one
 * revision of its entity, which every rotation changes, until one of its secrets or keys expires. Deliveries that were claimed
 * before and after a change are sent side by side, so each revision has an entry of its own.
 */
export class SigningKeyCache {
  readonly #entries = new BoundedMap<string, Entry>(MAX_ENTRIES);

  constructor(
    private readonly db: Database,
    private readonly box: SecretBox,
    private readonly asymmetric: boolean,
    private readonly bodyKeyForm: 'bytes' | 'text' = 'bytes',
  ) {}

  /** Synchronous when the keys are cached. */
  keysFor(entityId: string, revision: number, nowS: number): SigningKeys | Promise<SigningKeys> {
    const key = `${entityId} ${revision}`;
    const known = this.#entries.get(key);
    if (known !== undefined && nowS < known.expiresAtS) return known.keys;
    return this.#load(key, entityId, nowS);
  }

  #load(key: string, entityId: string, nowS: number): Promise<SigningKeys> {
    const keys = this.#read(entityId, nowS).then(
      (found) => {
        Object.assign(entry, found);
        return found.keys;
      },
      (error) => {
        if (this.#entries.get(key) === entry) this.#entries.delete(key);
        throw error;
      },
    );
    const entry: Entry = { expiresAtS: Number.POSITIVE_INFINITY, keys };
    this.#entries.set(key, entry);
    return keys;
  }

  async #read(entityId: string, nowS: number): Promise<{ keys: SigningKeys; expiresAtS: number }> {
    const { secrets, signingKeys } = await readSigningMaterial(this.db, this.box, entityId, nowS, this.asymmetric);
    const expiries = [...secrets, ...signingKeys].map(({ dateExpires }) => dateExpires ?? Number.POSITIVE_INFINITY);
    const newest = secrets[0]?.stored;
    const keys = parseKeys(
      secrets.map(({ stored }) => toWhsec(stored)),
      signingKeys.map(({ secretKey }) => secretKey),
      this.bodyKeyForm === 'text' && newest !== undefined ? textOf(newest) : undefined,
    );
    return { keys, expiresAtS: Math.min(...expiries, Number.POSITIVE_INFINITY) };
  }
}
