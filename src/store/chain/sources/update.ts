import type { Source } from '../../../contract/chain/sources.ts';
import { definitionHash, type SourceDefinition } from '../../../domain/chain/source-definition.ts';
import { DomainError } from '../../../domain/errors.ts';
import type { Database, Queries } from '../../database/database.ts';
import type { RowOf } from '../../database/sql.ts';
import { type Change, recordChange } from '../../tenants/audit.ts';
import type { SourceVersion } from '../network-store.ts';
import { networkTable, sourceTable } from '../tables.ts';
import { readVersions } from './followed.ts';
import { pauseByRequest, resumeByRequest } from './pauses.ts';
import { type PreparedSource, shownColumns, toSource } from './sources.ts';
import { nextFrom, nextUnread } from './unread.ts';

/**
 * Changes of a source. A new definition counts from the block after the newest one that Paybell or the asked node knows. Earlier
 * blocks keep the definition that they had, because some may be unread, or be read again after a reorg. A fact has the same id
 * under every definition, so no change publishes a payment twice.
 *
 * A poll that began before the change may read new blocks by the old definition, and even make them final. The change therefore
 * clears `last_block`: the first poll that knows the new definition reads the blocks from `next_block` on for this source alone,
 * up to its own tail. Usually there are no such blocks.
 */

/** Earlier definitions that a source keeps. Older ones are dropped once their blocks are final and read. */
const MAX_EARLIER = 10;

export type SourceUpdate = {
  readonly name?: string | null | undefined;
  readonly isPaused?: boolean | undefined;
  /** The new definition, checked against the network; absent if the definition stays. */
  readonly prepared?: PreparedSource | undefined;
};

export type SourceUpdateResult =
  | { readonly kind: 'updated'; readonly source: Source }
  | { readonly kind: 'absent' }
  /** Another request changed the definition since it was read. */
  | { readonly kind: 'outdated' }
  /** Another source has this definition. */
  | { readonly kind: 'exists'; readonly sourceId: string }
  /** Too many definitions since the last final block, or since the pause. */
  | { readonly kind: 'too_many'; readonly finalAtBlock: number; readonly isPaused: boolean };

/** The definition of a source with its revision; null for the id of another entity, and for an unknown one. */
export async function readDefinition(
  queries: Pick<Queries, 'get'>,
  entityId: string,
  sourceId: string,
): Promise<{ readonly definition: SourceDefinition; readonly revision: number } | null> {
  const row = await definitionColumns.get(
    queries,
    `select ${definitionColumns.list} from sources where entity_id = $1 and id = $2`,
    [entityId, sourceId],
  );
  return row === undefined ? null : { ...row, definition: JSON.parse(row.definition) as SourceDefinition };
}

const definitionColumns = sourceTable.pick(['definition', 'revision']);
const networkColumns = networkTable.pick(['head', 'tipNumber', 'final']);
type Network = RowOf<typeof networkColumns> | undefined;
type Row = RowOf<typeof sourceTable>;

/** `revision` is the revision that the new definition was made from. */
export function updateSource(
  db: Database,
  entityId: string,
  sourceId: string,
  revision: number,
  update: SourceUpdate,
  change: Change,
): Promise<SourceUpdateResult> {
  const { lockRow } = db.dialect;
  return db.transaction(async (queries) => {
    const found = await readDefinition(queries, entityId, sourceId);
    if (found === null) return { kind: 'absent' };
    // The holder of the network locks this row too, so that no step of an old definition comes after the change.
    const network = await networkColumns.get(
      queries,
      `select ${networkColumns.list} from chains where network_id = $1 ${lockRow}`,
      [found.definition.networkId],
    );
    await queries.get(`select id from entities where id = $1 ${lockRow}`, [entityId]);
    const where = 'entity_id = $1 and id = $2';
    const row = await sourceTable.get(queries, `select ${sourceTable.list} from sources where ${where}`, [
      entityId,
      sourceId,
    ]);
    if (row === undefined) return { kind: 'absent' };
    const { name, isPaused, prepared } = update;
    const isChanged = name !== undefined || prepared !== undefined || isPaused === true;
    if (row.isForInvoices === 1 && isChanged) throw new DomainError('source_of_invoices', { sourceId });
    const before: Record<string, unknown> = {};
    const after: Record<string, unknown> = {};
    if (prepared !== undefined) {
      if (row.revision !== revision) return { kind: 'outdated' };
      const failure = await changeDefinition(queries, row, network, prepared, { before, after });
      if (failure !== null) return failure;
    }
    if (name !== undefined && name !== row.name) {
      await queries.run(`update sources set name = $3 where ${where}`, [entityId, sourceId, name]);
      Object.assign(before, { name: row.name });
      Object.assign(after, { name });
    }
    if (isPaused !== undefined && row.pausedBy !== (isPaused ? 'request' : null)) {
      const nowMs = change.nowS * 1_000;
      await (isPaused ? pauseByRequest(queries, row, nowMs) : resumeByRequest(queries, row));
      Object.assign(before, { isPaused: row.pausedBy !== null });
      Object.assign(after, { isPaused });
    }
    if (Object.keys(after).length > 0) {
      await recordChange(queries, entityId, change, { action: 'source.updated', target: sourceId, before, after });
    }
    const shown = await shownColumns.get(queries, `select ${shownColumns.list} from sources where ${where}`, [
      entityId,
      sourceId,
    ]);
    return shown === undefined ? { kind: 'absent' } : { kind: 'updated', source: toSource(shown) };
  });
}

