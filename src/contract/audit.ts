import { z } from 'zod';
import { exactText, oneOf, pagingFields, wholeNumber } from './list-query.ts';

/** Everything that leaves a row; a bulk change leaves one. */
export const AUDIT_ACTIONS = [
  'entity.created',
  'entity.updated',
  'key.created',
  'key.revoked',
  'secret.rotated',
  'secret.rekeyed',
  'webhooks.registered',
  'webhook.updated',
  'webhook.deleted',
  'webhooks.updated',
  'webhooks.deleted',
  'webhooks.imported',
  'webhook.suspended',
  'webhook.resumed',
] as const;

export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/** Who made a change when it was no api key. */
export const ACTORS = { commandLine: 'cli', operator: 'operator', paybell: 'paybell' } as const;

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
    auditId: z.string(),
    actor: z.string().meta({ description: 'The id of the key, `cli`, `operator` (ADMIN_KEY) or `paybell` itself.' }),
    action: z.string(),
    target: z.string().meta({ description: 'The id of what was changed.' }),
    before: fields.meta({ description: 'What it was, without secrets; null when it was not there.' }),
    after: fields.meta({ description: 'What it became, without secrets; null when it is gone.' }),
    dateCreated: z.int(),
  })
  .meta({
    id: 'AuditEntry',
    example: exampleEntry,
  });

export type AuditEntry = z.output<typeof auditEntrySchema>;

export const auditListSchema = z
  .strictObject({ totalResults: z.int().min(0), audit: z.array(auditEntrySchema) })
  .meta({ id: 'AuditList', example: { totalResults: 1, audit: [exampleEntry] } });

export const auditListQuerySchema = z.strictObject({
  actor: exactText({ description: 'Only changes by this key, or by `cli`, `operator` or `paybell`.' }),
  action: oneOf(AUDIT_ACTIONS, { description: 'Only changes of this kind.' }),
  target: exactText({ description: 'Only changes of what has this id.' }),
  since: wholeNumber(0, Number.MAX_SAFE_INTEGER, { description: 'Only from this Unix second on.' }),
  until: wholeNumber(0, Number.MAX_SAFE_INTEGER, { description: 'Only before this Unix second.' }),
  ...pagingFields(['dateCreated']),
});

export type AuditListQuery = z.output<typeof auditListQuerySchema>;
