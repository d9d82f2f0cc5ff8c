import type { DeliveryFilter } from '../../../contract/deliveries/redelivery.ts';
import { eventNumber, hexOfId } from '../../../domain/ids.ts';
import { entityKeyPrefix } from '../../../domain/post-url.ts';
import type { Dialect, Queries, SqlUuid } from '../../database/database.ts';
import { entityKey, type Parameters } from '../../database/sql.ts';
import { findEventNo } from '../../events/event-ids.ts';
import { findEventsAbout } from '../../events/subjects.ts';

/**
 * The meaning of a search text: a delivery, an event, the events of a transfer or of an agreement, or the beginning of
 * a URL or of a host. The first match in this order counts.
 */
export type Found = {
  /** The numbers of events, and the one delivery if the text is its id. Both are null if the text is about URLs. */
  readonly eventNos: readonly string[] | null;
  readonly deliveryHex: string | null;
  readonly place: UrlPlace | null;
};

/** Beginnings of URLs or of destinations, as the heads of webhooks have them. */
export type UrlPlace = { readonly column: 'post_url' | 'destination'; readonly beginnings: readonly string[] };

const SCHEMES = ['https://', 'http://'];
const HOST = /^[a-z0-9_[][a-z0-9_.:[\]-]*(\/[\x21-\x7e]*)?$/i;

/** How much later than its event a delivery may be created, because the event is held or its fan-out continues. */
const LATEST_DELIVERY_S = 24 * 3_600;

/** Finds the meaning of a search text. Returns null if nothing can match. */
export async function findByText(
  queries: Queries,
  dialect: Dialect,
  entityId: string,
  { q = '', since }: Pick<DeliveryFilter, 'q' | 'since'>,
): Promise<Found | null> {
  if (q.includes('://')) return ofUrls(placeOf(entityId, q));
  const entity = entityKey(dialect, entityId);
  const deliveryHex = hexOfId('dlv', q);
  if (deliveryHex !== null) {
    const eventNo = await eventOfDelivery(queries, dialect, entity, deliveryHex);
    if (eventNo !== null) return { eventNos: [eventNo], deliveryHex, place: null };
  }
  const eventNo = await findEventNo(queries, dialect, entityId, q);
  if (eventNo !== null) return { eventNos: [eventNo], deliveryHex: null, place: null };
  const eventNos = await findEventsAbout(
    queries,
    dialect,
    entity,
    q,
    since === undefined ? 0 : since - LATEST_DELIVERY_S,
  );
  if (eventNos.length > 0) return { eventNos, deliveryHex: null, place: null };
  return HOST.test(q) ? ofUrls(placeOf(entityId, q)) : null;
}

function ofUrls(place: UrlPlace): Found {
  return { eventNos: null, deliveryHex: null, place };
}

/** Searches for a text without a path among destinations, which have the host in lower case, and the port. */
function placeOf(entityId: string, q: string): UrlPlace {
  const [, rest = q] = q.split('://', 2);
  const written = rest === q ? SCHEMES.map((scheme) => `${scheme}${q}`) : [q];
  if (/[/?]/.test(rest)) return { column: 'post_url', beginnings: written };
  const prefix = entityKeyPrefix(entityId);
  return { column: 'destination', beginnings: written.map((beginning) => `${prefix}${beginning.toLowerCase()}`) };
}

/** URLs are printable ASCII, and all printable characters sort before this one. */
const AFTER_ALL = '\x7f';

/** The condition for beginnings of URLs, as ranges without wildcards. */
export function urlCondition({ column, beginnings }: UrlPlace, parameters: Parameters): string {
  const ranges = beginnings.map(
    (beginning) =>
      `${column} >= ${parameters.bind(beginning)} and ${column} < ${parameters.bind(beginning + AFTER_ALL)}`,
  );
  return `(${ranges.join(' or ')})`;
}

async function eventOfDelivery(
  queries: Queries,
  { bindUuid }: Dialect,
  entity: SqlUuid,
  hex: string,
): Promise<string | null> {
  const where = 'where entity_id = $1 and id = $2';
  const sql = `select 1 as found from deliveries ${where} union all select 1 as found from queue ${where}`;
  return (await queries.get(sql, [entity, bindUuid(hex)])) === undefined ? null : eventNumber(hex);
}
