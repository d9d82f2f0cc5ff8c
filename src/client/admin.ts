import { OPERATIONS } from './operations.ts';
import { allPages } from './pages.ts';
import type { CallOptions, Transport } from './transport.ts';
import type {
  ApiKey,
  ApiKeyList,
  ApiKeyListQuery,
  CreatedApiKey,
  Entity,
  EntityList,
  EntityListQuery,
  NewApiKey,
  NewEntity,
  ProvisionedEntity,
} from './types.ts';

/** What only the operator's key opens. What makes something is not tried again after a lost answer: look first. */
export class Admin {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  listEntities(query: EntityListQuery = {}, options?: CallOptions): Promise<EntityList> {
    return this.#transport.call(OPERATIONS.listEntities, { query }, options);
  }

  listAllEntities(query: EntityListQuery = {}, options?: CallOptions): AsyncGenerator<Entity, void, undefined> {
    const read = async (asked: EntityListQuery, given: CallOptions) => {
      const { totalResults, entities } = await this.listEntities(asked, given);
      return { totalResults, items: entities };
    };
    return allPages(read, ({ entityId }) => entityId, query, options);
  }

  /** An entity and its first key, which is shown only this once. */
  createEntity(entity: NewEntity, options?: CallOptions): Promise<ProvisionedEntity> {
    return this.#transport.call(OPERATIONS.createEntity, { json: entity }, options);
  }

  listKeys(query: ApiKeyListQuery = {}, options?: CallOptions): Promise<ApiKeyList> {
    return this.#transport.call(OPERATIONS.listApiKeys, { query }, options);
  }

  listAllKeys(query: ApiKeyListQuery = {}, options?: CallOptions): AsyncGenerator<ApiKey, void, undefined> {
    const read = async (asked: ApiKeyListQuery, given: CallOptions) => {
      const { totalResults, keys } = await this.listKeys(asked, given);
      return { totalResults, items: keys };
    };
    return allPages(read, ({ keyId }) => keyId, query, options);
  }

  /** A key, which is shown only this once. */
  createKey(key: NewApiKey, options?: CallOptions): Promise<CreatedApiKey> {
    return this.#transport.call(OPERATIONS.createApiKey, { json: key }, options);
  }

  revokeKey(keyId: string, options?: CallOptions): Promise<ApiKey> {
    return this.#transport.call(OPERATIONS.revokeApiKey, { id: keyId }, options);
  }
}
