import type { AddressChange, NewAddress } from '../../../contract/chain/addresses.ts';
import { DomainError } from '../../../domain/errors.ts';
import type { Database, Dialect, Queries } from '../../database/database.ts';
import { chunks, type RowOf, readInteger, valuesList } from '../../database/sql.ts';
import { type Change, recordChange } from '../../tenants/audit.ts';
import { networkTable, sourceAddressTable, sourceTable } from '../tables.ts';
import { lockNetwork } from './lock-network.ts';
import { NOTE_UNREAD } from './unread.ts';

/**
 * Changes of address books. A new address counts from the block after the newest one that Paybell has read. The change and every
 * step of the network's holder lock the row of the network, so that one of the two sees the other.
 *
 * A poll that began before the change reads new blocks without the new addresses. The first poll that knows the addresses reads
 * these blocks once more for the source alone (`unread.ts`). Usually there are no such blocks.
 */

export type BookLimits = { readonly ofEntity: number; readonly ofNetwork: number };

export type BookResult =
  | { readonly kind: 'changed'; readonly result: AddressChange }
  | { readonly kind: 'absent' }
  /** The source has no address book. */
  | { readonly kind: 'no_book' };

const networkColumns = networkTable.pick(['head', 'tipNumber', 'addressRevision', 'addressCount']);
export const sourceColumns = sourceTable.pick([
  ...([
    'entityId',
    'sourceId',
    'networkId',
    'createdHead',
    'bookPlace',
    'bookRevision',
    'addressCount',
    'isForInvoices',
  ] as const),
]);
/** A source with a book and its network, both as of the lock. */
export type LockedBook = {
  readonly source: RowOf<typeof sourceColumns>;
  readonly network: RowOf<typeof networkColumns>;
};

const rowColumns = sourceAddressTable.pick(['address', 'agreementId', 'reference', 'fromBlock', 'untilBlock']);
type Row = RowOf<typeof rowColumns>;

const NEW_ADDRESS = sourceAddressTable.bulkInsertion(sourceAddressTable.namesBut('untilBlock'));

/**
 * Adds addresses in lower case, each once in the list. An address that is in the book gets the new agreement and reference. A
 * removed address whose row is still there counts again without an interruption.
 */
export function addAddresses(
  db: Database,
  entityId: string,
  sourceId: string,
  addresses: readonly NewAddress[],
  limits: BookLimits,
  change: Change,
): Promise<BookResult> {
  return db.transaction(async (queries) => {
    const locked = await lockBook(queries, db.dialect, entityId, sourceId);
    if (!('source' in locked)) return locked;
    const { result } = await addToBook(queries, db.dialect, locked, addresses, { limits, nowS: change.nowS });
    if (result.added + result.changed > 0) await audit(queries, locked.source, change, result);
    return { kind: 'changed', result };
  });
}

/**
 * Call it in a transaction that has locked the network and the entity. Also returns the number of the last change of the
 * book.
 */
export async function addToBook(
  queries: Queries,
  dialect: Dialect,
  { source, network }: LockedBook,
  addresses: readonly NewAddress[],
  { limits, nowS }: { readonly limits: BookLimits; readonly nowS: number },
): Promise<{ readonly result: AddressChange; readonly revision: number }> {
  const { networkId, entityId, sourceId } = source;
  const known = await readRows(queries, source, addresses);
  const added = addresses.filter(({ address }) => !known.has(address));
  await requireRoom(queries, entityId, added.length, network.addressCount, limits);
  const nextBlock = (network.tipNumber ?? source.createdHead) + 1;
  const revision = network.addressRevision + 1;
  const rows = added.map(({ address, agreementId, reference }) => ({
    ...{ networkId, address, entityId, sourceId, agreementId, reference, revision },
    fromBlock: nextBlock,
    dateCreated: nowS,
  }));
  for (const chunk of chunks(rows)) {
    await queries.send(NEW_ADDRESS.text(dialect, chunk.length), NEW_ADDRESS.parameters(dialect, chunk));
  }
  const isBack = ({ address }: NewAddress) => (known.get(address)?.untilBlock ?? null) !== null;
  const back = addresses.filter(isBack);
  const changed = addresses.filter((one) => !isBack(one) && isOther(known.get(one.address), one));
  for (const one of back) await updateRow(queries, source, one, revision);
  for (const one of changed) await updateRow(queries, source, one, null);
  const isNew = added.length + back.length > 0;
  if (isNew) {
    const from = back.map(({ address }) => (known.get(address)?.untilBlock ?? nextBlock) + 1);
    const firstUnread = Math.min(nextBlock, ...from);
    const isReread = firstUnread < nextBlock;
    await noteChange(queries, source, { revision, added: added.length + back.length, firstUnread, isReread });
    await countRows(queries, networkId, added.length, revision);
  }
  const result: AddressChange = {
    added: added.length + back.length,
    changed: changed.length,
    removed: 0,
    addressCount: source.addressCount + added.length + back.length,
    fromBlock: nextBlock,
    untilBlock: null,
  };
  return { result, revision: isNew ? revision : source.bookRevision };
}

