import {
  invoiceBatchResultsSchema,
  invoiceDetailSchema,
  invoiceListQuerySchema,
  invoiceListSchema,
  MAX_BATCH_INVOICE_BYTES,
  MAX_BATCH_INVOICES,
} from '../../../contract/chain/invoices.ts';
import { newInvoiceSchema } from '../../../contract/chain/new-invoice.ts';
import { Problem } from '../../../contract/problems.ts';
import { cancelInvoice } from '../../../store/chain/invoices/cancel.ts';
import { beginCheck, noteBalance } from '../../../store/chain/invoices/check.ts';
import { listInvoices } from '../../../store/chain/invoices/list.ts';
import { readInvoice } from '../../../store/chain/invoices/view.ts';
import { type ApiContext, changeBy } from '../../context.ts';
import { ConcurrencyLimit } from '../../http/concurrency-limit.ts';
import { found, missing } from '../../http/found.ts';
import { splitLines } from '../../http/ndjson.ts';
import { cacheableJson, json, taggedResponses } from '../../http/responses.ts';
import { type Operation, operation } from '../../operation.ts';
import {
  createAll,
  createOrReject,
  type LineResult,
  lineOf,
  parseLine,
  rejectedLine,
  toolsFor,
} from './new-invoices.ts';

/** Nodes answer few calls a second, and the followers of networks need most of them. */
const MAX_AT_ONCE = 2;

export function invoiceOperations(): Operation[] {
  const limit = new ConcurrencyLimit('requests that ask a network', MAX_AT_ONCE);
  return [create(limit), createBatch(limit), list, read, cancel, check(limit)];
}

const CREATE_PROBLEMS = [
  'invoice_limit',
  'invoice_conflict',
  'address_in_use',
  'amount_in_use',
  'address_limit',
  'source_limit',
  'token_unknown',
  'network_not_followed',
  'network_unavailable',
  'storage_full',
] as const;

function create(limit: ConcurrencyLimit): Operation {
  return operation({
    method: 'post',
    path: '/invoices',
    operationId: 'createInvoice',
    tag: 'Invoices',
    summary: 'Create an invoice',
    description:
      'Expects a payment to an address. Payments count from `fromBlock` on, which is the block after the newest one that ' +
      'Paybell has read, without a gap. The state follows from the payments alone. Each address ' +
      'has at most one open invoice in a token; with `match` "exact", one for each amount. An invoice that is paid for good ' +
      'leaves its address to the next one. The same `reference` with the same terms returns the invoice that exists.',
    permission: 'invoices:write',
    body: newInvoiceSchema,
    responses: {
      201: { description: 'Created', schema: invoiceDetailSchema },
      200: { description: 'An invoice with this reference and these terms exists', schema: invoiceDetailSchema },
    },
    problems: CREATE_PROBLEMS,
    handle: async ({ context, caller: { entityId }, body }) => {
      await context.usage.requireRoom(entityId);
      const [result] = await createAll(context, entityId, limit, [body]);
      if (result === undefined || result instanceof Error) throw result ?? new Error('an invoice has no result');
      return json(result.isNew ? 201 : 200, await shown(context, entityId, result.invoiceId));
    },
  });
}

