import type { z } from 'zod';
import type { newOwnKeySchema, ownKeyListQuerySchema, revokeOwnKeyQuerySchema } from '../../contract/tenants/keys.ts';
import type { ApiKey, ApiKeyList, CreatedApiKey } from '../admin.ts';
import { allPages } from '../pages.ts';
import type { Query } from '../schema-types.ts';
import type { CallOptions, Transport } from '../transport.ts';

export type OwnKeyListQuery = Query<typeof ownKeyListQuerySchema>;
export type NewOwnKey = z.input<typeof newOwnKeySchema>;
export type RevokeOwnKeyQuery = Query<typeof revokeOwnKeyQuerySchema>;

/** The API keys of the entity. `create` is not repeated after a lost response: list first, and revoke what was made. */
export class Keys {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  list(query: OwnKeyListQuery = {}, options?: CallOptions): Promise<ApiKeyList> {
    return this.#transport.call({ method: 'GET', path: '/keys', query }, options);
  }

  listAll(query: OwnKeyListQuery = {}, options?: CallOptions): AsyncGenerator<ApiKey, void, undefined> {
    return allPages((page, each) => this.list(page, each), 'keys', 'keyId', query, options);
  }

  /** Creates a key, which is returned only this once. It has permissions of the key that creates it, and no others. */
  create(key: NewOwnKey, options?: CallOptions): Promise<CreatedApiKey> {
    return this.#transport.call({ method: 'POST', path: '/keys', json: key, isIdempotent: false }, options);
  }

  /** The key of this client needs `self`, and the last one `last`, so that no one is locked out by mistake. */
  revoke(keyId: string, query: RevokeOwnKeyQuery = {}, options?: CallOptions): Promise<ApiKey> {
    // With its own key revoked, a repetition would be refused.
    const isIdempotent = query.self !== 'true';
    const request = { method: 'DELETE', path: '/keys/{keyId}', id: keyId, query, isIdempotent } as const;
    return this.#transport.call(request, options);
  }
}
