import { auditListQuerySchema, auditListSchema } from '../../contract/audit.ts';
import { listAudit } from '../../store/tenants/audit.ts';
import { cacheableJson, taggedResponses } from '../http/responses.ts';
import { type Operation, operation } from '../operation.ts';

const list = operation({
  method: 'get',
  path: '/audit',
  operationId: 'listAudit',
  tag: 'Audit',
  summary: 'List changes',
  description: 'Who changed what of the entity, its keys, its secrets and its webhooks, and when.',
  permission: 'audit:read',
  query: auditListQuerySchema,
  responses: taggedResponses(auditListSchema),
  handle: async ({ context, caller, request, query }) =>
    cacheableJson(request, await listAudit(context.db, caller.entityId, query)),
});

export const auditOperations: readonly Operation[] = [list];
