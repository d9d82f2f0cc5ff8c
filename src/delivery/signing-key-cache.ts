import { BoundedMap } from '../bounded-map.ts';
import type { ClientCertificate } from '../domain/endpoints/client-certificate.ts';
import type { RequestHeaders } from '../domain/endpoints/request-headers.ts';
import { parseKeys, type SigningKeys, textOf, toWhsec } from '../domain/signing.ts';
import type { Database } from '../store/database/database.ts';
import { readEndpointCredentials } from '../store/endpoints/credentials.ts';
import type { SecretBox } from '../store/tenants/secret-box.ts';
import { readSigningMaterial, type SigningMaterial } from '../store/tenants/secrets.ts';

const MAX_ENTITIES = 10_000;
/** Limit on the endpoints with their own credentials, each with up to 16 KB of headers and a chain of certificates. */
const MAX_ENDPOINTS = 5_000;

/** The keys that sign a request, and the fixed headers and the client certificate of its endpoint. */
export type RequestKeys = SigningKeys & OwnCredentials;
type OwnCredentials = { readonly headers: RequestHeaders | null; readonly certificate: ClientCertificate | null };

/** `value` is a promise while it is being read. */
type Entry<Value> = { expiresAtS: number; value: Value | Promise<Value> };
type Read<Value> = { value: Value; expiresAtS: number };

/** The keys of an entity's requests. `hasOwn` tells which endpoints have their own keys. */
type EntityKeys = { readonly keys: RequestKeys; readonly hasOwn: (endpointNo: number) => boolean };

/**
 * Caches the parsed signing keys of each entity, because decrypting and parsing them costs more than signing. Endpoints
 * with their own secrets, headers or certificate have separate entries. An entry serves one revision of its entity
 * until one of its secrets or keys expires; every change raises the revision. Deliveries claimed before and after a
 * change are sent concurrently, so each revision has its own entry.
 */
export class SigningKeyCache {
  readonly #entities = new BoundedMap<string, Entry<EntityKeys>>(MAX_ENTITIES);
  readonly #endpoints = new BoundedMap<string, Entry<RequestKeys>>(MAX_ENDPOINTS);

  constructor(
    private readonly db: Database,
    private readonly box: SecretBox,
    private readonly asymmetric: boolean,
    private readonly bodyKeyForm: 'bytes' | 'text' = 'bytes',
  ) {}

  /** Synchronous when the keys are cached. */
  keysFor(entityId: string, revision: number, nowS: number, endpointNo: number): RequestKeys | Promise<RequestKeys> {
    const key = `${entityId} ${revision}`;
    const ofEntity = cached(this.#entities, key, nowS, () => this.#readEntity(entityId, nowS));
    const select = ({ keys, hasOwn }: EntityKeys) => {
      if (!hasOwn(endpointNo)) return keys;
      const read = () => this.#readEndpoint(entityId, endpointNo, nowS);
      return cached(this.#endpoints, `${key} ${endpointNo}`, nowS, read);
    };
    return ofEntity instanceof Promise ? ofEntity.then(select) : select(ofEntity);
  }

  async #readEntity(entityId: string, nowS: number): Promise<Read<EntityKeys>> {
    const material = await readSigningMaterial(this.db, this.box, entityId, nowS, this.asymmetric);
    const { value: keys, expiresAtS } = this.#parse(material, NOTHING_OWN);
    const { ownEndpoints } = material;
    return { value: { keys, hasOwn: (endpointNo) => ownEndpoints?.has(endpointNo) ?? true }, expiresAtS };
  }

  async #readEndpoint(entityId: string, endpointNo: number, nowS: number): Promise<Read<RequestKeys>> {
    const endpoint = { entityId, endpointNo, withSigningKeys: this.asymmetric };
    const { headers, certificate, ...material } = await readEndpointCredentials(this.db, this.box, endpoint, nowS);
    return this.#parse(material, { headers, certificate });
  }

  #parse({ secrets, signingKeys }: Signers, own: OwnCredentials): Read<RequestKeys> {
    const expiries = [...secrets, ...signingKeys].map(({ dateExpires }) => dateExpires ?? Number.POSITIVE_INFINITY);
    const newest = secrets[0]?.stored;
    const keys = parseKeys(
      secrets.map(({ stored }) => toWhsec(stored)),
      signingKeys.map(({ secretKey }) => secretKey),
      this.bodyKeyForm === 'text' && newest !== undefined ? textOf(newest) : undefined,
    );
    return { value: { ...keys, ...own }, expiresAtS: Math.min(...expiries, Number.POSITIVE_INFINITY) };
  }
}

type Signers = Pick<SigningMaterial, 'secrets' | 'signingKeys'>;

const NOTHING_OWN: OwnCredentials = { headers: null, certificate: null };

function cached<Value>(
  entries: BoundedMap<string, Entry<Value>>,
  key: string,
  nowS: number,
  read: () => Promise<Read<Value>>,
): Value | Promise<Value> {
  const known = entries.get(key);
  if (known !== undefined && nowS < known.expiresAtS) return known.value;
  const value = read().then(
    (found) => {
      Object.assign(entry, found);
      return found.value;
    },
    (error) => {
      if (entries.get(key) === entry) entries.delete(key);
      throw error;
    },
  );
  const entry: Entry<Value> = { expiresAtS: Number.POSITIVE_INFINITY, value };
  entries.set(key, entry);
  return value;
}
