import { auditListQuerySchema, auditListSchema } from '../../contract/audit.ts';
import { listAudit } from '../../store/tenants/audit.ts';
import { cacheableJson, taggedAnswers } from '../http/responses.ts';
import { type Endpoint, endpoint } from '../operation.ts';

const list = endpoint({
  method: 'get',
  path: '/audit',
  operationId: 'listAudit',
  tag: 'Audit',
  summary: 'List changes',
  description: 'Who changed what of the entity, its keys, its secrets and its webhooks, and when.',
  permission: 'audit:read',
  query: auditListQuerySchema,
  answers: taggedAnswers(auditListSchema),
  handle: async ({ context, caller, request, query }) =>
    cacheableJson(request, await listAudit(context.db, caller.entityId, query)),
});

export const auditEndpoints: readonly Endpoint[] = [list];
