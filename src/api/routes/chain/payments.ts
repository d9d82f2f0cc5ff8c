import { paymentDetailSchema, paymentListQuerySchema, paymentListSchema } from '../../../contract/chain/payments.ts';
import { readPayment } from '../../../store/chain/payments/detail.ts';
import { listPayments } from '../../../store/chain/payments/list.ts';
import { found } from '../../http/found.ts';
import { cacheableJson, taggedResponses } from '../../http/responses.ts';
import { type Operation, operation } from '../../operation.ts';

const list = operation({
  method: 'get',
  path: '/payments',
  operationId: 'listPayments',
  tag: 'Chain',
  summary: 'List payments',
  description:
    'Finds payments by transaction, account, token, amount, agreement, transfer or state. A payment keeps its id when a ' +
    'reorg moves its transaction into another block.',
  permission: 'payments:read',
  query: paymentListQuerySchema,
  responses: taggedResponses(paymentListSchema),
  handle: async ({ context, caller, request, query }) =>
    cacheableJson(request, await listPayments(context.db, caller.entityId, query)),
});

const read = operation({
  method: 'get',
  path: '/payments/{paymentId}',
  operationId: 'readPayment',
  tag: 'Chain',
  summary: 'Retrieve a payment',
  description:
    'Returns a payment with its timeline and its events, and says for each webhook what it has got and why. The id of ' +
    'the fact (`fct_…`) is accepted too.',
  permission: 'payments:read',
  responses: taggedResponses(paymentDetailSchema),
  problems: ['not_found'],
  handle: async ({ context, caller, request, id }) =>
    cacheableJson(request, found(await readPayment(context.db, caller.entityId, id), 'payment')),
});

export const paymentOperations: readonly Operation[] = [list, read];
