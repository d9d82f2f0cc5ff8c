import { defaultFinality, finalityText } from '../../domain/chain/finality.ts';
import type { Queries } from '../database/database.ts';
import { Columns, chunks, integer, text, valuesList } from '../database/sql.ts';

/** Which finalities the webhooks of entities ask for. An event that no webhook wants is not made. */

const distinctColumns = new Columns({ finality: text('finality') });

/** All that any webhook of the network asks for beside the defaults. */
export async function readFinalities(queries: Queries, networkId: number): Promise<string[]> {
  const rows = await distinctColumns.all(
    queries,
    `select distinct ${distinctColumns.list} from webhooks where finality is not null and network_id = $1`,
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

export type Wanted = {
  /** The finalities at which an entity wants to hear of an event kind. */
  readonly of: (entityId: string, event: string) => ReadonlySet<string>;
};

export async function readWanted(queries: Queries, networkId: number, entityIds: readonly string[]): Promise<Wanted> {
  const wanted = new Map<string, Set<string>>();
  const add = (entityId: string, event: string, finality: string) => {
    const key = `${entityId} ${event}`;
    wanted.set(key, (wanted.get(key) ?? new Set()).add(finality));
  };
  const listening = new Set<string>();
  for (const chunk of chunks(entityIds)) {
    const which = `entity_id in ${valuesList(1, chunk.length, 1)} and network_id = $1`;
    const parameters = [networkId, ...chunk];
    const chosen = await chosenColumns.all(
      queries,
      `select ${chosenColumns.list} from webhooks where ${which} and finality is not null group by entity_id, event, finality`,
      parameters,
    );
    const left = new Map<string, number>();
    for (const { entityId, event, finality, webhooks } of chosen) {
      add(entityId, event, finality);
      left.set(`${entityId} ${event}`, (left.get(`${entityId} ${event}`) ?? 0) - webhooks);
    }
    const all = await allColumns.all(
      queries,
      `select ${allColumns.list} from webhook_counts where ${which}`,
      parameters,
    );
    for (const { entityId, event, webhooks } of all) {
      const byDefault = webhooks + (left.get(`${entityId} ${event}`) ?? 0);
      if (byDefault > 0) add(entityId, event, finalityText(defaultFinality(event)));
    }
    const sessions = await listeningColumns.all(
      queries,
      `select distinct ${listeningColumns.list} from listen_sessions
       where ended = 0 and entity in ${valuesList(1, chunk.length)}`,
      chunk,
    );
    for (const { entityId } of sessions) listening.add(entityId);
  }
  return {
    of: (entityId, event) => {
      const found = wanted.get(`${entityId} ${event}`) ?? new Set<string>();
      // A listen session hears of everything, at the finality that webhooks have by default.
      return listening.has(entityId) ? new Set(found).add(finalityText(defaultFinality(event))) : found;
    },
  };
}
