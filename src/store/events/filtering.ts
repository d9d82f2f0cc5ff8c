import { BoundedMap } from '../../bounded-map.ts';
import { defaultFinality, finalityText } from '../../domain/chain/finality.ts';
import { finalityFor } from '../../domain/chain/finality-by-amount.ts';
import { type CompiledFilter, compileFilter, Payload } from '../../domain/payload-filter/payload-filter.ts';
import type { Queries } from '../database/database.ts';
import { Columns, chunks, integer, Parameters, type RowOf, readInteger, text } from '../database/sql.ts';
import { parseFilter, readFilterTexts } from '../webhooks/filters.ts';
import type { NewEvent, Receiver } from './acceptance.ts';
import { WorkPace } from './work-pace.ts';

/** Decides which webhooks want an event, by their finalities and filters. */

/** The limit on the texts of kept filters. A filter in memory takes a few times the bytes of its text. */
const MAX_KEPT_BYTES = 16 * 1024 * 1024;
type Kept = { readonly bytes: number; readonly filter: CompiledFilter };

/** Filters by entity and hash of the text. Because a hash identifies a text, a kept filter is never out of date. */
const kept = new BoundedMap<string, Kept>(MAX_KEPT_BYTES, { weigh: ({ bytes }) => bytes });

type Filtered = Pick<NewEvent, 'entityId' | 'event' | 'body' | 'finality' | 'ruleAmount'>;

/** The payload of each event, so that its fields are read once for all statements of its acceptance. */
const payloads = new WeakMap<Filtered, Payload>();

function payloadOf(event: Filtered): Payload {
  const payload = payloads.get(event) ?? new Payload(event.body);
  payloads.set(event, payload);
  return payload;
}

type WithOptions = Pick<Receiver, 'finality' | 'filterHash'>;

/** Returns the webhooks that want the finality of the event and whose filters accept it. */
export async function wantedBy<Webhook extends WithOptions>(
  queries: Queries,
  event: Filtered,
  found: readonly Webhook[],
  pace = new WorkPace(),
): Promise<readonly Webhook[]> {
  const { entityId, finality = null } = event;
  const receivers = finality === null ? found : withFinality(found, event, finality);
  if (receivers.every(({ filterHash }) => filterHash === null)) return receivers;
  const filters = await loadFilters(
    queries,
    entityId,
    receivers.map(({ filterHash }) => filterHash),
    pace,
  );
  const payload = payloadOf(event);
  const wanted: Webhook[] = [];
  await pace.forEach(receivers, (receiver) => {
    const filter = receiver.filterHash === null ? undefined : filters.get(receiver.filterHash);
    if (filter === undefined || payload.matches(filter)) wanted.push(receiver);
  });
  return wanted;
}

function withFinality<Webhook extends WithOptions>(
  receivers: readonly Webhook[],
  { event, ruleAmount = null }: Filtered,
  finality: string,
): readonly Webhook[] {
  const byDefault = finalityText(defaultFinality(event));
  // Many webhooks share a finality, and parsing rules takes longer than a look-up.
  const levels = new Map<string, string>();
  return receivers.filter((receiver) => {
    const stored = receiver.finality ?? byDefault;
    const level = levels.get(stored) ?? finalityFor(stored, ruleAmount);
    levels.set(stored, level);
    return level === finality;
  });
}

const rulesColumns = new Columns({ finality: text('finality') });

/** The stored rules by amount that want the finality of the event. */
async function readRulesFor(queries: Queries, event: NewEvent): Promise<string[]> {
  const { entityId, networkId, event: kind, finality, ruleAmount = null } = event;
  const rows = await rulesColumns.all(
    queries,
    `select distinct ${rulesColumns.list} from webhooks
     where entity_id = $1 and network_id = $2 and event = $3 and finality is not null and finality like '{%'`,
    [entityId, networkId, kind],
  );
  return rows.flatMap((row) => (finalityFor(row.finality, ruleAmount) === finality ? row.finality : []));
}

/** Some of the stored finalities, so that a statement has few parameters. Null stands for any finality. */
type StoredFinalities = readonly string[] | null;

/** The stored finalities that a webhook for the event can have, in chunks. */
async function finalitiesFor(queries: Queries, event: NewEvent): Promise<StoredFinalities[]> {
  if (event.finality == null) return [null];
  return [...chunks([event.finality, ...(await readRulesFor(queries, event))])];
}

const groupColumns = new Columns({ filterHash: text('filter_hash'), webhooks: integer('count(*)') });

/** The webhooks for the network and the kind of an event that have one of these finalities. */
function webhooksFor(event: NewEvent, finalities: StoredFinalities, parameters: Parameters): string {
  const { entityId, networkId, event: kind } = event;
  const cell = [
    `entity_id = ${parameters.bind(entityId)}`,
    `network_id = ${parameters.bind(networkId)}`,
    `event = ${parameters.bind(kind)}`,
  ];
  if (finalities !== null) {
    const byDefault = finalities.includes(finalityText(defaultFinality(kind))) ? 'or finality is null' : '';
    cell.push(`(finality in ${parameters.list(finalities)} ${byDefault})`);
  }
  return `from webhooks where ${cell.join(' and ')}`;
}

/** How many webhooks get an event in all. */
export async function countReceivers(queries: Queries, event: NewEvent): Promise<number> {
  let receivers = 0;
  for (const finalities of await finalitiesFor(queries, event)) {
    const parameters = new Parameters();
    const all = await readInteger(queries, 'count(*)', webhooksFor(event, finalities, parameters), parameters.values);
    receivers += all - (await countUnwanted(queries, event, finalities));
  }
  return receivers;
}

/** Filters that one statement reads, so that SQLite blocks the event loop for at most two milliseconds. */
const FILTERS_PER_READ = 500;

async function countUnwanted(queries: Queries, event: NewEvent, finalities: StoredFinalities): Promise<number> {
  const pace = new WorkPace();
  const payload = payloadOf(event);
  let unwanted = 0;
  for (let after: string | undefined = ''; after !== undefined; ) {
    const groups = await readFilterGroups(queries, event, finalities, after);
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
function readFilterGroups(
  queries: Queries,
  event: NewEvent,
  finalities: StoredFinalities,
  after: string,
): Promise<RowOf<typeof groupColumns>[]> {
  const parameters = new Parameters();
  const webhooks = webhooksFor(event, finalities, parameters);
  return groupColumns.all(
    queries,
    `select ${groupColumns.list} ${webhooks} and filter_hash is not null and filter_hash > ${parameters.bind(after)}
     group by filter_hash order by filter_hash limit ${FILTERS_PER_READ}`,
    parameters.values,
  );
}

/** The filters by hash. Filters of webhooks that were deleted since are missing. */
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
