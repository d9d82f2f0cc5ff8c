import { z } from 'zod';
import { PERMISSIONS } from '../domain/keys/api-keys.ts';
import { exactText, pagingFields } from './list-query.ts';

/** Entities and their API keys, which the operator manages. */

const requiredText = () =>
  z.string({ error: (issue) => (issue.input === undefined ? 'is required' : 'must be a string') });

const name = requiredText()
  .regex(/^\P{Cc}{1,200}$/u, { error: 'must be 1 to 200 characters without control characters' })
  // Without a Unicode property escape, which many client generators do not support.
  .meta({ pattern: '^[^\\u0000-\\u001F\\u007F-\\u009F]+$', minLength: 1, maxLength: 200 });

const entityId = requiredText()
  .regex(/^[^\0]+$/, { error: 'must not be empty and must not contain a NUL character' })
  .meta({ description: 'Entity that the key belongs to.' });

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

/** In the format of a key, but obviously not a real one. */
const exampleSecret = `pbk_${'x'.repeat(36)}`;

const notAnObject = { error: 'the body must be a JSON object' };

export const entitySchema = z
  .strictObject({
    entityId: z.string().meta({ description: 'Unique identifier of the entity.' }),
    name: z.string().meta({ description: 'Name of the entity, for people.' }),
    dateCreated: z.int().meta({ description: 'Creation time, in Unix seconds.' }),
  })
  .meta({
    id: 'Entity',
    description: 'A tenant: the owner of webhooks, events, deliveries, secrets and API keys.',
    example: exampleEntity,
  });

export type Entity = z.output<typeof entitySchema>;

export const entityListSchema = z
  .strictObject({ totalResults: z.int().min(0), entities: z.array(entitySchema) })
  .meta({ id: 'EntityList', example: { totalResults: 1, entities: [exampleEntity] } });

export const entityListQuerySchema = z.strictObject({
  entityId: exactText({ description: 'Only the entity with this id.' }),
  name: exactText({ description: 'Only entities with exactly this name.' }),
  ...pagingFields(['dateCreated', 'name']),
});

export type EntityListQuery = z.output<typeof entityListQuerySchema>;

export const newEntitySchema = z
  .strictObject({ name }, notAnObject)
  .meta({ id: 'NewEntity', example: { name: 'Acme' } });

export const visitSchema = z
  .strictObject({
    entityId: z.string().meta({ description: 'Unique identifier of the entity.' }),
    name: z.string().meta({ description: 'Name of the entity, for people.' }),
    permissions: z.array(z.enum(PERMISSIONS)).meta({ description: "Permissions that the operator's key has there." }),
  })
  .meta({
    id: 'EntityVisit',
    example: { entityId: exampleEntity.entityId, name: exampleEntity.name, permissions: ['deliveries:read'] },
  });

export type EntityVisit = z.output<typeof visitSchema>;

export const provisionedSchema = z
  .strictObject({
    entityId: z.string(),
    apiKey: z.string().meta({ description: 'The key itself. It cannot be read again.' }),
  })
  .meta({ id: 'ProvisionedEntity', example: { entityId: exampleEntity.entityId, apiKey: exampleSecret } });

export const apiKeySchema = z
  .strictObject({
    keyId: z.string().meta({ description: 'Unique identifier of the key.' }),
    entityId: z.string().meta({ description: 'Entity that the key belongs to.' }),
    name: z.string().meta({ description: 'Name of the key, for people.' }),
    prefix: z.string().meta({ description: 'The first characters of the key, which all keys share.' }),
    lastFour: z.string().meta({ description: 'The last four characters of the key.' }),
    permissions: z.array(z.enum(PERMISSIONS)).meta({ description: 'Permissions of the key.' }),
    dateCreated: z.int().meta({ description: 'Creation time, in Unix seconds.' }),
    dateExpires: z.int().nullable().meta({ description: 'When the key expires, in Unix seconds; null for never.' }),
    dateRevoked: z
      .int()
      .nullable()
      .meta({ description: 'When the key was revoked, in Unix seconds; null if it was not.' }),
    dateLastUsed: z.int().nullable().meta({
      description: 'When the key was last used, in Unix seconds, accurate to a few minutes; null if it never was.',
    }),
  })
  .meta({ id: 'ApiKey', description: 'An API key of an entity, without the key itself.', example: exampleKey });

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
const expiryRule = 'must be a Unix time in whole seconds in the future';
/** The end of the year 9999: what is later was given in milliseconds, and dates of five digits cannot be written. */
const LAST_EXPIRY_S = 253_402_300_799;

export const newApiKeySchema = z
  .strictObject(
    {
      entityId,
      name: name.default('Key'),
      permissions: z
        .array(z.enum(PERMISSIONS, { error: permissionRule }), { error: 'must be an array of permissions' })
        .min(1, { error: 'must contain at least one permission' })
        .max(PERMISSIONS.length * 2)
        .transform((names) => [...new Set(names)])
        .default([...PERMISSIONS])
        .meta({
          type: 'array',
          items: { type: 'string', enum: [...PERMISSIONS] },
          description: 'Permissions of the key. Defaults to all permissions.',
        }),
      dateExpires: z
        .int({ error: expiryRule })
        .min(1, { error: expiryRule })
        .refine((dateS) => dateS <= LAST_EXPIRY_S, { error: `${expiryRule}, before the year 10000` })
        .nullable()
        .default(null)
        .meta({ description: 'When the key expires, in Unix seconds. Null, the default, means never.' }),
    },
    notAnObject,
  )
  .meta({ id: 'NewApiKey', example: { entityId: exampleEntity.entityId, name: 'Shop backend' } });

export const createdApiKeySchema = z
  .strictObject({
    keyId: z.string(),
    apiKey: z.string().meta({ description: 'The key itself. It cannot be read again.' }),
  })
  .meta({ id: 'CreatedApiKey', example: { keyId: exampleKey.keyId, apiKey: exampleSecret } });
