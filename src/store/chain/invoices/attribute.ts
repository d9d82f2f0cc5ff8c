import type { FactChange, FoundFact } from '../../../domain/chain/facts.ts';
import { isDustFor } from '../../../domain/chain/invoices/invoice-state.ts';
import type { Queries } from '../../database/database.ts';
import type { RowOf } from '../../database/sql.ts';
import { invoiceTable } from '../tables.ts';

/**
 * Decides which invoice a payment belongs to. Paybell decides this only once, when it stores the payment. If a reorg moves the
 * payment to another block, the payment stays with the invoice that its events name.
 *
 * An invoice takes a payment in its token to its address, in a block from `from_block` to `until_block`, unless the invoice was
 * cancelled before. An invoice with `exact` takes only a payment of exactly its amount. The transaction of the step and the
 * request that creates or cancels the invoice lock the row of the network, so that one of the two sees the other.
 */

const offeredColumns = invoiceTable.pick([
  'entityId',
  'invoiceId',
  'token',
  'address',
  'match',
  'base',
  'amount',
  'agreementId',
  'transferId',
  'reference',
  'fromBlock',
  'untilBlock',
]);
type Offered = RowOf<typeof offeredColumns>;

/** Adds to new payments the invoice that expected them. Costs nothing without an address of an invoice. */
export async function attribute(
  queries: Pick<Queries, 'all'>,
  networkId: number,
  changes: readonly FactChange[],
): Promise<readonly FactChange[]> {
  const expected = changes.flatMap((change) =>
    change.change === 'seen' && change.fact.expected !== undefined ? change.fact : [],
  );
  if (expected.length === 0) return changes;
  const offered = await readOffered(queries, networkId, expected);
  return changes.map((change) =>
    change.change === 'seen' ? { ...change, fact: taken(change.fact, offered) } : change,
  );
}

function addressKey({ entityId }: { readonly entityId: string }, token: string, address: string): string {
  return `${entityId} ${token} ${address}`;
}

async function readOffered(
  queries: Pick<Queries, 'all'>,
  networkId: number,
  facts: readonly FoundFact[],
): Promise<ReadonlyMap<string, readonly Offered[]>> {
  const wanted = new Map(
    facts.flatMap(({ entityId, expected }) =>
      expected === undefined ? [] : [[`${entityId} ${expected.address}`, [entityId, expected.address]]],
    ),
  );
  const from = 'from invoices where network_id = $1 and cancelled_at is null and (entity_id, address) in';
  const newest = 'order by created_at desc, id desc';
  const offered = await offeredColumns.allIn(queries, from, [networkId], [...wanted.values()], newest);
  return Map.groupBy(offered, (one) => addressKey(one, one.token, one.address));
}

/** The newest invoice that takes the payment. */
function taken(fact: FoundFact, offered: ReadonlyMap<string, readonly Offered[]>): FoundFact {
  const { expected, position } = fact;
  if (expected === undefined) return fact;
  const takes = ({ match, base, fromBlock, untilBlock }: Offered) =>
    position.blockNumber >= fromBlock &&
    position.blockNumber <= (untilBlock ?? position.blockNumber) &&
    (match === 'address' || base === expected.base);
  const invoice = offered.get(addressKey(fact, expected.token, expected.address))?.find(takes);
  return invoice === undefined ? fact : withInvoice(fact, expected.base, invoice);
}

/** The transfer and the agreement of the invoice replace the values of the source. A payment that is expected is never history. */
function withInvoice(fact: FoundFact, base: string, invoice: Offered): FoundFact {
  const { invoiceId, transferId, agreementId, reference } = invoice;
  const isDust = isDustFor({ amount: BigInt(invoice.base) }, BigInt(base));
  return {
    ...fact,
    isDust,
    isSilent: isDust,
    transferId,
    agreementId: agreementId ?? fact.agreementId,
    invoice: { invoiceId, base, amount: invoice.amount },
    fields: {
      ...fact.fields,
      transferId,
      ...(agreementId === null ? {} : { agreementId }),
      ...(reference === null ? {} : { reference }),
    },
  };
}
