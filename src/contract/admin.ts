import { z } from 'zod';
import { PERMISSIONS } from '../domain/api-keys.ts';
import { exactText, pagingFields } from './list-query.ts';

/** What the operator makes for others: entities and their keys. */

const requiredText = () =>
  z.string({ error: (issue) => (issue.input === undefined ? 'is required' : 'must be a string') });

const name = requiredText()
  .regex(/^\P{Cc}{1,200}$/u, { error: 'must be 1 to 200 characters without control characters' })
  // Said without a Unicode property, which many generators of clients do not know.
  .meta({ pattern: '^[^\\u0000-\\u001F\\u007F-\\u009F]+$', minLength: 1, maxLength: 200 });

const entityId = requiredText()
  .regex(/^[^\0]+$/, { error: 'must not be empty and must not contain a NUL' })
  .meta({ description: 'The entity that the key belongs to.' });

const exampleEntity = { entityId: 'ent_0199c2a6e0b17d3c8a54f1e2d3c4b5a6', name: 'Acme', dateCreated: 1763168400 };

const exampleKey = {
  keyId: 'key_0199c2a6e0b17d3c8a54f1e2d3c4b5a6',
  entityId: exampleEntity.entityId,
  name: 'Shop backend',
  prefix: 'pbk_',
  lastFour: 'a1B2',
  permissions: ['webhooks:read', 'webhooks:write'],
  dateCreated: 1763168400,
  dateExpires: null,
  dateRevoked: null,
  dateLastUsed: 1763254800,
};

/** The form of a key, and visibly none. */
const exampleSecret = `pbk_${'x'.repeat(36)}`;

const notAnObject = { error: 'the body must be a JSON object' };

export const entitySchema = z
  .strictObject({ entityId: z.string(), name: z.string(), dateCreated: z.int() })
  .meta({ id: 'Entity', example: exampleEntity });

export type Entity = z.output<typeof entitySchema>;

export const entityListSchema = z
  .strictObject({ totalResults: z.int().min(0), entities: z.array(entitySchema) })
  .meta({ id: 'EntityList', example: { totalResults: 1, entities: [exampleEntity] } });

export const entityListQuerySchema = z.strictObject({
  entityId: exactText({ description: 'Only the entity with this id.' }),
  name: exactText({ description: 'Only entities of exactly this name.' }),
  ...pagingFields(['dateCreated', 'name']),
});

export type EntityListQuery = z.output<typeof entityListQuerySchema>;

export const newEntitySchema = z
  .strictObject({ name }, notAnObject)
  .meta({ id: 'NewEntity', example: { name: 'Acme' } });

export const provisionedSchema = z
  .strictObject({ entityId: z.string(), apiKey: z.string().meta({ description: 'Shown only this once.' }) })
  .meta({ id: 'ProvisionedEntity', example: { entityId: exampleEntity.entityId, apiKey: exampleSecret } });

export const apiKeySchema = z
  .strictObject({
    keyId: z.string(),
    entityId: z.string(),
    name: z.string(),
    prefix: z.string(),
    lastFour: z.string(),
    permissions: z.array(z.enum(PERMISSIONS)),
    dateCreated: z.int(),
    dateExpires: z.int().nullable(),
    dateRevoked: z.int().nullable(),
    dateLastUsed: z.int().nullable().meta({ description: 'Coarse: to within a few minutes.' }),
  })
  .meta({ id: 'ApiKey', description: 'What may be shown of a key; never the key itself.', example: exampleKey });

export type ApiKey = z.output<typeof apiKeySchema>;

export const apiKeyListSchema = z
  .strictObject({ totalResults: z.int().min(0), keys: z.array(apiKeySchema) })
  .meta({ id: 'ApiKeyList', example: { totalResults: 1, keys: [exampleKey] } });

export const apiKeyListQuerySchema = z.strictObject({
  entityId: exactText({ description: 'Only keys of this entity.' }),
  keyId: exactText({ description: 'Only the key with this id.' }),
  ...pagingFields(['dateCreated', 'name']),
});

export type ApiKeyListQuery = z.output<typeof apiKeyListQuerySchema>;

const permissionRule = `must be one of ${PERMISSIONS.join(', ')}`;
const expiryRule = 'must be a Unix time in whole seconds, in the future';

export const newApiKeySchema = z
  .strictObject(
    {
      entityId,
      name: name.default('Key'),
      permissions: z
        .array(z.enum(PERMISSIONS, { error: permissionRule }), { error: 'must be an array of permissions' })
        .min(1, { error: 'must name at least one permission' })
        .max(PERMISSIONS.length * 2)
        .transform((names) => [...new Set(names)])
        .default([...PERMISSIONS])
        .meta({ type: 'array', items: { type: 'string', enum: [...PERMISSIONS] }, description: 'All when absent.' }),
      dateExpires: z
        .int({ error: expiryRule })
        .min(1, { error: expiryRule })
        .nullable()
        .default(null)
        .meta({ description: 'Unix seconds; null for never.' }),
    },
    notAnObject,
  )
  .meta({ id: 'NewApiKey', example: { entityId: exampleEntity.entityId, name: 'Shop backend' } });

export const createdApiKeySchema = z
  .strictObject({ keyId: z.string(), apiKey: z.string().meta({ description: 'Shown only this once.' }) })
  .meta({ id: 'CreatedApiKey', example: { keyId: exampleKey.keyId, apiKey: exampleSecret } });
