import { existsSync } from 'node:fs';
import { commandTarget, type DatabaseTarget } from '../../config/database-target.ts';
import type { Config } from '../../config.ts';
import { ACTORS } from '../../domain/keys/actors.ts';
import type { Database } from '../../store/database/database.ts';
import { openStore } from '../../store/open-store.ts';
import type { Change } from '../../store/tenants/audit.ts';
import { entityExists } from '../../store/tenants/entities.ts';
import type { SecretBox } from '../../store/tenants/secret-box.ts';
import { CommandError } from '../terminal/command-error.ts';
import { PAYBELL } from '../terminal/invocation.ts';
import { readSettings } from './settings.ts';

export type Session = { db: Database; box: SecretBox; config: Config };

/**
 * Opens the database with the same settings as the server. Only a command that creates an object may create the
 * database: any other command would leave an empty database if DATABASE_URL is mistyped.
 */
export async function withStore<Value>(
  work: (store: Session) => Promise<Value>,
  { create = false }: { create?: boolean } = {},
): Promise<Value> {
  const config = readSettings();
  if (!create) requireStore(config.DATABASE_URL);
  const { db, box } = await openStore(config, commandTarget(config));
  try {
    return await work({ db, box, config });
  } finally {
    await db.close();
  }
}

function requireStore(target: DatabaseTarget): void {
  if (target.engine === 'postgres' || existsSync(target.file)) return;
  throw new CommandError(
    `there is no store at ${target.file}: check DATABASE_URL, or create one with: ${PAYBELL} entities create --name <name>`,
  );
}

export async function requireEntity(db: Database, entityId: string): Promise<void> {
  if (!(await entityExists(db, entityId))) throw new CommandError(`there is no entity ${entityId}`);
}

/** Commands on the database need no key, so the audit log names the command line as the actor. */
export function changeByCommandLine(): Change {
  return { actor: ACTORS.commandLine, nowS: secondsNow() };
}

export function secondsNow(): number {
  return Math.floor(Date.now() / 1000);
}
