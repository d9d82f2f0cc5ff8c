import type { FactChange, FoundFact } from '../../../domain/chain/facts.ts';
import type { Queries } from '../../database/database.ts';
import { sourceTable } from '../tables.ts';
import { readVersions } from './followed.ts';

const revisionColumns = sourceTable.pick(['sourceId', 'revision']);
const versionColumns = sourceTable.pick(['sourceId', 'revision', 'appliesFrom', 'earlier']);

/** The revisions of a source with their first blocks, oldest first. */
type Revisions = readonly { readonly revision: number; readonly fromBlock: number }[];

/**
 * Leaves out new facts of a definition that has changed since the poll began, in blocks for which a newer definition counts. If
 * the newer definition takes the log too, a later poll finds it: the change makes the source read these blocks again. The step
 * and the change both lock the row of the network, so that one of the two sees the other.
 */
export async function withoutOutdated(
  queries: Pick<Queries, 'all'>,
  changes: readonly FactChange[],
): Promise<readonly FactChange[]> {
  const known = new Map<string, number>();
  for (const change of changes) {
    if (change.change !== 'seen' || change.fact.sourceRevision === undefined) continue;
    const { sourceId, sourceRevision } = change.fact;
    known.set(sourceId, Math.min(known.get(sourceId) ?? sourceRevision, sourceRevision));
  }
  const changed = await readChanged(queries, known);
  if (changed.size === 0) return changes;
  return changes.filter((change) => change.change !== 'seen' || !isOutdated(change.fact, changed));
}

function isOutdated({ sourceId, sourceRevision = 0, position }: FoundFact, changed: ReadonlyMap<string, Revisions>) {
  const current = changed.get(sourceId)?.findLast(({ fromBlock }) => fromBlock <= position.blockNumber);
  return current !== undefined && current.revision > sourceRevision;
}

/** The sources that have a newer revision than the given one. Their definitions can be long, and are read only for these sources. */
async function readChanged(
  queries: Pick<Queries, 'all'>,
  known: ReadonlyMap<string, number>,
): Promise<ReadonlyMap<string, Revisions>> {
  const from = 'from sources where revision > 1 and id in';
  const rows = await revisionColumns.allIn(queries, from, [], [...known.keys()]);
  const newer = rows.filter(({ sourceId, revision }) => revision > (known.get(sourceId) ?? revision));
  const ids = newer.map(({ sourceId }) => sourceId);
  const versions = await versionColumns.allIn(queries, 'from sources where id in', [], ids);
  return new Map(
    versions.map(({ sourceId, revision, appliesFrom, earlier }) => [
      sourceId,
      [...readVersions(earlier), { revision, fromBlock: appliesFrom }],
    ]),
  );
}
