import { type Config, loadConfig } from '../config.ts';
import { openStore } from '../service.ts';
import type { Database } from '../store/database.ts';

/** Commands of the operator work on the store itself, by the same settings as the server. */
export async function withStore<Value>(work: (db: Database, config: Config) => Promise<Value>): Promise<Value> {
  const config = loadConfig(process.env);
  const db = await openStore(config);
  try {
    return await work(db, config);
  } finally {
    await db.close();
  }
}

export function secondsNow(): number {
  return Math.floor(Date.now() / 1000);
}
