import { z } from 'zod';
import { exactText, oneOf, pagingFields, unixSeconds } from './list-query.ts';

/** Every kind of change that is recorded. A bulk change is one entry. */
export const AUDIT_ACTIONS = [
  'entity.created',
  'entity.updated',
  'entity.visited',
  'key.created',
  'key.revoked',
  'secret.rotated',
  'secret.imported',
  'secret.rekeyed',
  'signing_key.rotated',
  'webhooks.registered',
  'webhook.updated',
  'webhook.deleted',
  'webhooks.updated',
  'webhooks.deleted',
  'webhooks.imported',
  'webhook.suspended',
  'webhook.resumed',
  'endpoint.updated',
  'endpoint.secret_rotated',
  'source.created',
  'source.updated',
  'source.deleted',
  'source.addresses_changed',
  'invoice.cancelled',
] as const;

export type AuditAction = (typeof AUDIT_ACTIONS)[number];

const exampleEntry = {
  auditId: 'aud_0199c2a6e0b17d3c8a54f1e2d3c4b5a6',
  actor: 'key_0199c2a6e0b17d3c8a54f1e2d3c4b5a6',
  action: 'webhook.updated',
  target: 'wh_0199c2a6e0b17d3c8a54f1e2d3c4b5a6',
  before: { postUrl: 'https://example.com/old' },
  after: { postUrl: 'https://example.com/new' },
  dateCreated: 1763168400,
};

const fields = z.record(z.string(), z.unknown()).nullable();

export const auditEntrySchema = z
  .strictObject({
    auditId: z.string().meta({ description: 'Unique identifier of the entry.' }),
    actor: z.string().meta({
      description:
        'Who made the change: the id of an API key, `cli`, `operator` (ADMIN_KEY), `operator:<name>` (one of ADMIN_KEYS) or `paybell` itself.',
    }),
    action: z.string().meta({ description: 'The kind of change, such as `webhook.updated`.' }),
    target: z.string().meta({ description: 'The id of the changed object.' }),
    before: fields.meta({
      description: 'The changed fields before the change, without secrets; null if it was created.',
    }),
    after: fields.meta({
      description: 'The changed fields after the change, without secrets; null if it was deleted.',
    }),
    dateCreated: z.int().meta({ description: 'Time of the change, in Unix seconds.' }),
  })
  .meta({ id: 'AuditEntry', description: 'One recorded change of an entity.', example: exampleEntry });

export type AuditEntry = z.output<typeof auditEntrySchema>;

export const auditListSchema = z
  .strictObject({ totalResults: z.int().min(0), audit: z.array(auditEntrySchema) })
  .meta({ id: 'AuditList', example: { totalResults: 1, audit: [exampleEntry] } });

export const auditListQuerySchema = z.strictObject({
  actor: exactText({
    description: 'Only changes by this actor: the id of an API key, `cli`, `operator` or `paybell`.',
  }),
  action: oneOf(AUDIT_ACTIONS, { description: 'Only changes of this kind.' }),
  target: exactText({ description: 'Only changes of the object with this id.' }),
  since: unixSeconds({
    description: 'Only changes at or after this time, in Unix seconds.',
  }),
  until: unixSeconds({ description: 'Only changes before this time, in Unix seconds.' }),
  ...pagingFields(['dateCreated']),
});

export type AuditListQuery = z.output<typeof auditListQuerySchema>;
