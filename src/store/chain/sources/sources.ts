import type { Source, SourceList, SourceListQuery } from '../../../contract/chain/sources.ts';
import { storedAddress } from '../../../domain/chain/families/families.ts';
import { definitionHash, type SourceDefinition } from '../../../domain/chain/source-definition.ts';
import { DomainError } from '../../../domain/errors.ts';
import { type Database, longReadsOf, type Queries } from '../../database/database.ts';
import { Parameters, type RowOf, readInteger } from '../../database/sql.ts';
import { readPage } from '../../list/page.ts';
import { newId } from '../../new-id.ts';
import { type Change, recordChange } from '../../tenants/audit.ts';
import { dropBook } from '../addresses/drop.ts';
import { NEW_SOURCE, sourceTable } from '../tables.ts';

/** The sources of entities, created under the lock of the entity. `update.ts` changes them. */

/** A definition that was checked against the network. */
export type PreparedSource = {
  readonly definition: SourceDefinition;
  /** The first topic of its logs. */
  readonly topic: string;
  /** The values that each topic of a log may have, including the first one. Null stands for any value. */
  readonly topics: readonly (readonly string[] | null)[];
  /** The topic of the addresses, 1 to 3; null, or absent, without an address book. */
  readonly bookPlace?: number | null;
  /** The newest block when the definition was checked. */
  readonly head: number;
};

/** Creates a source. If a source has the same definition, returns that source. */
export function createSource(
  db: Database,
  entityId: string,
  { definition, topic, topics, head, bookPlace = null }: PreparedSource,
  limit: number,
  change: Change,
  name: string | null = null,
): Promise<{ source: Source; isNew: boolean }> {
  const hash = definitionHash(definition);
  return db.transaction(async (queries) => {
    // Locks the entity without a new revision, because a new revision would outdate caches.
    const entity = await queries.get(`select id from entities where id = $1 ${db.dialect.lockRow}`, [entityId]);
    if (entity === undefined) throw new DomainError('entity_not_found', { entityId });
    const existing = await find(queries, 'entity_id = $1 and hash = $2', [entityId, hash]);
    if (existing !== null) return { source: existing, isNew: false };
    const count = await readInteger(queries, 'count(*)', 'from sources where entity_id = $1', [entityId]);
    if (count >= limit) throw new DomainError('source_limit', { limit });
    const { networkId, deliverHistory } = definition;
    const contract = storedAddress(definition.contract);
    const fromBlock = definition.fromBlock === 'latest' ? head + 1 : definition.fromBlock;
    const source = {
      entityId,
      sourceId: newId('src'),
      networkId,
      contract,
      topic,
      topics: JSON.stringify(topics),
      hash,
      definition: JSON.stringify(definition),
      fromBlock,
      createdHead: head,
      deliverHistory: deliverHistory ? 1 : 0,
      appliesFrom: fromBlock,
      name,
      bookPlace,
      isForInvoices: 0,
      dateCreated: change.nowS,
    };
    await queries.run(NEW_SOURCE.text(1), NEW_SOURCE.parameters([source]));
    await recordChange(queries, entityId, change, {
      action: 'source.created',
      target: source.sourceId,
      after: { ...(name === null ? {} : { name }), ...definition, fromBlock },
    });
    const row = {
      ...source,
      nextBlock: null,
      lastBlock: null,
      pausedAtMs: null,
      pausedReason: null,
      revision: 1,
      logRequests: 0,
      logsReceived: 0,
      addressCount: 0,
    };
    return { source: toSource(row), isNew: true };
  });
}

/** Null for the id of another entity, and for an unknown one. */
export function readSource(queries: Pick<Queries, 'get'>, entityId: string, sourceId: string): Promise<Source | null> {
  return find(queries, 'entity_id = $1 and id = $2', [entityId, sourceId]);
}

/** Deletes a source, but keeps its facts with their events and deliveries. A task removes its address book. */
export function deleteSource(db: Database, entityId: string, sourceId: string, change: Change): Promise<boolean> {
  return db.transaction(async (queries) => {
    const source = await readSource(queries, entityId, sourceId);
    if (source === null) return false;
    if (source.isForInvoices) throw new DomainError('source_of_invoices', { sourceId });
    const sql = 'delete from sources where entity_id = $1 and id = $2';
    if ((await queries.run(sql, [entityId, sourceId])) === 0) return false;
    if (source.addressBook !== null) await dropBook(queries, db.dialect, entityId, source);
    await recordChange(queries, entityId, change, {
      action: 'source.deleted',
      target: sourceId,
      before: settingsOf(source),
    });
    return true;
  });
}