/** Removes addresses. Payments to them up to the newest known block still count. Addresses that are not in the book are ignored. */
export function removeAddresses(
  db: Database,
  entityId: string,
  sourceId: string,
  addresses: readonly string[],
  change: Change,
): Promise<BookResult> {
  return db.transaction(async (queries) => {
    const locked = await lockBook(queries, db.dialect, entityId, sourceId);
    if (!('source' in locked)) return locked;
    const result = await removeFromBook(queries, locked, addresses);
    if (result.removed > 0) await audit(queries, locked.source, change, result);
    return { kind: 'changed', result };
  });
}

/** Call it in a transaction that has locked the network and the entity. */
export async function removeFromBook(
  queries: Queries,
  { source, network }: LockedBook,
  addresses: readonly string[],
): Promise<AddressChange> {
  const { networkId, entityId, sourceId } = source;
  const known = await readRows(
    queries,
    source,
    addresses.map((address) => ({ address })),
  );
  const removed = [...known.values()].filter(({ untilBlock }) => untilBlock === null);
  const untilBlock = Math.max(network.head ?? 0, network.tipNumber ?? 0, source.createdHead);
  const revision = network.addressRevision + 1;
  // If no block came since an address was added, the address has counted for no block.
  const isUnused = ({ fromBlock }: Row) => fromBlock > untilBlock;
  const which = 'network_id = $1 and entity_id = $2 and source_id = $3';
  const key = [networkId, entityId, sourceId];
  for (const chunk of chunks(removed.filter(isUnused).map(({ address }) => address))) {
    const list = valuesList(1, chunk.length, 3);
    await queries.run(`delete from source_addresses where ${which} and address in ${list}`, [...key, ...chunk]);
  }
  for (const chunk of chunks(removed.filter((row) => !isUnused(row)).map(({ address }) => address))) {
    const list = valuesList(1, chunk.length, 5);
    const sql = `update source_addresses set until_block = $4, revision = $5 where ${which} and address in ${list}`;
    await queries.run(sql, [...key, untilBlock, revision, ...chunk]);
  }
  if (removed.length > 0) {
    await noteChange(queries, source, { revision, added: -removed.length, firstUnread: NONE_UNREAD, isReread: false });
    await countRows(queries, networkId, -removed.filter(isUnused).length, revision);
  }
  return {
    ...{ added: 0, changed: 0, removed: removed.length, fromBlock: null, untilBlock },
    addressCount: source.addressCount - removed.length,
  };
}

async function lockBook(
  queries: Queries,
  dialect: Dialect,
  entityId: string,
  sourceId: string,
): Promise<LockedBook | Extract<BookResult, { kind: 'absent' | 'no_book' }>> {
  const read = () =>
    sourceColumns.get(queries, `select ${sourceColumns.list} from sources where entity_id = $1 and id = $2`, [
      entityId,
      sourceId,
    ]);
  const found = await read();
  if (found === undefined) return { kind: 'absent' };
  if (found.bookPlace === null) return { kind: 'no_book' };
  if (found.isForInvoices === 1) throw new DomainError('source_of_invoices', { sourceId });
  const { networkId } = found;
  const network = await lockNetwork(queries, dialect, networkId, entityId, networkColumns);
  const source = await read();
  return source === undefined || network === undefined ? { kind: 'absent' } : { source, network };
}

