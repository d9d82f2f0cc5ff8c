import { z } from 'zod';
import { PERMISSIONS } from '../../domain/keys/api-keys.ts';

/** Facts about the key itself, for its holder. */
export const callerSchema = z
  .strictObject({
    entityId: z.string().meta({ description: 'Unique identifier of the entity.' }),
    name: z.string().meta({ description: 'Name of the entity, for people.' }),
    keyId: z.string().meta({
      description:
        'The id of the key that was sent; `operator` for ADMIN_KEY, and `operator:<name>` for one of ADMIN_KEYS.',
    }),
    permissions: z.array(z.enum(PERMISSIONS)).meta({ description: 'Permissions of the key.' }),
    dateExpires: z.int().nullable().meta({ description: 'When the key expires, in Unix seconds; null for never.' }),
  })
  .meta({
    id: 'Caller',
    description: 'The entity and the key of the caller.',
    example: {
      entityId: 'ent_0199c2a6e0b17d3c8a54f1e2d3c4b5a6',
      name: 'Acme',
      keyId: 'key_0199c2a6e0b17d3c8a54f1e2d3c4b5a6',
      permissions: ['webhooks:read', 'webhooks:write'],
      dateExpires: null,
    },
  });
