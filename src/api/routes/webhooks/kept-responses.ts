import { BoundedMap } from '../../../bounded-map.ts';
import type { Tagged } from '../../http/responses.ts';

export type KeptResponse = Tagged & { readonly revision: number; readonly body: Uint8Array<ArrayBuffer> };

const MAX_BYTES = 32 * 1024 * 1024;
/** An entity that sends more and more different queries drops its own responses first. */
const MAX_ENTITY_BYTES = MAX_BYTES / 8;
/** Bytes for the key, the tag and the objects of an entry. */
const OVERHEAD_BYTES = 600;

type Entry = { readonly key: string; readonly entityId: string; readonly response: KeptResponse };

/** Responses to list requests, bounded for all entities together and for each of them. */
export class KeptResponses {
  readonly #entries: BoundedMap<string, Entry>;
  /** The same entries by their entity. */
  readonly #byEntity = new Map<string, BoundedMap<string, Entry>>();
  readonly #maxEntityBytes: number;

  constructor({ maxBytes = MAX_BYTES, maxEntityBytes = MAX_ENTITY_BYTES } = {}) {
    this.#maxEntityBytes = maxEntityBytes;
    const onEvict = ({ key, entityId }: Entry) => {
      const own = this.#byEntity.get(entityId);
      own?.delete(key);
      if (own?.size === 0) this.#byEntity.delete(entityId);
    };
    this.#entries = new BoundedMap(maxBytes, { weigh: weightOf, onEvict });
  }

  get(key: string): KeptResponse | undefined {
    return this.#entries.get(key)?.response;
  }

  set(key: string, entityId: string, response: KeptResponse): void {
    const entry = { key, entityId, response };
    const own = this.#byEntity.get(entityId) ?? this.#newShare();
    this.#byEntity.set(entityId, own);
    own.set(key, entry);
    // A response above the limit of its entity is not kept.
    if (own.has(key)) this.#entries.set(key, entry);
    if (own.size === 0) this.#byEntity.delete(entityId);
  }

  #newShare(): BoundedMap<string, Entry> {
    const onEvict = ({ key }: Entry) => void this.#entries.delete(key);
    return new BoundedMap(this.#maxEntityBytes, { weigh: weightOf, onEvict });
  }
}

function weightOf({ response }: Entry): number {
  return response.body.byteLength + OVERHEAD_BYTES;
}
