import { factDetailSchema, factListQuerySchema, factListSchema } from '../../../contract/chain/facts.ts';
import { listFacts, readFact } from '../../../store/chain/read/facts.ts';
import { found } from '../../http/found.ts';
import { cacheableJson, taggedResponses } from '../../http/responses.ts';
import { type Operation, operation } from '../../operation.ts';

const list = operation({
  method: 'get',
  path: '/facts',
  operationId: 'listFacts',
  tag: 'Chain',
  summary: 'List facts',
  description:
    'Lists the records of logs that sources took, by transaction, transfer, agreement or state. A fact stays the same ' +
    'fact when a reorg moves its transaction into another block.',
  permission: 'deliveries:read',
  query: factListQuerySchema,
  responses: taggedResponses(factListSchema),
  handle: async ({ context, caller, request, query }) =>
    cacheableJson(request, await listFacts(context.db, caller.entityId, query)),
});

const read = operation({
  method: 'get',
  path: '/facts/{factId}',
  operationId: 'readFact',
  tag: 'Chain',
  summary: 'Retrieve a fact',
  description: 'Returns the history of a fact: every state and block that it had, its events, and their deliveries.',
  permission: 'deliveries:read',
  responses: taggedResponses(factDetailSchema),
  problems: ['not_found'],
  handle: async ({ context, caller, request, id }) =>
    cacheableJson(request, found(await readFact(context.db, caller.entityId, id), 'fact')),
});

export const factOperations: readonly Operation[] = [list, read];
