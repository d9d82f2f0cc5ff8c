import { BoundedMap } from '../../bounded-map.ts';
import { defaultFinality, finalityText } from '../../domain/chain/finality.ts';
import { type CompiledFilter, compileFilter, Payload } from '../../domain/payload-filter/payload-filter.ts';
import type { Queries } from '../database/database.ts';
import { Columns, integer, Parameters, readInteger, text } from '../database/sql.ts';
import { parseFilter, readFilterTexts } from '../webhooks/filters.ts';
import type { NewEvent, Receiver } from './plan-acceptance.ts';

/** Which of the webhooks for an event want it, by their filters. */

/** A filter in memory takes a few times the bytes of its text. */
const MAX_KEPT_BYTES = 16 * 1024 * 1024;
type Kept = { readonly bytes: number; readonly filter: CompiledFilter };

/** By entity and hash of the text, so that nothing that is kept here can be out of date. */
const kept = new BoundedMap<string, Kept>(MAX_KEPT_BYTES, { weigh: ({ bytes }) => bytes });

type Filtered = Pick<NewEvent, 'entityId' | 'event' | 'body' | 'finality'>;

/** Those with the finality of the event, whose filters let it pass. */
export async function wantedBy(
  queries: Queries,
  event: Filtered,
  found: readonly Receiver[],
): Promise<readonly Receiver[]> {
  const { entityId, body, finality = null } = event;
  const receivers = finality === null ? found : withFinality(found, event.event, finality);
  if (receivers.every(({ filterHash }) => filterHash === null)) return receivers;
  const filters = await loadFilters(
    queries,
    entityId,
    receivers.map(({ filterHash }) => filterHash),
  );
  const payload = new Payload(body);
  return receivers.filter(({ filterHash }) => {
    const filter = filterHash === null ? undefined : filters.get(filterHash);
    return filter === undefined || payload.matches(filter);
  });
}

function withFinality(receivers: readonly Receiver[], event: string, finality: string): readonly Receiver[] {
  const byDefault = finalityText(defaultFinality(event));
  return receivers.filter((receiver) => (receiver.finality ?? byDefault) === finality);
}

const groupColumns = new Columns({ filterHash: text('filter_hash'), webhooks: integer('count(*)') });

/** The webhooks for a network and event that have the finality of the event. */
function webhooksFor(event: NewEvent, parameters: Parameters): string {
  const { entityId, networkId, event: kind, finality = null } = event;
  const cell = [
    `entity_id = ${parameters.bind(entityId)}`,
    `network_id = ${parameters.bind(networkId)}`,
    `event = ${parameters.bind(kind)}`,
  ];
  if (finality !== null) {
    const byDefault = finality === finalityText(defaultFinality(kind)) ? 'or finality is null' : '';
    cell.push(`(finality = ${parameters.bind(finality)} ${byDefault})`);
  }
  return `from webhooks where ${cell.join(' and ')}`;
}

/** How many webhooks an event goes to in all. */
export async function countReceivers(queries: Queries, event: NewEvent): Promise<number> {
  const parameters = new Parameters();
  const all = await readInteger(queries, 'count(*)', webhooksFor(event, parameters), parameters.values);
  return all - (await countUnwanted(queries, event));
}

async function countUnwanted(queries: Queries, event: NewEvent): Promise<number> {
  const { entityId, body } = event;
  const parameters = new Parameters();
  const groups = await groupColumns.all(
    queries,
    `select ${groupColumns.list} ${webhooksFor(event, parameters)} and filter_hash is not null group by filter_hash`,
    parameters.values,
  );
  if (groups.length === 0) return 0;
  const filters = await loadFilters(
    queries,
    entityId,
    groups.map(({ filterHash }) => filterHash),
  );
  const payload = new Payload(body);
  const unwanted = groups.filter(({ filterHash }) => {
    const filter = filters.get(filterHash);
    return filter !== undefined && !payload.matches(filter);
  });
  return unwanted.reduce((sum, { webhooks }) => sum + webhooks, 0);
}

/** By hash; without the filters of webhooks that were deleted since they were read. */
async function loadFilters(
  queries: Queries,
  entityId: string,
  hashes: readonly (string | null)[],
): Promise<Map<string, CompiledFilter>> {
  const filters = new Map<string, CompiledFilter>();
  const missing: string[] = [];
  for (const hash of new Set(hashes)) {
    const known = hash === null ? undefined : kept.get(`${entityId} ${hash}`);
    if (known !== undefined && hash !== null) filters.set(hash, known.filter);
    else if (hash !== null) missing.push(hash);
  }
  if (missing.length === 0) return filters;
  for (const [hash, text] of await readFilterTexts(queries, entityId, missing)) {
    const filter = compileFilter(parseFilter(text));
    kept.set(`${entityId} ${hash}`, { bytes: text.length, filter });
    filters.set(hash, filter);
  }
  return filters;
}
