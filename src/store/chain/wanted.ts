import { defaultFinality, finalityText } from '../../domain/chain/finality.ts';
import type { Queries } from '../database/database.ts';
import { Columns, chunks, integer, nullable, type RowOf, text, valuesList } from '../database/sql.ts';
import type { RegistryMoment } from '../webhooks/option-changes.ts';

/** Which finalities the webhooks of entities ask for. An event that no webhook wants is not made. */

const distinctColumns = new Columns({ finality: text('finality') });

/** The finalities that any webhook of the network has or had, other than the defaults. */
export async function readFinalities(queries: Queries, networkId: number): Promise<string[]> {
  const rows = await distinctColumns.all(
    queries,
    `select distinct ${distinctColumns.list} from webhooks where finality is not null and network_id = $1
     union select ${distinctColumns.list} from option_changes where finality is not null`,
    [networkId],
  );
  return rows.map(({ finality }) => finality);
}

const chosenColumns = new Columns({
  entityId: text('entity_id'),
  event: text('event'),
  finality: text('finality'),
  webhooks: integer('count(*)'),
});
const allColumns = new Columns({ entityId: text('entity_id'), event: text('event'), webhooks: integer('webhooks') });
const listeningColumns = new Columns({ entityId: text('entity') });

const changeColumns = new Columns({
  entityId: text('w.entity_id'),
  event: text('w.event'),
  webhookNo: integer('w.created_seq'),
  current: nullable(text('w.finality')),
  revision: integer('c.revision'),
  finality: nullable(text('c.finality')),
});
type OptionChange = RowOf<typeof changeColumns>;

export type Wanted = {
  /** The finalities that the webhooks of an event kind had as of a revision of the entity's registry. */
  readonly of: (entityId: string, event: string, seenRevision: number) => ReadonlySet<string>;
  /** The number of webhooks for each of these finalities, without listen sessions. */
  readonly webhooksOf: (entityId: string, event: string, moment: RegistryMoment) => ReadonlyMap<string, number>;
};

/** The number of webhooks for each finality. */
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
    const chosen = await chosenColumns.all(
      queries,
      `select ${chosenColumns.list} from webhooks where ${which} and finality is not null group by entity_id, event, finality`,
      parameters,
    );
    for (const row of chosen) {
      add(countsOf(row), row.finality, row.webhooks);
      add(countsOf(row), finalityText(defaultFinality(row.event)), -row.webhooks);
    }
    const all = await allColumns.all(
      queries,
      `select ${allColumns.list} from webhook_counts where ${which}`,
      parameters,
    );
    for (const row of all) add(countsOf(row), finalityText(defaultFinality(row.event)), row.webhooks);
    for (const row of await readChanges(queries, networkId, chunk)) {
      changes.set(keyOf(row), [...(changes.get(keyOf(row)) ?? []), row]);
    }
    const sessions = await listeningColumns.all(
      queries,
      `select distinct ${listeningColumns.list} from listen_sessions
       where ended = 0 and entity in ${valuesList(1, chunk.length)}`,
      chunk,
    );
    for (const { entityId } of sessions) listening.add(entityId);
  }
  const webhooksOf = (entityId: string, event: string, moment: RegistryMoment) => {
    const key = keyOf({ entityId, event });
    return countsAsOf(current.get(key), changes.get(key), event, moment);
  };
  return {
    webhooksOf,
    of: (entityId, event, seenRevision) => {
      const counts = webhooksOf(entityId, event, seenRevision);
      const found = new Set([...counts].flatMap(([finality, webhooks]) => (webhooks > 0 ? finality : [])));
      // A listen session gets every event, at the finality that webhooks have by default.
      return listening.has(entityId) ? found.add(finalityText(defaultFinality(event))) : found;
    },
  };
}

/** After the current options, so that a change between the two statements is seen here. Oldest first. */
function readChanges(queries: Queries, networkId: number, entityIds: readonly string[]): Promise<OptionChange[]> {
  return changeColumns.all(
    queries,
    `select ${changeColumns.list} from option_changes c
     join webhooks w on w.entity_id = c.entity_id and w.created_seq = c.webhook_no
     where c.entity_id in ${valuesList(1, entityIds.length, 1)} and w.network_id = $1 order by c.revision`,
    [networkId, ...entityIds],
  );
}

/** Webhooks whose options have changed since count for the finality that ended first after the revision. */
function countsAsOf(
  current: Counts = new Map(),
  changes: readonly OptionChange[] = [],
  event: string,
  moment: RegistryMoment,
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
