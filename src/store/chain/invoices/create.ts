import type { NewAddress } from '../../../contract/chain/addresses.ts';
import { foldInvoice } from '../../../domain/chain/invoices/invoice-state.ts';
import type { DomainError } from '../../../domain/errors.ts';
import type { Database, Dialect, Queries } from '../../database/database.ts';
import { chunks, type RowOf } from '../../database/sql.ts';
import { newId } from '../../new-id.ts';
import { addToBook, type BookLimits } from '../addresses/change-book.ts';
import { lockNetwork } from '../addresses/lock-network.ts';
import { readSymbols } from '../publish/facts.ts';
import { Outbox } from '../publish/outbox.ts';
import { invoiceTable, networkTable } from '../tables.ts';
import { bookOfToken, type TokenReading } from './book.ts';
import { isEventWanted } from './is-event-wanted.ts';
import { type Decision, decide, type PreparedInvoice } from './new-invoices.ts';
import { invoiceMember, invoicePayload, invoiceSubject } from './payload.ts';
import { type InvoiceRow, termsOf } from './rows.ts';

/**
 * Creates the invoices of one network in one transaction. Their addresses enter the book of their token, and count from the
 * block after the newest one that Paybell has read (`addresses/unread.ts`). The same transaction leaves their
 * `TransferCreated` to the publisher of the network, so that it comes before every event of a payment.
 */

export type NewInvoices = {
  readonly entityId: string;
  readonly networkId: number;
  readonly invoices: readonly PreparedInvoice[];
  /** How each token is read, by its stored address. */
  readonly readings: ReadonlyMap<string, TokenReading>;
  /** The newest block of a node; null if none was asked. Needed until Paybell has read the network. */
  readonly head: number | null;
  readonly limits: { readonly invoices: number; readonly sources: number; readonly book: BookLimits };
  readonly nowS: number;
};

export type CreatedInvoice = { readonly invoiceId: string; readonly fromBlock: number; readonly isNew: boolean };

const networkColumns = networkTable.pick(['head', 'tipNumber', 'addressRevision', 'addressCount', 'nextNo']);
type Network = RowOf<typeof networkColumns>;

const NEW_INVOICE = invoiceTable.bulkInsertion(
  invoiceTable.namesBut(
    'untilBlock',
    'passedBlock',
    'lateBlock',
    'balanceDue',
    'unexplained',
    'checkedAtMs',
    'dateCancelled',
  ),
);

/** Returns a result for each invoice; null if the network was not read yet and `head` is not known. */
export function createInvoices(db: Database, wanted: NewInvoices): Promise<(CreatedInvoice | DomainError)[] | null> {
  const { entityId, networkId, invoices, head, limits, nowS } = wanted;
  return db.transaction(async (queries) => {
    const network = await lockNetwork(queries, db.dialect, networkId, entityId, networkColumns);
    const tip = network?.tipNumber ?? head;
    if (network === undefined || tip === null) return null;
    const request = { entityId, networkId, invoices, limit: limits.invoices, nowS };
    const decisions = await decide(queries, { ...request, newInvoiceId: () => newId('inv') });
    await leaveAddresses(queries, decisions, tip);
    const accepted = invoices.flatMap((invoice, at) => {
      const decision = decisions[at];
      return decision?.kind === 'new' ? { invoice, decision } : [];
    });
    if (accepted.length > 0) await insert(queries, db.dialect, wanted, network, tip, accepted);
    return decisions.map((decision): CreatedInvoice | DomainError => {
      if (decision.kind === 'rejected') return decision.error;
      const isNew = decision.kind === 'new';
      // An equal invoice of the same request has no block yet.
      const fromBlock = isNew || decision.fromBlock < 0 ? tip + 1 : decision.fromBlock;
      return { invoiceId: decision.invoiceId, fromBlock, isNew };
    });
  });
}

/** Ends the watch of replaced invoices. An invoice that is permanently paid leaves its address to the next invoice. */
async function leaveAddresses(queries: Queries, decisions: readonly Decision[], tip: number): Promise<void> {
  for (const decision of decisions) {
    for (const { entityId, invoiceId } of decision.kind === 'new' ? decision.replaced : []) {
      const sql = 'update invoices set until_block = $3 where entity_id = $1 and id = $2';
      await queries.run(sql, [entityId, invoiceId, tip]);
    }
  }
}

