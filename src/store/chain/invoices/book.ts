import { storedAddress } from '../../../domain/chain/families/families.ts';
import { definitionHash, type SourceDefinition } from '../../../domain/chain/source-definition.ts';
import { DomainError } from '../../../domain/errors.ts';
import type { Queries } from '../../database/database.ts';
import { readInteger } from '../../database/sql.ts';
import { newId } from '../../new-id.ts';
import { type LockedBook, sourceColumns } from '../addresses/change-book.ts';
import { NEW_SOURCE } from '../tables.ts';

/**
 * The source that reads the payments of an entity's invoices in one token: its address book has their addresses. The source is
 * created with the first invoice and deleted with the last address. The API shows the source, but cannot change it.
 */

/** How the logs of a token are read. */
export type TokenReading = {
  readonly definition: SourceDefinition;
  readonly topic: string;
  readonly topics: readonly (readonly string[] | null)[];
  readonly bookPlace: number;
};

const NAME = 'Invoices';

type Wanted = {
  readonly entityId: string;
  readonly reading: TokenReading;
  /** The newest block that was read, or that a node has. */
  readonly tip: number;
  readonly limit: number;
  readonly nowS: number;
};

/** Returns the source of a token, and creates a missing one. Call it in a transaction that has locked the network and the entity. */
export async function bookOfToken(queries: Queries, wanted: Wanted): Promise<LockedBook['source']> {
  const { entityId, reading, tip, limit, nowS } = wanted;
  const { definition, topic, topics, bookPlace } = reading;
  const { networkId } = definition;
  const contract = storedAddress(definition.contract);
  const hash = `invoices ${definitionHash(definition)}`;
  const find = () =>
    sourceColumns.get(queries, `select ${sourceColumns.list} from sources where entity_id = $1 and hash = $2`, [
      entityId,
      hash,
    ]);
  const known = await find();
  if (known !== undefined) return known;
  const count = await readInteger(queries, 'count(*)', 'from sources where entity_id = $1', [entityId]);
  if (count >= limit) throw new DomainError('source_limit', { limit });
  const source = {
    ...{ entityId, networkId, contract, topic, hash, bookPlace },
    sourceId: newId('src'),
    topics: JSON.stringify(topics),
    definition: JSON.stringify(definition),
    fromBlock: tip + 1,
    createdHead: tip,
    deliverHistory: 0,
    appliesFrom: tip + 1,
    name: NAME,
    isForInvoices: 1,
    dateCreated: nowS,
  };
  await queries.run(NEW_SOURCE.text(1), NEW_SOURCE.parameters([source]));
  const made = await find();
  if (made === undefined) throw new Error('a source that was just inserted is not there');
  return made;
}

/** Deletes the sources of a network whose books are empty. Runs in the transaction that takes the lease of the network. */
export async function dropEmptyBooks(queries: Queries, networkId: number): Promise<void> {
  await queries.run(
    `delete from sources where network_id = $1 and is_for_invoices = 1 and not exists (
       select 1 from source_addresses a where a.entity_id = sources.entity_id and a.source_id = sources.id)`,
    [networkId],
  );
}
