import type { Dialect, Queries, SqlInteger } from './database.ts';

/** The database's clock in Unix milliseconds: the only clock that all instances share. */
export async function readNowMs(queries: Pick<Queries, 'get'>, { nowMs, leaseClock }: Dialect): Promise<number> {
  const row = await queries.get<{ now_ms: SqlInteger }>(`select ${nowMs} as now_ms`);
  const readMs = Number(row?.now_ms ?? 0);
  leaseClock.note(readMs);
  return readMs;
}
