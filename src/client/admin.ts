import type { z } from 'zod';
import type {
  apiKeyListQuerySchema,
  apiKeyListSchema,
  apiKeySchema,
  createdApiKeySchema,
  entityListQuerySchema,
  entityListSchema,
  entitySchema,
  newApiKeySchema,
  newEntitySchema,
  provisionedSchema,
  visitSchema,
} from '../contract/admin.ts';
import type { attentionListSchema, attentionQuerySchema, entityAttentionSchema } from '../contract/attention.ts';
import { allPages } from './pages.ts';
import type { Query } from './schema-types.ts';
import type { CallOptions, Transport } from './transport.ts';

export type Entity = z.output<typeof entitySchema>;
export type EntityList = z.output<typeof entityListSchema>;
export type EntityListQuery = Query<typeof entityListQuerySchema>;
export type NewEntity = z.input<typeof newEntitySchema>;
export type EntityVisit = z.output<typeof visitSchema>;
export type ProvisionedEntity = z.output<typeof provisionedSchema>;
export type ApiKey = z.output<typeof apiKeySchema>;
export type ApiKeyList = z.output<typeof apiKeyListSchema>;
export type ApiKeyListQuery = Query<typeof apiKeyListQuerySchema>;
export type NewApiKey = z.input<typeof newApiKeySchema>;
export type EntityAttention = z.output<typeof entityAttentionSchema>;
export type AttentionList = z.output<typeof attentionListSchema>;
export type AttentionQuery = Query<typeof attentionQuerySchema>;
export type CreatedApiKey = z.output<typeof createdApiKeySchema>;

/**
 * Operations that need the operator's key. `createEntity` and `createKey` are not repeated after a lost response: list
 * first, to see whether the entity or key exists.
 */
export class Admin {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  listEntities(query: EntityListQuery = {}, options?: CallOptions): Promise<EntityList> {
    return this.#transport.call({ method: 'GET', path: '/entities', isAdmin: true, query }, options);
  }

  /** Entities with the worst first. A later page may repeat or skip an entity whose troubles have changed. */
  listAttention(query: AttentionQuery = {}, options?: CallOptions): Promise<AttentionList> {
    return this.#transport.call({ method: 'GET', path: '/attention', isAdmin: true, query }, options);
  }

  listAllEntities(query: EntityListQuery = {}, options?: CallOptions): AsyncGenerator<Entity, void, undefined> {
    return allPages((page, each) => this.listEntities(page, each), 'entities', 'entityId', query, options);
  }

  /** Creates an entity and its first key, which is returned only this once. */
  createEntity(entity: NewEntity, options?: CallOptions): Promise<ProvisionedEntity> {
    return this.#transport.call(
      { method: 'POST', path: '/entities', isAdmin: true, json: entity, isIdempotent: false },
      options,
    );
  }

  /** Records in the audit log of the entity that the operator opens it. */
  visitEntity(entityId: string, options?: CallOptions): Promise<EntityVisit> {
    const path = '/entities/{entityId}/visits';
    return this.#transport.call({ method: 'POST', path, isAdmin: true, id: entityId }, options);
  }

  listKeys(query: ApiKeyListQuery = {}, options?: CallOptions): Promise<ApiKeyList> {
    return this.#transport.call({ method: 'GET', path: '/keys', isAdmin: true, query }, options);
  }

  listAllKeys(query: ApiKeyListQuery = {}, options?: CallOptions): AsyncGenerator<ApiKey, void, undefined> {
    return allPages((page, each) => this.listKeys(page, each), 'keys', 'keyId', query, options);
  }

  /** Creates a key, which is returned only this once. */
  createKey(key: NewApiKey, options?: CallOptions): Promise<CreatedApiKey> {
    return this.#transport.call(
      { method: 'POST', path: '/keys', isAdmin: true, json: key, isIdempotent: false },
      options,
    );
  }

  revokeKey(keyId: string, options?: CallOptions): Promise<ApiKey> {
    return this.#transport.call({ method: 'DELETE', path: '/keys/{keyId}', isAdmin: true, id: keyId }, options);
  }
}
