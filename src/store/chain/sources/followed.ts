import { BoundedMap } from '../../../bounded-map.ts';
import type { SourceDefinition } from '../../../domain/chain/source-definition.ts';
import type { Queries } from '../../database/database.ts';
import { AddressBooks, keyOf as keyOfBook } from '../addresses/books.ts';
import type { FollowedSource, SourceVersion } from '../network-store.ts';
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
  'revision',
  'appliesFrom',
  'bookPlace',
  'bookRevision',
  'rereadRevision',
  'isForInvoices',
] as const;
const followedColumns = sourceTable.pick(KEPT);
const definitionColumns = sourceTable.pick(['sourceId', 'revision', 'topics', 'definition', 'earlier']);

type Definition = {
  readonly topics: FollowedSource['topics'];
  readonly definition: SourceDefinition;
  readonly earlier: readonly SourceVersion[];
  readonly characters: number;
};

/** Limit on the sources that are kept, in characters of JSON. */
const MAX_KEPT = 32_000_000;

const entityColumns = sourceTable.pick([...KEPT, 'definition']);

/** The entity's sources on a network in the order of their creation, as if they took logs of any block. */
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
  return rows.map(({ definition, bookPlace: _, ...row }) => ({
    ...row,
    definition: JSON.parse(definition) as SourceDefinition,
    fromBlock: 0,
    deliverHistory: row.deliverHistory === 1,
    isForInvoices: row.isForInvoices === 1,
  }));
}

type Versioned = { readonly sourceId: string; readonly revision: number };

function keyOf({ sourceId, revision }: Versioned): string {
  return `${sourceId} ${revision}`;
}

/** Parses definitions without checks, because the store wrote them. */
export function readVersions(json: string | null): readonly SourceVersion[] {
  return json === null ? [] : (JSON.parse(json) as SourceVersion[]);
}

/** Reads the sources of a network at every poll, and each revision of a definition once, because it can be long. */
export class FollowedSources {
  readonly #books = new AddressBooks();
  readonly #definitions = new BoundedMap<string, Definition>(MAX_KEPT, { weigh: ({ characters }) => characters });

  /** Reads the sources that are not paused, in the order of their creation. */
  async read(queries: Pick<Queries, 'all'>, networkId: number): Promise<FollowedSource[]> {
    const rows = await followedColumns.all(
      queries,
      `select ${followedColumns.list} from sources where network_id = $1 and paused_at_ms is null order by created_at, id`,
      [networkId],
    );
    const definitions = await this.#definitionsOf(queries, networkId, rows);
    const withBooks = rows.flatMap((row) => {
      const { bookPlace: place, bookRevision: revision } = row;
      return place === null ? [] : { ...row, place, revision, topics: definitions.get(keyOf(row))?.topics };
    });
    const books = await this.#books.read(queries, networkId, withBooks);
    return rows.flatMap(({ deliverHistory, isForInvoices, bookPlace: _, ...row }) => {
      const known = definitions.get(keyOf(row));
      if (known === undefined) return [];
      const { topics, definition, earlier } = known;
      const book = books.get(keyOfBook(row));
      const ofBook = book === undefined ? {} : { book };
      const flags = { deliverHistory: deliverHistory === 1, isForInvoices: isForInvoices === 1 };
      const read = { ...row, ...ofBook, ...flags, definition, earlier };
      return topics === undefined ? read : { ...read, topics };
    });
  }

  async #definitionsOf(
    queries: Pick<Queries, 'all'>,
    networkId: number,
    sources: readonly Versioned[],
  ): Promise<ReadonlyMap<string, Definition>> {
    const found = new Map<string, Definition>();
    const missing: string[] = [];
    for (const source of sources) {
      const known = this.#definitions.get(keyOf(source));
      if (known === undefined) missing.push(source.sourceId);
      else found.set(keyOf(source), known);
    }
    const from = 'from sources where network_id = $1 and id in';
    const rows = await definitionColumns.allIn(queries, from, [networkId], missing);
    for (const { topics, definition, earlier, ...source } of rows) {
      const read = {
        topics: topics === null ? undefined : (JSON.parse(topics) as FollowedSource['topics']),
        definition: JSON.parse(definition) as SourceDefinition,
        earlier: readVersions(earlier),
        characters: definition.length + (topics?.length ?? 0) + (earlier?.length ?? 0),
      };
      found.set(keyOf(source), read);
      this.#definitions.set(keyOf(source), read);
    }
    return found;
  }
}