/** The settings of a source for the audit, without fields that change by themselves and without empty ones. */
function settingsOf({
  networkId,
  preset,
  contract,
  abi,
  event,
  where,
  fields,
  fromBlock,
  ...source
}: Source): Record<string, unknown> {
  const { deliverHistory, name, minAmount, addressBook } = source;
  return {
    ...{ networkId, preset, contract, abi, event, where, fields, fromBlock, deliverHistory },
    ...(name === null ? {} : { name }),
    ...(minAmount === null ? {} : { minAmount }),
    ...(addressBook === null ? {} : { addressBook }),
  };
}

/**
 * Whether blocks from before the source's creation must still be read. Before the follower has seen the source, its first
 * block decides.
 */
const IS_CATCHING_UP = 'coalesce(next_block <= last_block, from_block <= created_head)';

const STATE_CONDITIONS: Readonly<Record<Source['state'], string>> = {
  paused: 'paused_at_ms is not null',
  catching_up: `paused_at_ms is null and ${IS_CATCHING_UP}`,
  live: `paused_at_ms is null and not ${IS_CATCHING_UP}`,
};

export async function listSources(db: Database, entityId: string, query: SourceListQuery): Promise<SourceList> {
  const { networkId, contract, state } = query;
  const parameters = new Parameters();
  const given = sourceTable.where(parameters, {
    entityId,
    networkId,
    contract: contract === undefined ? undefined : storedAddress(contract),
  });
  const { totalResults, rows } = await readPage(
    longReadsOf(db, entityId),
    {
      table: 'sources',
      columns: shownColumns,
      where: state === undefined ? given : `${given} and ${STATE_CONDITIONS[state]}`,
      order: ['created_at', 'id'],
      parameters: parameters.values,
    },
    query,
  );
  return { totalResults, sources: rows.map(toSource) };
}

export const shownColumns = sourceTable.pick([
  'sourceId',
  'name',
  'revision',
  'appliesFrom',
  'definition',
  'fromBlock',
  'createdHead',
  'nextBlock',
  'lastBlock',
  'pausedAtMs',
  'pausedReason',
  'logRequests',
  'logsReceived',
  'addressCount',
  'isForInvoices',
  'dateCreated',
]);

async function find(
  queries: Pick<Queries, 'get'>,
  where: string,
  parameters: readonly string[],
): Promise<Source | null> {
  const row = await shownColumns.get(queries, `select ${shownColumns.list} from sources where ${where}`, parameters);
  return row === undefined ? null : toSource(row);
}

export function toSource(row: RowOf<typeof shownColumns>): Source {
  const { sourceId, name, fromBlock, createdHead, nextBlock, lastBlock, pausedAtMs, pausedReason, dateCreated } = row;
  // Not checked, because the store wrote the definition.
  const definition = JSON.parse(row.definition) as SourceDefinition;
  const { networkId, preset, contract, abi, event, where, fields, deliverHistory } = definition;
  const { minAmount = null, addressBook = null } = definition;
  const isKnown = nextBlock !== null && lastBlock !== null;
  const blocksLeft = isKnown ? Math.max(0, lastBlock - nextBlock + 1) : fromBlock <= createdHead ? null : 0;
  return {
    sourceId,
    name,
    ...{ networkId, preset, contract, abi, event },
    where: Object.fromEntries(Object.entries(where).map(([name, values]) => [name, [...values]])),
    fields: { ...fields },
    minAmount,
    addressBook,
    addressCount: row.addressCount,
    isForInvoices: row.isForInvoices === 1,
    fromBlock,
    deliverHistory,
    revision: row.revision,
    appliesFromBlock: row.appliesFrom,
    state: pausedAtMs !== null ? 'paused' : blocksLeft === 0 ? 'live' : 'catching_up',
    pausedReason,
    blocksLeft,
    logRequests: row.logRequests,
    logsReceived: row.logsReceived,
    dateCreated,
  };
}
