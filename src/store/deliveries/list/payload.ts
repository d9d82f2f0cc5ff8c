import { type DeliveryListQuery, MAX_PAYLOADS_SEARCHED, type SearchedPayloads } from '../../../contract/deliveries.ts';
import { eventNumber, timeOfHex } from '../../../domain/ids.ts';
import { Columns, chunks, integer, Parameters, uuid } from '../../database/sql.ts';
import { idsByDate } from './page.ts';
import { type DeliveryRow, readRows } from './rows.ts';
import type { Scope } from './scope.ts';

/**
 * Searches payloads for a text. No index leads to it, so the newest deliveries of the filter are read up to a limit.
 * The response says how far the search went.
 */

const MAX_BYTES = 64 * 1024 * 1024;
const PER_STATEMENT = 500;

export type PayloadMatches = { readonly totalResults: number; readonly rows: DeliveryRow[] } & {
  readonly searched: SearchedPayloads;
};

type Page = Pick<DeliveryListQuery, 'page' | 'limit' | 'sortDir'> & { readonly payload: string };

export async function findInPayloads(
  scope: Scope,
  { payload, page, limit, sortDir }: Page,
  totalInScope: number,
): Promise<PayloadMatches> {
  const newest = { page: 1, limit: MAX_PAYLOADS_SEARCHED, sortDir: 'desc' } as const;
  const ids = await idsByDate(scope, newest, totalInScope);
  const matches: string[] = [];
  let [looked, bytes] = [0, 0];
  for (const chunk of chunks(ids, PER_STATEMENT)) {
    if (bytes > MAX_BYTES) break;
    const eventOf = new Map(chunk.map((hex) => [hex, eventNumber(hex)]));
    const bodies = await readBodies(scope, [...new Set(eventOf.values())], payload);
    matches.push(...chunk.filter((hex) => bodies.matching.has(eventOf.get(hex) ?? '')));
    bytes += bodies.bytes;
    looked += chunk.length;
  }
  const oldest = ids[looked - 1];
  const searched = {
    deliveries: looked,
    dateOldest: oldest === undefined ? null : Math.floor(timeOfHex(oldest) / 1000),
  };
  if (sortDir === 'asc') matches.reverse();
  const shown = matches.slice((page - 1) * limit, page * limit);
  const rows = await readRows(scope.queries, scope.dialect, scope.entity, shown);
  return { totalResults: matches.length, rows, searched };
}

const bodyColumns = new Columns({ no: uuid('no'), bytes: integer('octet_length(body)'), isMatch: integer() });

async function readBodies(
  { queries, dialect: { bindUuid, hexOf, contains }, entity }: Scope,
  eventNos: readonly string[],
  payload: string,
): Promise<{ matching: Set<string>; bytes: number }> {
  const parameters = new Parameters(entity, payload);
  const rows = await bodyColumns.all(
    queries,
    `select ${bodyColumns.list}, case when ${contains('body', '$2')} then 1 else 0 end as "isMatch" from events
     where entity_id = $1 and no in ${parameters.list(eventNos.map(bindUuid))}`,
    parameters.values,
  );
  return {
    matching: new Set(rows.filter(({ isMatch }) => isMatch === 1).map(({ no }) => hexOf(no))),
    bytes: rows.reduce((sum, row) => sum + row.bytes, 0),
  };
}
