import type { StoredFact } from '../../../domain/chain/facts.ts';
import type { Queries } from '../../database/database.ts';
import { Columns, integer, nullable, Parameters, type RowOf, text } from '../../database/sql.ts';
import { heldColumns, toStored } from '../read/stored-facts.ts';
import { MOST_BLOCKS } from './hold.ts';

/**
 * Selects the held events for which a poll asks nodes. Entities take turns: one event of each entity, beginning with the entity
 * that waited longest, then a second event of each. A poll reads a bounded number of rows, however many events wait: a few index
 * entries for each entity, and then some events of the first entities.
 */

/** Entities that one poll looks at. If there are more, the next poll continues with the entities after them. */
const MAX_HOLDERS = 1_000;
/** Entities whose events one poll reads, and the events that it reads in all and for each entity. */
const MAX_SERVED = 50;
const MAX_READ = 400;
const MAX_OF_ENTITY = 50;
/** Events that the poll gets. */
const MAX_HELD = 50;

const IS_HELD = 'network_id = $1 and next_ask_block is not null';

const ofHolder = (value: string) =>
  `(select ${value} from facts where ${IS_HELD} and facts.entity_id = listed.entity_id)`;
const holderColumns = new Columns({
  entityId: text('entity_id'),
  lastMs: nullable(integer(ofHolder('max(asked_at_ms)'))),
  firstDue: integer(ofHolder('min(next_ask_block)')),
  lastDue: integer(ofHolder('max(next_ask_block)')),
});
type Holder = RowOf<typeof holderColumns>;

/** Finds the entities with held events. Each step seeks the next entity in the index and skips the events in between. */
const HOLDERS = `with recursive holders (entity_id) as (
    select min(entity_id) from facts where ${IS_HELD} and entity_id > $2
    union all
    select (select min(facts.entity_id) from facts where ${IS_HELD} and facts.entity_id > holders.entity_id)
    from holders where holders.entity_id is not null
  ), listed as (select entity_id from holders where entity_id is not null limit ${MAX_HOLDERS})
  select ${holderColumns.list} from listed`;

export type DueHeld = {
  readonly facts: StoredFact[];
  /** The entity after which the next poll continues; empty if it starts with the first one. */
  readonly nextAfter: string;
};

/** Held events of a network that are due in the poll after this head. That poll may read the next block. */
export async function readDueHeld(
  queries: Pick<Queries, 'all'>,
  { networkId, head, after }: { readonly networkId: number; readonly head: number; readonly after: string },
): Promise<DueHeld> {
  const holders = await holderColumns.all(queries, HOLDERS, [networkId, after]);
  const nextAfter = holders.length < MAX_HOLDERS ? '' : (holders.at(-1)?.entityId ?? '');
  // A wait above the maximum was stored before the head went back, and counts as over.
  const isDue = (block: number) => block <= head + 1 || block > head + MOST_BLOCKS;
  const served = holders
    .filter(({ firstDue, lastDue }) => isDue(firstDue) || isDue(lastDue))
    .sort((a, b) => (a.lastMs ?? 0) - (b.lastMs ?? 0))
    .slice(0, MAX_SERVED);
  return { facts: served.length === 0 ? [] : await readOf(queries, served, networkId, head), nextAfter };
}

async function readOf(
  queries: Pick<Queries, 'all'>,
  served: readonly Holder[],
  networkId: number,
  head: number,
): Promise<StoredFact[]> {
  const parameters = new Parameters(networkId, head);
  const most = Math.min(MAX_OF_ENTITY, Math.floor(MAX_READ / served.length));
  const lists = served.map(
    ({ entityId }, index) => `select * from (select ${heldColumns.list} from facts
      where ${IS_HELD} and entity_id = ${parameters.bind(entityId)}
        and (next_ask_block <= cast($2 as bigint) + 1 or next_ask_block > cast($2 as bigint) + ${MOST_BLOCKS})
      order by next_ask_block, id limit ${most}) list${index}`,
  );
  const rows = await heldColumns.all(queries, lists.join(' union all '), parameters.values);
  const byEntity = Map.groupBy(rows, ({ entityId }) => entityId);
  const turns = served.map(({ entityId }) => (byEntity.get(entityId) ?? []).sort(byDue));
  const inTurns = Array.from({ length: most }, (_, turn) => turns.flatMap((own) => own[turn] ?? [])).flat();
  return toStored(inTurns.slice(0, MAX_HELD));
}

type Held = RowOf<typeof heldColumns>;

function byDue(a: Held, b: Held): number {
  return (a.nextAskBlock ?? 0) - (b.nextAskBlock ?? 0) || (a.factId < b.factId ? -1 : 1);
}
