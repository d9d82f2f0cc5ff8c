import type { AddressList, AddressListQuery } from '../../../contract/chain/addresses.ts';
import { storedAddress } from '../../../domain/chain/families/families.ts';
import { type Database, longReadsOf } from '../../database/database.ts';
import { Parameters } from '../../database/sql.ts';
import { readPage } from '../../list/page.ts';
import { sourceAddressTable } from '../tables.ts';

const shownColumns = sourceAddressTable.pick(['address', 'agreementId', 'reference', 'fromBlock', 'dateCreated']);

/** The addresses of a source in their stored form, without removed ones, in the order of their last change. */
export async function listAddresses(
  db: Database,
  entityId: string,
  sourceId: string,
  query: AddressListQuery,
): Promise<AddressList> {
  const { address, agreementId, reference } = query;
  const parameters = new Parameters();
  const stored = address === undefined ? undefined : storedAddress(address);
  const given = { entityId, sourceId, untilBlock: null, address: stored, agreementId, reference };
  const { totalResults, rows } = await readPage(
    longReadsOf(db, entityId),
    {
      table: 'source_addresses',
      columns: shownColumns,
      where: sourceAddressTable.where(parameters, given),
      order: ['revision', 'address'],
      parameters: parameters.values,
    },
    query,
  );
  return { totalResults, addresses: rows };
}