function createBatch(limit: ConcurrencyLimit): Operation {
  return operation({
    method: 'post',
    path: '/invoices/batch',
    operationId: 'createInvoices',
    tag: 'Invoices',
    summary: 'Create a batch of invoices',
    description:
      `Creates up to ${MAX_BATCH_INVOICES} invoices in NDJSON, one per line, with at most ${MAX_BATCH_INVOICE_BYTES} bytes. ` +
      'Each line has its own result. The invoices of one network are created in one transaction, so that a limit on ' +
      'addresses rejects all of them.',
    permission: 'invoices:write',
    limited: 'batch',
    rawBody: { contentType: 'application/x-ndjson', maxBytes: MAX_BATCH_INVOICE_BYTES, schema: newInvoiceSchema },
    responses: { 200: { description: 'One result for each line', schema: invoiceBatchResultsSchema } },
    handle: async ({ context, caller: { entityId }, bytes }) => {
      const lines = splitLines(bytes, MAX_BATCH_INVOICES + 1);
      if (lines.length > MAX_BATCH_INVOICES) {
        const detail = `A batch can have at most ${MAX_BATCH_INVOICES} invoices. Split it into several.`;
        throw new Problem('body_too_large', detail);
      }
      await context.usage.requireRoom(entityId);
      const parsed = lines.map(parseLine);
      const results = new Map<number, LineResult>();
      const byNetwork = Map.groupBy(
        parsed.flatMap((one, at) => (one instanceof Problem ? [] : { invoice: one, at })),
        ({ invoice }) => invoice.networkId,
      );
      for (const [at, one] of parsed.entries()) if (one instanceof Problem) results.set(at, rejectedLine(one));
      for (const some of byNetwork.values()) {
        const invoices = some.map(({ invoice }) => invoice);
        const created = await createOrReject(context, entityId, limit, invoices);
        for (const [index, { at }] of some.entries()) results.set(at, lineOf(created[index]));
      }
      return json(200, { results: lines.map((_, at) => results.get(at)) });
    },
  });
}

async function shown({ db }: ApiContext, entityId: string, invoiceId: string) {
  return found(await readInvoice(db, entityId, invoiceId), 'invoice');
}

const list = operation({
  method: 'get',
  path: '/invoices',
  operationId: 'listInvoices',
  tag: 'Invoices',
  summary: 'List invoices',
  permission: 'payments:read',
  query: invoiceListQuerySchema,
  responses: taggedResponses(invoiceListSchema),
  handle: async ({ context, caller, request, query }) =>
    cacheableJson(request, await listInvoices(context.db, caller.entityId, query)),
});

const read = operation({
  method: 'get',
  path: '/invoices/{invoiceId}',
  operationId: 'readInvoice',
  tag: 'Invoices',
  summary: 'Retrieve an invoice',
  permission: 'payments:read',
  responses: taggedResponses(invoiceDetailSchema),
  problems: ['not_found'],
  handle: async ({ context, caller, request, id }) => cacheableJson(request, await shown(context, caller.entityId, id)),
});

const cancel = operation({
  method: 'post',
  path: '/invoices/{invoiceId}/cancel',
  operationId: 'cancelInvoice',
  tag: 'Invoices',
  summary: 'Cancel an invoice',
  description:
    'Ends an invoice that is not paid. Payments that Paybell reads from then on have no invoice. The address may be used ' +
    'again at once. A cancelled invoice stays cancelled, so that the request can be repeated.',
  permission: 'invoices:write',
  responses: { 200: { description: 'Ok', schema: invoiceDetailSchema } },
  problems: ['not_found', 'invoice_paid'],
  handle: async ({ context, caller, id }) => {
    if (!(await cancelInvoice(context.db, caller.entityId, id, changeBy(context, caller)))) throw missing('invoice');
    return json(200, await shown(context, caller.entityId, id));
  },
});

function check(limit: ConcurrencyLimit): Operation {
  return operation({
    method: 'post',
    path: '/invoices/{invoiceId}/check',
    operationId: 'checkInvoice',
    tag: 'Invoices',
    summary: 'Check the balance of an invoice',
    description:
      'Asks a node for the balance of the address now, at most once in 10 seconds. `unexplainedBalance` is the part that no ' +
      'payment of the invoice explains: a payment that Paybell has not read yet, one from before the invoice, or a transfer ' +
      'that leaves no log. It makes no event and changes no state.',
    permission: 'invoices:write',
    responses: { 200: { description: 'Ok', schema: invoiceDetailSchema } },
    problems: ['not_found', 'network_not_followed', 'network_unavailable'],
    handle: async ({ context, caller: { entityId }, id }) => {
      const { db } = context;
      const { networkId } = await shown(context, entityId, id);
      const tools = toolsFor(context, networkId);
      const row = await beginCheck(db, entityId, id);
      if (row !== null) {
        const balance = await limit.run(entityId, () => tools.readBalance(networkId, row.token, row.address));
        if (balance !== null) await noteBalance(db, row, balance);
      }
      return json(200, await shown(context, entityId, id));
    },
  });
}