type Audited = { readonly before: Record<string, unknown>; readonly after: Record<string, unknown> };

async function changeDefinition(
  queries: Queries,
  row: Row,
  network: Network,
  { definition, topics, head }: PreparedSource,
  { before, after }: Audited,
): Promise<SourceUpdateResult | null> {
  const { entityId, sourceId } = row;
  const hash = definitionHash(definition);
  if (hash === row.hash) return null;
  const other = await queries.get<{ id: string }>('select id from sources where entity_id = $1 and hash = $2', [
    entityId,
    hash,
  ]);
  if (other !== undefined) return { kind: 'exists', sourceId: other.id };
  const appliesFrom = Math.max(head, network?.head ?? 0, network?.tipNumber ?? 0, row.appliesFrom - 1) + 1;
  const earlier = [...readVersions(row.earlier)];
  // If no block came since the last change, the definition in between counts for no block.
  if (appliesFrom > row.appliesFrom) earlier.push(versionOf(row, appliesFrom - 1));
  while (earlier.length > MAX_EARLIER) {
    const oldest = earlier.shift();
    if (oldest !== undefined && !isDone(oldest, row, network)) {
      return { kind: 'too_many', finalAtBlock: oldest.untilBlock, isPaused: row.pausedBy !== null };
    }
  }
  await queries.run(
    `update sources set definition = $3, topics = $4, hash = $5, revision = revision + 1, applies_from = $6, earlier = $7,
       next_block = $8, last_block = null, unread_revision = 0
     where entity_id = $1 and id = $2`,
    [
      entityId,
      sourceId,
      JSON.stringify(definition),
      JSON.stringify(topics),
      hash,
      appliesFrom,
      earlier.length === 0 ? null : JSON.stringify(earlier),
      nextFrom(row, appliesFrom),
    ],
  );
  const old = JSON.parse(row.definition) as SourceDefinition;
  for (const name of ['where', 'fields', 'minAmount'] as const) {
    if (JSON.stringify(old[name]) === JSON.stringify(definition[name])) continue;
    before[name] = old[name] ?? null;
    after[name] = definition[name] ?? null;
  }
  after.appliesFromBlock = appliesFrom;
  return null;
}

function versionOf({ revision, definition, topics, appliesFrom }: Row, untilBlock: number): SourceVersion {
  return {
    revision,
    definition: JSON.parse(definition) as SourceDefinition,
    topics: topics === null ? undefined : (JSON.parse(topics) as SourceVersion['topics']),
    fromBlock: appliesFrom,
    untilBlock,
  };
}

/** Whether the blocks of a definition are read and final. A source that is paused will read the blocks of its pause. */
function isDone({ untilBlock }: SourceVersion, row: Row, network: Network): boolean {
  const read = (nextUnread(row) ?? Number.POSITIVE_INFINITY) - 1;
  const final = (row.pausedBy === null ? network?.final : row.pausedBlock) ?? -1;
  return row.nextBlock !== null && Math.min(read, final) >= untilBlock;
}
