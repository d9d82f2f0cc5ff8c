import { type InvoiceBatchResults, MAX_INVOICE_BYTES } from '../../../contract/chain/invoices.ts';
import { notFollowed } from '../../../contract/chain/network-problems.ts';
import { type NewInvoice, newInvoiceSchema } from '../../../contract/chain/new-invoice.ts';
import { parseBody } from '../../../contract/parse-input.ts';
import { invalidRequest, Problem } from '../../../contract/problems.ts';
import { type CreatedInvoice, createInvoices } from '../../../store/chain/invoices/create.ts';
import type { PreparedInvoice } from '../../../store/chain/invoices/new-invoices.ts';
import type { InvoiceTools } from '../../chain-tools.ts';
import { type ApiContext, nowS } from '../../context.ts';
import type { ConcurrencyLimit } from '../../http/concurrency-limit.ts';
import { asProblem } from '../../http/problem-response.ts';
import { decodeUtf8, parseJson } from '../../http/request-body.ts';

/** Turns the body of a request into invoices of the store. */

export type LineResult = InvoiceBatchResults['results'][number];

export function parseLine(line: Uint8Array): NewInvoice | Problem {
  try {
    if (line.length > MAX_INVOICE_BYTES) {
      throw new Problem('body_too_large', `An invoice must be at most ${MAX_INVOICE_BYTES} bytes.`);
    }
    const { value, hiddenErrors } = parseJson(decodeUtf8(line), []);
    const result = parseBody(newInvoiceSchema, value);
    if (!result.ok) throw invalidRequest(result.errors);
    if (hiddenErrors.length > 0) throw invalidRequest(hiddenErrors);
    return result.value;
  } catch (error) {
    return asProblem(error);
  }
}

/** If a failure concerns all invoices, it is the result of each invoice. */
export async function createOrReject(
  context: ApiContext,
  entityId: string,
  limit: ConcurrencyLimit,
  invoices: readonly NewInvoice[],
): Promise<readonly (CreatedInvoice | Error)[]> {
  try {
    return await createAll(context, entityId, limit, invoices);
  } catch (error) {
    const problem = asProblem(error);
    if (problem.status === 500) context.log.error({ err: error, entityId }, 'invoices of a batch failed');
    return invoices.map(() => problem);
  }
}

export function lineOf(result: CreatedInvoice | Error | undefined): LineResult {
  if (result === undefined || result instanceof Error) return rejectedLine(asProblem(result));
  const { invoiceId, fromBlock, isNew } = result;
  return { status: isNew ? 201 : 200, invoiceId, fromBlock, code: null, detail: null };
}

export function rejectedLine({ status, code, detail, extra }: Problem): LineResult {
  const errors = extra.errors?.map(({ name, message }) => `${name} ${message}`).join('; ');
  return { status, invoiceId: null, fromBlock: null, code, detail: errors ?? detail };
}

/** Creates invoices of one network. Returns each created invoice, or the problem with it. */
export async function createAll(
  context: ApiContext,
  entityId: string,
  limit: ConcurrencyLimit,
  invoices: readonly NewInvoice[],
): Promise<readonly (CreatedInvoice | Error)[]> {
  const { db, config } = context;
  const networkId = invoices[0]?.networkId ?? 0;
  const tools = toolsFor(context, networkId);
  const asking = <Value>(work: () => Promise<Value>) => limit.run(entityId, work);
  const { results, readings } = await tools.prepare(networkId, invoices, asking);
  const prepared = results.filter((result): result is PreparedInvoice => !(result instanceof Problem));
  if (prepared.length === 0) return results.filter((result) => result instanceof Problem);
  const wanted = {
    ...{ entityId, networkId, invoices: prepared, readings, nowS: nowS(context) },
    limits: {
      invoices: config.ENTITY_INVOICE_LIMIT,
      sources: config.ENTITY_SOURCE_LIMIT,
      book: { ofEntity: config.ENTITY_ADDRESS_LIMIT, ofNetwork: config.CHAIN_ADDRESS_LIMIT },
    },
  };
  const created =
    (await createInvoices(db, { ...wanted, head: null })) ??
    (await createInvoices(db, { ...wanted, head: await asking(() => tools.readHead(networkId)) }));
  const left = [...(created ?? [])];
  return results.map((result) =>
    result instanceof Problem ? result : (left.shift() ?? new Error('an invoice has no result')),
  );
}

export function toolsFor({ chain }: ApiContext, networkId: number): InvoiceTools {
  if (chain === null) throw notFollowed(networkId);
  return chain.invoicesOf(networkId);
}
