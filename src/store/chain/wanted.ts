import { defaultFinality, finalityText } from '../../domain/chain/finality.ts';
import { finalityFor, levelsOf } from '../../domain/chain/finality-by-amount.ts';
import type { Queries } from '../database/database.ts';
import { Columns, chunks, integer, nullable, type RowOf, text, valuesList } from '../database/sql.ts';
import { listenSessionTable, webhookCountTable } from '../tables.ts';
import type { RegistryMoment } from '../webhooks/option-changes.ts';

/** Finds the finalities that the webhooks of entities want. Paybell makes no event that no webhook wants. */

const distinctColumns = new Columns({ levels: text('finality_levels') });

/** The finalities that any webhook of the network wants or wanted for some payment, other than the defaults. */
export async function readFinalities(queries: Queries, networkId: number): Promise<string[]> {
  const rows = await distinctColumns.all(
    queries,
    `select distinct ${distinctColumns.list} from webhooks where finality is not null and network_id = $1
     union select ${distinctColumns.list} from option_changes where finality is not null`,
    [networkId],
  );
  return [...new Set(rows.flatMap(({ levels }) => levelsOf(levels)))];
}

const chosenColumns = new Columns({
  entityId: text('entity_id'),
  event: text('event'),
  finality: text('finality'),
  webhooks: integer('count(*)'),
});
const allColumns = webhookCountTable.pick(['entityId', 'event', 'webhooks']);
const listeningColumns = listenSessionTable.pick(['entityId']);

const changeColumns = new Columns({
  entityId: text('w.entity_id'),
  event: text('w.event'),
  webhookNo: integer('w.created_seq'),
  current: nullable(text('w.finality')),
  revision: integer('c.revision'),
  finality: nullable(text('c.finality')),
});
type OptionChange = RowOf<typeof changeColumns>;

/** An event that a fact may lead to, with the state of the entity's registry that counts for the fact. */
export type WantedEvent = {
  readonly entityId: string;
  readonly event: string;
  readonly moment: RegistryMoment;
  readonly ruleAmount: string | null;
};

export type Wanted = {
  /** The finalities that webhooks wanted for the event. */
  readonly of: (event: WantedEvent) => ReadonlySet<string>;
  /** The number of webhooks for each of these finalities, without listen sessions. */
  readonly webhooksOf: (event: WantedEvent) => ReadonlyMap<string, number>;
};

/** The number of webhooks by their stored finality. */
type Counts = Map<string, number>;

function add(counts: Counts, finality: string, webhooks: number): void {
  counts.set(finality, (counts.get(finality) ?? 0) + webhooks);
}

export async function readWanted(queries: Queries, networkId: number, entityIds: readonly string[]): Promise<Wanted> {
  const current = new Map<string, Counts>();
  const changes = new Map<string, OptionChange[]>();
  const listening = new Set<string>();
  const keyOf = ({ entityId, event }: { entityId: string; event: string }) => `${entityId} ${event}`;
  const countsOf = (cell: { entityId: string; event: string }): Counts => {
    const counts = current.get(keyOf(cell)) ?? new Map<string, number>();
    current.set(keyOf(cell), counts);
    return counts;
  };
  for (const chunk of chunks(entityIds)) {
    const which = `entity_id in ${valuesList(1, chunk.length, 1)} and network_id = $1`;
    const parameters = [networkId, ...chunk];
    // The statements are sent together, and run in this order.
    const [chosen, all, changed, sessions] = await Promise.all([
      chosenColumns.all(
        queries,
        `select ${chosenColumns.list} from webhooks where ${which} and finality is not null group by entity_id, event, finality`,
        parameters,
      ),
      allColumns.all(queries, `select ${allColumns.list} from webhook_counts where ${which}`, parameters),
      readChanges(queries, networkId, chunk),
      listeningColumns.all(
        queries,
        `select distinct ${listeningColumns.list} from listen_sessions
         where ended = 0 and entity in ${valuesList(1, chunk.length)}`,
        chunk,
      ),
    ]);
    for (const row of chosen) {
      add(countsOf(row), row.finality, row.webhooks);
      add(countsOf(row), finalityText(defaultFinality(row.event)), -row.webhooks);
    }
    for (const row of all) add(countsOf(row), finalityText(defaultFinality(row.event)), row.webhooks);
    for (const row of changed) changes.set(keyOf(row), [...(changes.get(keyOf(row)) ?? []), row]);
    for (const { entityId } of sessions) listening.add(entityId);
  }
  const webhooksOf = (wanted: WantedEvent) => {
    const key = keyOf(wanted);
    return countsFor(countsAsOf(current.get(key), changes.get(key), wanted), wanted);
  };
  return {
    webhooksOf,
    of: (wanted) => {
      const found = new Set(webhooksOf(wanted).keys());
      // A listen session gets every event, at the finality that webhooks have by default.
      return listening.has(wanted.entityId) ? found.add(finalityText(defaultFinality(wanted.event))) : found;
    },
  };
}

/** The number of webhooks for each finality that they want for a payment of this amount. */
function countsFor(counts: Counts, { ruleAmount }: WantedEvent): Counts {
  const found: Counts = new Map();
  for (const [stored, webhooks] of counts) if (webhooks > 0) add(found, finalityFor(stored, ruleAmount), webhooks);
  return found;
}

/**
 * Reads the changes of options, oldest first. Runs after the statement for the current options, so that it also sees changes
 * between the two statements.
 */
function readChanges(queries: Queries, networkId: number, entityIds: readonly string[]): Promise<OptionChange[]> {
  return changeColumns.all(
    queries,
    `select ${changeColumns.list} from option_changes c
     join webhooks w on w.entity_id = c.entity_id and w.created_seq = c.webhook_no
     where c.entity_id in ${valuesList(1, entityIds.length, 1)} and w.network_id = $1 order by c.revision`,
    [networkId, ...entityIds],
  );
}

/** Counts webhooks as of the given moment. A webhook whose finality has changed since then counts for its finality at that moment. */
function countsAsOf(
  current: Counts = new Map(),
  changes: readonly OptionChange[] = [],
  { event, moment }: WantedEvent,
): Counts {
  if (moment === 'now') return current;
  const later = changes.filter((change) => change.revision > moment);
  if (later.length === 0) return current;
  const counts = new Map(current);
  const byDefault = finalityText(defaultFinality(event));
  const first = new Map(later.toReversed().map((change) => [change.webhookNo, change]));
  for (const change of first.values()) {
    add(counts, change.current ?? byDefault, -1);
    add(counts, change.finality ?? byDefault, 1);
  }
  return counts;
}
