import { z } from 'zod';
import { apiKeyListQuerySchema, newApiKeySchema } from '../admin.ts';
import { oneOfOr } from '../list-query.ts';

/** The API keys of the caller's entity. The operator manages the keys of all entities (`../admin.ts`). */

export const ownKeyListQuerySchema = apiKeyListQuerySchema.omit({ entityId: true });

const { name, permissions, dateExpires } = newApiKeySchema.shape;

export const newOwnKeySchema = z
  .strictObject(
    {
      name,
      // Without a default: who makes a key for a program says what that program needs.
      permissions: permissions.unwrap().meta({
        ...permissions.meta(),
        description: 'Permissions of the key. Only permissions that the key of the caller has.',
      }),
      dateExpires: dateExpires.unwrap().optional().meta({
        description:
          'When the key expires, in Unix seconds; null for never. No later than the key of the caller, whose expiry is the default.',
      }),
    },
    { error: 'the body must be a JSON object' },
  )
  .meta({
    id: 'NewOwnKey',
    example: { name: 'Support desk', permissions: ['deliveries:read', 'deliveries:write'] },
  });

export const revokeOwnKeyQuerySchema = z.strictObject({
  self: oneOfOr('false', ['true', 'false'], { description: '`true` allows the key to revoke itself.' }),
  last: oneOfOr('false', ['true', 'false'], {
    description: '`true` allows the last key to be revoked, or the last one with the permission `keys:write`.',
  }),
});