type Accepted = {
  readonly invoice: PreparedInvoice;
  readonly decision: Extract<Decision, { kind: 'new' }>;
};

async function insert(
  queries: Queries,
  dialect: Dialect,
  wanted: NewInvoices,
  network: Network,
  tip: number,
  accepted: readonly Accepted[],
): Promise<void> {
  const { entityId, readings, limits, nowS } = wanted;
  const rows: NewRow[] = [];
  let current = network;
  for (const [token, some] of Map.groupBy(accepted, ({ invoice }) => invoice.token)) {
    const reading = readings.get(token);
    if (reading === undefined) throw new Error(`nothing says how ${token} is read`);
    const source = await bookOfToken(queries, { entityId, reading, tip, limit: limits.sources, nowS });
    const addresses = [...new Set(some.map(({ invoice }) => invoice.address))].map(
      (address): NewAddress => ({ address }),
    );
    const book = { source, network: { ...current, tipNumber: tip } };
    const { revision, result } = await addToBook(queries, dialect, book, addresses, { limits: limits.book, nowS });
    if (result.added > 0) {
      current = { ...current, addressRevision: revision, addressCount: current.addressCount + result.added };
    }
    const place = { sourceId: source.sourceId, fromBlock: tip + 1, bookRevision: revision };
    rows.push(...some.map((one) => newRow(wanted, one, place)));
  }
  const isWanted = await isEventWanted(queries, dialect, {
    entityId,
    networkId: wanted.networkId,
    event: 'TransferCreated',
  });
  const versions = isWanted ? '{"seen":1}' : '{}';
  for (const chunk of chunks(rows)) {
    const inserted = chunk.map((row) => ({ ...row, versions }));
    await queries.send(NEW_INVOICE.text(dialect, chunk.length), NEW_INVOICE.parameters(dialect, inserted));
  }
  if (isWanted) await publishCreated(queries, wanted, network.nextNo, rows);
}

type NewRow = ReturnType<typeof newRow>;

function newRow(
  { entityId, networkId, nowS }: NewInvoices,
  { invoice, decision: { invoiceId, hash } }: Accepted,
  place: { readonly sourceId: string; readonly fromBlock: number; readonly bookRevision: number },
) {
  const { terms, base, token, address, shownToken, shownAddress, decimals } = invoice;
  const { match, amount, dateExpires, watchDays, agreementId = null, transferId, reference = null, metadata } = terms;
  return {
    ...{ entityId, invoiceId, networkId, token, address, shownToken, shownAddress, match, amount, decimals, hash },
    ...place,
    base: base.toString(),
    tolerance: Math.round(terms.tolerancePercent * 100),
    ...{ dateExpires, watchDays, dateWatchedUntil: dateExpires + watchDays * 86_400 },
    ...{ agreementId, transferId: transferId ?? invoiceId, reference },
    metadata: metadata === undefined ? null : JSON.stringify(metadata),
    dateCreated: nowS,
  };
}

async function publishCreated(
  queries: Queries,
  { networkId, nowS }: NewInvoices,
  nextNo: number,
  rows: readonly NewRow[],
): Promise<void> {
  const symbols = await readSymbols(queries, networkId, rows);
  const outbox = new Outbox(networkId, nextNo);
  for (const row of rows) {
    const invoice: NewRow & Pick<InvoiceRow, 'passedBlock' | 'dateCancelled'> = {
      ...row,
      passedBlock: null,
      dateCancelled: null,
    };
    const folded = foldInvoice(termsOf(invoice), { isCancelled: false, passedBlock: null }, []);
    const member = invoiceMember(invoice, folded, 1);
    const symbol = symbols.get(row.token) ?? null;
    const payload = invoicePayload(invoice, 'TransferCreated', { nowMs: nowS * 1_000, symbol, member });
    outbox.add({ fact: invoiceSubject(row), event: 'TransferCreated', finality: 'seen', payload });
  }
  await outbox.write(queries);
  await queries.run('update chains set next_no = $2 where network_id = $1', [networkId, outbox.nextNo]);
}
