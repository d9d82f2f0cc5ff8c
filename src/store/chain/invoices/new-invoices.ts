import type { NewInvoice } from '../../../contract/chain/new-invoice.ts';
import { foldInvoice, type InvoiceMatch } from '../../../domain/chain/invoices/invoice-state.ts';
import { DomainError } from '../../../domain/errors.ts';
import type { Queries } from '../../database/database.ts';
import { type RowOf, readInteger } from '../../database/sql.ts';
import { invoiceTable } from '../tables.ts';
import {
  fateOf,
  type InvoiceRow,
  invoiceColumns,
  keyOfInvoice,
  paymentOf,
  readFactsOfInvoices,
  termsOf,
} from './rows.ts';

/** Decides which invoices of a request are created. */

/** An invoice that was checked against its network and its token. */
export type PreparedInvoice = {
  readonly terms: NewInvoice;
  /** In lower case; `shownToken` and `shownAddress` are as the API shows them. */
  readonly token: string;
  readonly address: string;
  readonly shownToken: string;
  readonly shownAddress: string;
  readonly decimals: number;
  readonly base: bigint;
};

const MIN_SECONDS = 60;
const MAX_SECONDS = 366 * 86_400;

/** Equal for requests with the same terms, however they were written. */
function termsHash({ terms, token, address, base }: PreparedInvoice): string {
  const { networkId, tolerancePercent, match, dateExpires, watchDays, metadata = {} } = terms;
  const { agreementId = null, transferId = null } = terms;
  const texts = Object.entries(metadata).sort(([a], [b]) => (a < b ? -1 : 1));
  const parts = [networkId, token, address, base.toString(), tolerancePercent, match, dateExpires, watchDays];
  return Bun.SHA256.hash(JSON.stringify([...parts, agreementId, transferId, texts]), 'hex');
}

const knownColumns = invoiceTable.pick(['invoiceId', 'reference', 'hash', 'fromBlock']);
type Known = Pick<RowOf<typeof knownColumns>, 'invoiceId' | 'hash' | 'fromBlock'>;

/** An invoice that uses an address: an open invoice of the database, or an earlier invoice of the request. */
type Occupant = {
  readonly invoiceId: string;
  readonly match: InvoiceMatch;
  readonly base: string;
  /** Absent for an invoice of the same request. */
  readonly row?: InvoiceRow;
};

export type Decision =
  | { readonly kind: 'exists'; readonly invoiceId: string; readonly fromBlock: number }
  /** The invoices in `replaced` have final payments that pay them, and leave the address to the new invoice. */
  | {
      readonly kind: 'new';
      readonly invoiceId: string;
      readonly hash: string;
      readonly replaced: readonly InvoiceRow[];
    }
  | { readonly kind: 'rejected'; readonly error: DomainError };

export type Request = {
  readonly entityId: string;
  readonly networkId: number;
  readonly invoices: readonly PreparedInvoice[];
  readonly limit: number;
  readonly nowS: number;
  readonly newInvoiceId: () => string;
};