async function readRows(
  queries: Queries,
  { networkId, entityId, sourceId }: LockedBook['source'],
  addresses: readonly Pick<NewAddress, 'address'>[],
): Promise<ReadonlyMap<string, Row>> {
  const from = 'from source_addresses where network_id = $1 and entity_id = $2 and source_id = $3 and address in';
  const keys = addresses.map(({ address }) => address);
  const rows = await rowColumns.allIn(queries, from, [networkId, entityId, sourceId], keys);
  return new Map(rows.map((row) => [row.address, row]));
}

/**
 * Throws if the limits leave no room. Removed addresses count until their rows are deleted: otherwise a loop of adding and
 * removing would fill the table.
 */
async function requireRoom(
  queries: Queries,
  entityId: string,
  added: number,
  ofNetwork: number,
  limits: BookLimits,
): Promise<void> {
  if (added === 0) return;
  const count = await readInteger(queries, 'count(*)', 'from source_addresses where entity_id = $1', [entityId]);
  if (count + added > limits.ofEntity) {
    throw new DomainError('address_limit', { limit: limits.ofEntity, setting: 'ENTITY_ADDRESS_LIMIT' });
  }
  if (ofNetwork + added > limits.ofNetwork) {
    throw new DomainError('address_limit', { limit: limits.ofNetwork, setting: 'CHAIN_ADDRESS_LIMIT' });
  }
}

function isOther(row: Row | undefined, { agreementId, reference }: NewAddress): boolean {
  return row !== undefined && (row.agreementId !== (agreementId ?? null) || row.reference !== (reference ?? null));
}

/**
 * Keeps the revision of the row if only the agreement or the reference changes. No follower has to load such a change, because
 * the row is read whenever a log has the address.
 */
async function updateRow(
  queries: Queries,
  { networkId, entityId, sourceId }: LockedBook['source'],
  { address, agreementId, reference }: NewAddress,
  revision: number | null,
): Promise<void> {
  await queries.send(
    `update source_addresses set agreement_id = $5, reference = $6, until_block = null, revision = coalesce(cast($7 as bigint), revision)
     where network_id = $1 and address = $2 and entity_id = $3 and source_id = $4`,
    [networkId, address, entityId, sourceId, agreementId ?? null, reference ?? null, revision],
  );
}

/** Above all blocks, if a change leaves no block unread. */
const NONE_UNREAD = Number.MAX_SAFE_INTEGER;

type NotedChange = {
  readonly revision: number;
  /** Less than 0 after a removal. */
  readonly added: number;
  /** The first block that was not read for an address of the change. */
  readonly firstUnread: number;
  /** Whether the first unread block is below blocks that were read before. */
  readonly isReread: boolean;
};

async function noteChange(
  queries: Queries,
  { entityId, sourceId }: LockedBook['source'],
  { revision, added, firstUnread, isReread }: NotedChange,
): Promise<void> {
  await queries.run(
    `update sources set ${NOTE_UNREAD}, address_count = address_count + $5,
       reread_revision = case when $6 = 1 then $3 else reread_revision end
     where entity_id = $1 and id = $2`,
    [entityId, sourceId, revision, firstUnread, added, isReread ? 1 : 0],
  );
}

async function countRows(queries: Queries, networkId: number, added: number, revision: number): Promise<void> {
  const sql = 'update chains set address_revision = $2, address_count = address_count + $3 where network_id = $1';
  await queries.run(sql, [networkId, revision, added]);
}

async function audit(
  queries: Queries,
  { entityId, sourceId }: LockedBook['source'],
  change: Change,
  { added, changed, removed, addressCount }: AddressChange,
): Promise<void> {
  const after = { added, changed, removed, addressCount };
  await recordChange(queries, entityId, change, { action: 'source.addresses_changed', target: sourceId, after });
}
