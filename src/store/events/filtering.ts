import { BoundedMap } from '../../bounded-map.ts';
import { defaultFinality, finalityText } from '../../domain/chain/finality.ts';
import { type CompiledFilter, compileFilter, Payload } from '../../domain/payload-filter/payload-filter.ts';
import type { Queries } from '../database/database.ts';
import { Columns, integer, Parameters, type RowOf, readInteger, text } from '../database/sql.ts';
import { parseFilter, readFilterTexts } from '../webhooks/filters.ts';
import type { NewEvent, Receiver } from './plan-acceptance.ts';
import { WorkPace } from './work-pace.ts';

/** Which of the webhooks for an event want it, by their filters. */

/** A filter in memory takes a few times the bytes of its text. */
const MAX_KEPT_BYTES = 16 * 1024 * 1024;
type Kept = { readonly bytes: number; readonly filter: CompiledFilter };

/** By entity and hash of the text, so that nothing that is kept here can be out of date. */
const kept = new BoundedMap<string, Kept>(MAX_KEPT_BYTES, { weigh: ({ bytes }) => bytes });

type Filtered = Pick<NewEvent, 'entityId' | 'event' | 'body' | 'finality'>;

/** The payload of each event, so that its fields are read once for all statements of its acceptance. */
const payloads = new WeakMap<Filtered, Payload>();

function payloadOf(event: Filtered): Payload {
  const payload = payloads.get(event) ?? new Payload(event.body);
  payloads.set(event, payload);
  return payload;
}

/** Returns the webhooks with the finality of the event whose filters accept it. */
export async function wantedBy(
  queries: Queries,
  event: Filtered,
  found: readonly Receiver[],
  pace = new WorkPace(),
): Promise<readonly Receiver[]> {
  const { entityId, finality = null } = event;
  const receivers = finality === null ? found : withFinality(found, event.event, finality);
  if (receivers.every(({ filterHash }) => filterHash === null)) return receivers;
  const filters = await loadFilters(
    queries,
    entityId,
    receivers.map(({ filterHash }) => filterHash),
    pace,
  );
  const payload = payloadOf(event);
  const wanted: Receiver[] = [];
  await pace.forEach(receivers, (receiver) => {
    const filter = receiver.filterHash === null ? undefined : filters.get(receiver.filterHash);
    if (filter === undefined || payload.matches(filter)) wanted.push(receiver);
  });
  return wanted;
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

/** Filters that one statement reads: SQLite runs it on the event loop, within two milliseconds. */
const FILTERS_PER_READ = 500;

async function countUnwanted(queries: Queries, event: NewEvent): Promise<number> {
  const pace = new WorkPace();
  const payload = payloadOf(event);
  let unwanted = 0;
  for (let after: string | undefined = ''; after !== undefined; ) {
    const groups = await readFilterGroups(queries, event, after);
    const hashes = groups.map(({ filterHash }) => filterHash);
    const filters = await loadFilters(queries, event.entityId, hashes, pace);
    await pace.forEach(groups, ({ filterHash, webhooks }) => {
      const filter = filters.get(filterHash);
      if (filter !== undefined && !payload.matches(filter)) unwanted += webhooks;
    });
    after = groups.length < FILTERS_PER_READ ? undefined : hashes.at(-1);
  }
  return unwanted;
}

/** The next filters in the order of their hashes, each with the number of webhooks that have it. */
function readFilterGroups(queries: Queries, event: NewEvent, after: string): Promise<RowOf<typeof groupColumns>[]> {
  const parameters = new Parameters();
  const webhooks = webhooksFor(event, parameters);
  return groupColumns.all(
    queries,
    `select ${groupColumns.list} ${webhooks} and filter_hash is not null and filter_hash > ${parameters.bind(after)}
     group by filter_hash order by filter_hash limit ${FILTERS_PER_READ}`,
    parameters.values,
  );
}

/** By hash; without the filters of webhooks that were deleted since they were read. */
async function loadFilters(
  queries: Queries,
  entityId: string,
  hashes: readonly (string | null)[],
  pace: WorkPace,
): Promise<Map<string, CompiledFilter>> {
  const filters = new Map<string, CompiledFilter>();
  const missing: string[] = [];
  for (const hash of new Set(hashes)) {
    const known = hash === null ? undefined : kept.get(`${entityId} ${hash}`);
    if (known !== undefined && hash !== null) filters.set(hash, known.filter);
    else if (hash !== null) missing.push(hash);
  }
  if (missing.length === 0) return filters;
  await pace.forEach(await readFilterTexts(queries, entityId, missing), ([hash, text]) => {
    const filter = compileFilter(parseFilter(text));
    kept.set(`${entityId} ${hash}`, { bytes: text.length, filter });
    filters.set(hash, filter);
  });
  return filters;
}
