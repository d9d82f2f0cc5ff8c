import type { FactChange, FoundFact } from '../../../domain/chain/facts.ts';
import type { Queries } from '../../database/database.ts';
import { sourceAddressTable } from '../tables.ts';
import { type Addresses, AddressSet, addressIn, type Book } from './address-set.ts';

/** A source with a book, as the poll has read it. */
export type BookSource = {
  readonly entityId: string;
  readonly sourceId: string;
  readonly contract: string;
  readonly topic: string;
  readonly topics: unknown;
  readonly place: number;
  /** The number of the last change of its book. */
  readonly revision: number;
};

const ROWS_A_READ = 1_000;
/** Removed addresses stay in memory until they are this share of a book. */
const MAX_STALE_SHARE = 1 / 4;
const MIN_STALE = 1_000;

/** Sorts after every address. */
const LAST = 'z';

const rowColumns = sourceAddressTable.pick(['address', 'revision', 'untilBlock']);

/** Sources whose logs differ only by their addresses. */
type Group = { addresses: AddressSet };

/**
 * The address books of a process. Each poll loads the rows that have changed since the last poll, by their revisions. A change
 * takes its revision under the lock of the network's row, so that no lower revision appears later.
 */
export class AddressBooks {
  readonly #networks = new Map<number, { books: Map<string, KeptBook>; groups: Map<string, Group> }>();

  /** Returns the books of these sources, which must be all sources that the poll follows. Other books are forgotten. */
  async read(
    queries: Pick<Queries, 'all'>,
    networkId: number,
    sources: readonly BookSource[],
  ): Promise<ReadonlyMap<string, Book>> {
    const before = this.#networks.get(networkId);
    if (sources.length === 0 && before === undefined) return NO_BOOKS;
    const books = new Map<string, KeptBook>();
    const groups = new Map<string, Group>();
    for (const source of sources) {
      const name = JSON.stringify([source.contract, source.topic, source.place, source.topics]);
      const group = groups.get(name) ?? before?.groups.get(name) ?? { addresses: new AddressSet() };
      groups.set(name, group);
      const known = before?.books.get(keyOf(source));
      const book = known?.group === name ? known : new KeptBook(source.place, name, group);
      books.set(keyOf(source), book);
      if (book.revision < source.revision) await book.load(queries, source);
    }
    const gone = [...(before?.books ?? [])].filter(([key, book]) => books.get(key) !== book);
    rebuild(new Set(gone.map(([, { group }]) => group)), groups, books.values());
    this.#networks.set(networkId, { books, groups });
    return books;
  }
}

const NO_BOOKS: ReadonlyMap<string, Book> = new Map();

export function keyOf({ entityId, sourceId }: Pick<BookSource, 'entityId' | 'sourceId'>): string {
  return `${entityId} ${sourceId}`;
}

/** Builds the sets of the groups again, without the addresses of books that are gone. */
function rebuild(names: ReadonlySet<string>, groups: ReadonlyMap<string, Group>, books: Iterable<KeptBook>): void {
  if (names.size === 0) return;
  for (const name of names) {
    const group = groups.get(name);
    if (group !== undefined) group.addresses = new AddressSet();
  }
  for (const book of books) if (names.has(book.group)) book.joinGroup();
}

class KeptBook implements Book {
  addresses = new AddressSet();
  revision = 0;
  #stale = 0;

  constructor(
    readonly place: number,
    readonly group: string,
    private readonly members: Group,
  ) {}

  get groupAddresses(): Addresses {
    return this.members.addresses;
  }

  joinGroup(): void {
    for (const word of this.addresses.words()) this.members.addresses.add(addressIn(word));
  }

  async load(queries: Pick<Queries, 'all'>, { entityId, sourceId, revision }: BookSource): Promise<void> {
    if (this.#stale > MIN_STALE && this.#stale > this.addresses.size * MAX_STALE_SHARE) this.#clear();
    let after = { revision: this.revision, address: LAST };
    for (;;) {
      const rows = await rowColumns.all(
        queries,
        `select ${rowColumns.list} from source_addresses where entity_id = $1 and source_id = $2
           and (revision, address) > ($3, $4) order by revision, address limit ${ROWS_A_READ}`,
        [entityId, sourceId, after.revision, after.address],
      );
      for (const { address, untilBlock } of rows) {
        this.addresses.add(address);
        this.members.addresses.add(address);
        if (untilBlock !== null) this.#stale++;
      }
      const last = rows.at(-1);
      if (last === undefined || rows.length < ROWS_A_READ) break;
      after = last;
    }
    this.revision = revision;
  }

  #clear(): void {
    this.addresses = new AddressSet();
    this.revision = 0;
    this.#stale = 0;
  }
}

const entryColumns = sourceAddressTable.pick([
  'address',
  'entityId',
  'sourceId',
  'agreementId',
  'reference',
  'fromBlock',
  'untilBlock',
]);

/** A row of an address book. */
export type BookEntry = {
  readonly address: string;
  readonly entityId: string;
  readonly sourceId: string;
  readonly agreementId: string | null;
  readonly reference: string | null;
  readonly fromBlock: number;
  readonly untilBlock: number | null;
};

/** The rows of these addresses, of all sources of the network. */
export async function findEntries(
  queries: Pick<Queries, 'all'>,
  networkId: number,
  addresses: readonly string[],
): Promise<BookEntry[]> {
  const from = 'from source_addresses where network_id = $1 and address in';
  return entryColumns.allIn(queries, from, [networkId], addresses);
}

/**
 * Leaves out new facts of addresses that were removed since the poll began, in blocks for which they do not count. The step and
 * the removal both lock the row of the network.
 */
export async function withoutRemoved(
  queries: Pick<Queries, 'all'>,
  changes: readonly FactChange[],
): Promise<readonly FactChange[]> {
  const facts = changes.flatMap((change) => (change.change === 'seen' ? change.fact : []));
  const [first] = facts;
  const addresses = new Set(facts.flatMap(({ bookAddress }) => bookAddress ?? []));
  if (first === undefined || addresses.size === 0) return changes;
  const entries = await findEntries(queries, first.networkId, [...addresses]);
  const known = new Map(entries.map((entry) => [`${keyOf(entry)} ${entry.address}`, entry]));
  const isCounted = ({ bookAddress, position, ...fact }: FoundFact) => {
    const entry = known.get(`${keyOf(fact)} ${bookAddress}`);
    return entry !== undefined && position.blockNumber <= (entry.untilBlock ?? position.blockNumber);
  };
  return changes.filter(
    (change) => change.change !== 'seen' || change.fact.bookAddress === undefined || isCounted(change.fact),
  );
}
