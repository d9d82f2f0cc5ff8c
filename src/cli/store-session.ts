import { type Config, loadConfig } from '../config.ts';
import { ACTORS } from '../domain/audit.ts';
import { openStore } from '../service.ts';
import type { Change } from '../store/audit.ts';
import type { Database } from '../store/database.ts';
import { entityExists } from '../store/entities.ts';
import type { SecretBox } from '../store/secret-box.ts';
import { CommandError } from './failure.ts';

export type Session = { db: Database; box: SecretBox; config: Config };

/** Commands of the operator work on the store itself, by the same settings as the server. */
export async function withStore<Value>(work: (store: Session) => Promise<Value>): Promise<Value> {
  const config = loadConfig(process.env);
  const { db, box } = await openStore(config);
  try {
    return await work({ db, box, config });
  } finally {
    await db.close();
  }
}

export async function requireEntity(db: Database, entityId: string): Promise<void> {
  if (!(await entityExists(db, entityId))) throw new CommandError(`there is no entity ${entityId}`);
}

/** Whoever can open the store needs no key; the audit calls them by the way they came in. */
export function changeByCommandLine(): Change {
  return { actor: ACTORS.commandLine, nowS: secondsNow() };
}

export function secondsNow(): number {
  return Math.floor(Date.now() / 1000);
}