/** Call it in a transaction that has locked the network and the entity. */
export async function decide(queries: Queries, request: Request): Promise<Decision[]> {
  const { entityId, invoices, limit, nowS, newInvoiceId } = request;
  const references = await readByReference(queries, request);
  const occupants = await readOccupants(queries, request);
  const open = [...occupants.values()].flat().flatMap(({ row }) => row ?? []);
  const settled = await findSettled(queries, open);
  const openCount = await readInteger(
    queries,
    'count(*)',
    'from invoices where entity_id = $1 and until_block is null',
    [entityId],
  );
  let room = limit - openCount;
  return invoices.map((invoice): Decision => {
    const { terms, base } = invoice;
    const hash = termsHash(invoice);
    const known = terms.reference === undefined ? undefined : references.get(terms.reference);
    if (known !== undefined) return repeat(known, hash, terms.reference ?? '');
    if (terms.dateExpires < nowS + MIN_SECONDS || terms.dateExpires > nowS + MAX_SECONDS) {
      return rejected('invoice_expiry', { earliest: nowS + MIN_SECONDS, latest: nowS + MAX_SECONDS });
    }
    const key = placeOf(invoice);
    const here = occupants.get(key) ?? [];
    const conflict = findConflict(invoice, here, settled);
    if (conflict !== null) return { kind: 'rejected', error: conflict };
    const replaced = here.flatMap(({ row }) => (row !== undefined && isInTheWay(invoice, row) ? row : []));
    if (room + replaced.length <= 0) return rejected('invoice_limit', { limit });
    room += replaced.length - 1;
    const invoiceId = newInvoiceId();
    const left = here.filter(({ row }) => row === undefined || !replaced.includes(row));
    occupants.set(key, [...left, { invoiceId, match: terms.match, base: base.toString() }]);
    if (terms.reference !== undefined) references.set(terms.reference, { invoiceId, hash, fromBlock: -1 });
    return { kind: 'new', invoiceId, hash, replaced };
  });
}

function rejected(...error: ConstructorParameters<typeof DomainError>): Decision {
  return { kind: 'rejected', error: new DomainError(...error) };
}

function repeat({ invoiceId, hash: before, fromBlock }: Known, hash: string, reference: string): Decision {
  if (before === hash) return { kind: 'exists', invoiceId, fromBlock };
  return rejected('invoice_conflict', { reference, invoiceId });
}

function placeOf({ token, address }: { readonly token: string; readonly address: string }): string {
  return `${token} ${address}`;
}

/** Whether two invoices cannot share an address. They can if both take exact amounts, and the amounts differ. */
function isInTheWay({ terms, base }: PreparedInvoice, other: Pick<Occupant, 'match' | 'base'>): boolean {
  return terms.match === 'address' || other.match === 'address' || other.base === base.toString();
}

function findConflict(
  invoice: PreparedInvoice,
  here: readonly Occupant[],
  settled: ReadonlySet<string>,
): DomainError | null {
  const other = here.find((one) => isInTheWay(invoice, one) && !settled.has(one.invoiceId));
  if (other === undefined) return null;
  const { invoiceId } = other;
  const isAmount = invoice.terms.match === 'exact' && other.match === 'exact';
  return new DomainError(isAmount ? 'amount_in_use' : 'address_in_use', { invoiceId });
}

async function readByReference(queries: Queries, { entityId, invoices }: Request): Promise<Map<string, Known>> {
  const references = invoices.flatMap(({ terms }) => terms.reference ?? []);
  const from = 'from invoices where entity_id = $1 and reference in';
  const rows = await knownColumns.allIn(queries, from, [entityId], references);
  return new Map(rows.map(({ reference, ...row }) => [reference ?? '', row]));
}

async function readOccupants(
  queries: Queries,
  { entityId, networkId, invoices }: Request,
): Promise<Map<string, Occupant[]>> {
  const places = new Map(invoices.map((invoice) => [placeOf(invoice), invoice]));
  const from = 'from invoices where entity_id = $1 and network_id = $2 and until_block is null and (token, address) in';
  const keys = [...places.values()].map(({ token, address }) => [token, address]);
  const rows = await invoiceColumns.allIn(queries, from, [entityId, networkId], keys);
  return Map.groupBy(
    rows.map((row) => ({ ...row, row })),
    placeOf,
  );
}

/** The invoices that are paid, and whose payments cannot be undone. */
async function findSettled(queries: Queries, open: readonly InvoiceRow[]): Promise<Set<string>> {
  const facts = await readFactsOfInvoices(queries, open);
  const settled = open.filter((row) => {
    const payments = (facts.get(keyOfInvoice(row)) ?? []).map(paymentOf).filter(({ state }) => state === 'final');
    return foldInvoice(termsOf(row), fateOf(row), payments).isFinal;
  });
  return new Set(settled.map(({ invoiceId }) => invoiceId));
}
