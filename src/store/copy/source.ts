import type { Database as Connection } from 'bun:sqlite';
import { existsSync } from 'node:fs';
import { MIGRATIONS, rejectDevelopmentStore, SchemaTooNewError } from '../database/migrate.ts';
import { readInteger } from '../database/sql.ts';
import { openReader } from '../database/sqlite/connect.ts';
import { ConnectionQueries, codeOf } from '../database/sqlite/connection-queries.ts';
import { lockForServer, type ServerLock } from '../database/sqlite/server-lock.ts';
import { canonicalText, jsonOfKey, jsonOfRow, type Key, type KeyRange, withinRange } from './row-text.ts';
import { type CopiedTable, readTables } from './tables.ts';
import { CopyError } from './unfinished.ts';

/** How long to wait for the write lock. Several commands may be writing to the store, each for a moment. */
const LOCK_TIMEOUT_MS = 5_000;

/** A batch ends with the row that reaches one of the limits. A row has at most some hundred kilobytes. */
export type BatchLimits = { readonly rows: number; readonly bytes: number };

/** Rows as the elements of a JSON array, and the key of the last row. */
export type Batch = { readonly json: string; readonly rows: number; readonly lastKey: Key | null };

export type Sum = { readonly rows: number; readonly checksum: bigint };

/**
 * The SQLite database that is copied, which the copy only reads. No server starts on it during the copy, and no command changes
 * it, because the connection holds SQLite's write lock.
 */
export class CopySource {
  private constructor(
    readonly file: string,
    private readonly connection: Connection,
    private readonly lock: ServerLock,
    readonly tables: readonly CopiedTable[],
  ) {}

  static async open(file: string): Promise<CopySource> {
    if (!existsSync(file)) throw new CopyError(`there is no store at ${file}`);
    const lock = lockForServer(file);
    let connection: Connection | null = null;
    try {
      connection = openReader(file);
      lockWrites(connection, file);
      const queries = new ConnectionQueries(connection);
      await requireSchema(queries, file);
      return new CopySource(file, connection, lock, await readTables(queries));
    } catch (error) {
      if (connection !== null) closeUnlocked(connection);
      lock.release();
      throw error;
    }
  }

  get queries(): ConnectionQueries {
    return new ConnectionQueries(this.connection);
  }

  /** The row count of each table, in order. */
  countRows(): number[] {
    return this.tables.map(({ name }) => {
      const row = this.connection.query(`select count(*) as rows from "${name}"`).get() as { rows: number };
      return row.rows;
    });
  }

  /** The first rows of the table after a key; an empty batch after the last row. */
  readBatch(table: CopiedTable, after: Key | null, limits: BatchLimits): Batch {
    const lines: string[] = [];
    const lastKey = this.#walk(table, jsonOfRow(table), after, limits, (line) => lines.push(line));
    return { json: `[${lines.join(',')}]`, rows: lines.length, lastKey };
  }

  /** The sum of the checksums of the first rows after a key, and the range that these rows cover. The last range has no end. */
  sumBatch(table: CopiedTable, after: Key | null, limits: BatchLimits): Sum & { readonly range: KeyRange } {
    let [rows, checksum] = [0, 0n];
    const upTo = this.#walk(table, canonicalText(table, 'sqlite'), after, limits, (text) => {
      rows++;
      checksum += checksumOf(text);
    });
    return { rows, checksum, range: { after, upTo } };
  }

  close(): void {
    closeUnlocked(this.connection);
    this.lock.release();
  }

  /** Returns the key of the last row, or null if no row follows it. */
  #walk(
    table: CopiedTable,
    expression: string,
    after: Key | null,
    limits: BatchLimits,
    take: (text: string) => void,
  ): Key | null {
    const { where, values } = withinRange(table, { after, upTo: null }, 'sqlite');
    const order = table.key.map(({ name }) => `"${name}"`).join(', ');
    const statement = this.connection.query<{ text: string; key: string }, typeof values>(
      `select ${expression} as text, ${jsonOfKey(table)} as key from "${table.name}" where ${where}
       order by ${order} limit ${limits.rows}`.replace(/\$(\d+)/g, '?$1'),
    );
    let [rows, bytes] = [0, 0];
    for (const { text, key } of statement.iterate(...values)) {
      take(text);
      rows++;
      bytes += text.length;
      if (rows === limits.rows || bytes >= limits.bytes) return JSON.parse(key);
    }
    return null;
  }
}

/** The first 64 bits of a hash, as a signed number, like a bigint of PostgreSQL. */
function checksumOf(text: string): bigint {
  return Buffer.from(Bun.SHA256.hash(text).buffer).readBigInt64BE(0);
}

function lockWrites(connection: Connection, file: string): void {
  try {
    connection.exec(`pragma busy_timeout = ${LOCK_TIMEOUT_MS}`);
    // SQLite gives the lock only to connections that may write.
    connection.exec('pragma query_only = off');
    connection.exec('begin immediate');
    connection.exec('pragma query_only = on');
  } catch (error) {
    if (!codeOf(error).startsWith('SQLITE_BUSY')) throw error;
    throw new CopyError(`another command is writing to ${file}: wait until it has ended, and copy again`);
  }
}

/** Ends the transaction before closing. Otherwise the connection would keep its locks until its last statement is collected as garbage. */
function closeUnlocked(connection: Connection): void {
  if (connection.inTransaction) connection.exec('rollback');
  connection.close();
}

async function requireSchema(queries: ConnectionQueries, file: string): Promise<void> {
  const found = await queries.get(`select 1 from sqlite_master where name = 'schema_migrations'`);
  if (found === undefined) throw new CopyError(`${file} is not a store of Paybell`);
  await rejectDevelopmentStore(queries);
  const version = await readInteger(queries, 'max(version)', 'from schema_migrations');
  const known = MIGRATIONS.at(-1)?.version ?? 0;
  if (version > known) throw new SchemaTooNewError(version, known);
  if (version < known) {
    throw new CopyError(
      `${file} has schema version ${version}, and this release needs ${known}: take a backup, run paybell migrate with ` +
        `DATABASE_URL=sqlite:${file}, and copy again`,
    );
  }
}
