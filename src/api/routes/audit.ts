import { auditListQuerySchema, auditListSchema } from '../../contract/audit.ts';
import { listAudit } from '../../store/tenants/audit.ts';
import { cacheableJson, taggedResponses } from '../http/responses.ts';
import { type Operation, operation } from '../operation.ts';

const list = operation({
  method: 'get',
  path: '/audit',
  operationId: 'listAudit',
  tag: 'Audit',
  summary: 'List the audit log',
  description:
    'Lists the changes of the entity, its API keys, its secrets and its webhooks: who changed what, and when.',
  permission: 'audit:read',
  query: auditListQuerySchema,
  responses: taggedResponses(auditListSchema),
  handle: async ({ context, caller, request, query }) =>
    cacheableJson(request, await listAudit(context.db, caller.entityId, query)),
});

export const auditOperations: readonly Operation[] = [list];
