import { BoundedMap } from '../../../bounded-map.ts';
import type { SourceDefinition } from '../../../domain/chain/source-definition.ts';
import type { Queries } from '../../database/database.ts';
import { chunks, valuesList } from '../../database/sql.ts';
import type { FollowedSource } from '../network-store.ts';
import { sourceTable } from '../tables.ts';

const KEPT = [
  'entityId',
  'sourceId',
  'networkId',
  'contract',
  'topic',
  'fromBlock',
  'createdHead',
  'deliverHistory',
  'nextBlock',
  'lastBlock',
] as const;
const followedColumns = sourceTable.pick(KEPT);
const definitionColumns = sourceTable.pick(['sourceId', 'topics', 'definition']);

type Definition = {
  readonly topics: FollowedSource['topics'];
  readonly definition: SourceDefinition;
  readonly characters: number;
};

/** Together, in characters of JSON. */
const MAX_KEPT = 32_000_000;

const entityColumns = sourceTable.pick([...KEPT, 'definition']);

/** Those of one entity on a network, in the order of their creation, as if they took logs of any block. */
export async function readSourcesToTry(
  queries: Pick<Queries, 'all'>,
  entityId: string,
  networkId: number,
): Promise<FollowedSource[]> {
  const rows = await entityColumns.all(
    queries,
    `select ${entityColumns.list} from sources where entity_id = $1 and network_id = $2 order by created_at, id`,
    [entityId, networkId],
  );
  return rows.map(({ definition, ...row }) => ({
    ...row,
    definition: JSON.parse(definition) as SourceDefinition,
    fromBlock: 0,
    deliverHistory: row.deliverHistory === 1,
  }));
}

/** Reads the sources of a network at every poll, and their definitions once: a definition can be long, and never changes. */
export class FollowedSources {
  readonly #definitions = new BoundedMap<string, Definition>(MAX_KEPT, { weigh: ({ characters }) => characters });

  /** Those that are not paused, in the order of their creation. */
  async read(queries: Pick<Queries, 'all'>, networkId: number): Promise<FollowedSource[]> {
    const rows = await followedColumns.all(
      queries,
      `select ${followedColumns.list} from sources where network_id = $1 and paused_at_ms is null order by created_at, id`,
      [networkId],
    );
    const ids = rows.map(({ sourceId }) => sourceId);
    const definitions = await this.#definitionsOf(queries, networkId, ids);
    return rows.flatMap(({ deliverHistory, ...row }) => {
      const known = definitions.get(row.sourceId);
      if (known === undefined) return [];
      const { topics, definition } = known;
      return { ...row, ...(topics === undefined ? {} : { topics }), definition, deliverHistory: deliverHistory === 1 };
    });
  }

  async #definitionsOf(
    queries: Pick<Queries, 'all'>,
    networkId: number,
    sourceIds: readonly string[],
  ): Promise<ReadonlyMap<string, Definition>> {
    const found = new Map<string, Definition>();
    const missing: string[] = [];
    for (const sourceId of sourceIds) {
      const known = this.#definitions.get(sourceId);
      if (known === undefined) missing.push(sourceId);
      else found.set(sourceId, known);
    }
    for (const chunk of chunks(missing)) {
      const rows = await definitionColumns.all(
        queries,
        `select ${definitionColumns.list} from sources where network_id = $1 and id in ${valuesList(1, chunk.length, 1)}`,
        [networkId, ...chunk],
      );
      for (const { sourceId, topics, definition } of rows) {
        const read = {
          topics: topics === null ? undefined : (JSON.parse(topics) as FollowedSource['topics']),
          definition: JSON.parse(definition) as SourceDefinition,
          characters: definition.length + (topics?.length ?? 0),
        };
        found.set(sourceId, read);
        this.#definitions.set(sourceId, read);
      }
    }
    return found;
  }
}
