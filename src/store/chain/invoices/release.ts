import type { Queries } from '../../database/database.ts';
import { chunks, valuesList } from '../../database/sql.ts';
import { type LockedBook, removeFromBook, sourceColumns } from '../addresses/change-book.ts';
import { invoiceTable } from '../tables.ts';
import type { InvoiceRow } from './rows.ts';

const usedColumns = invoiceTable.pick(['address']);

/** Takes the addresses of ended invoices out of the address books. An address that another open invoice uses stays. */
export async function releaseAddresses(
  queries: Queries,
  network: LockedBook['network'],
  ended: readonly Pick<InvoiceRow, 'entityId' | 'sourceId' | 'address'>[],
): Promise<void> {
  let { addressRevision } = network;
  for (const own of Map.groupBy(ended, ({ entityId, sourceId }) => `${entityId} ${sourceId}`).values()) {
    const [{ entityId, sourceId } = { entityId: '', sourceId: '' }] = own;
    const source = await sourceColumns.get(
      queries,
      `select ${sourceColumns.list} from sources where entity_id = $1 and id = $2`,
      [entityId, sourceId],
    );
    if (source === undefined) continue;
    const addresses = new Set(own.map(({ address }) => address));
    for (const chunk of chunks([...addresses])) {
      const used = await usedColumns.all(
        queries,
        `select distinct ${usedColumns.list} from invoices where entity_id = $1 and source_id = $2 and until_block is null
           and address in ${valuesList(1, chunk.length, 2)}`,
        [entityId, sourceId, ...chunk],
      );
      for (const { address } of used) addresses.delete(address);
    }
    const { removed } = await removeFromBook(queries, { source, network: { ...network, addressRevision } }, [
      ...addresses,
    ]);
    if (removed > 0) addressRevision++;
  }
}
