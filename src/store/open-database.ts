import type { DatabaseTarget } from '../config.ts';
import type { Database } from './database.ts';
import { openPostgres } from './postgres.ts';
import { openSqlite } from './sqlite.ts';

export function openDatabase(target: DatabaseTarget): Promise<Database> {
  return target.engine === 'sqlite' ? openSqlite(target.file) : openPostgres(target.url);
}
