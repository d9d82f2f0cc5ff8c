import type { Database, Queries } from '../database/database.ts';
import { MIGRATIONS, migrate } from '../database/migrate.ts';
import { readInteger } from '../database/sql.ts';
import { readInstances } from '../instances.ts';
import { canonicalText, type Key, type KeyRange, TYPES, withinRange } from './row-text.ts';
import type { Batch, Sum } from './source.ts';
import type { CopiedTable } from './tables.ts';
import { CopyError, PROGRESS_TABLE } from './unfinished.ts';

/** A batch takes a fraction of a second. The deadline is for a server under load. */
const BATCH_DEADLINE_MS = 5 * 60_000;
/** For the statistics of whole tables, which take longer. */
const LONG_DEADLINE_MS = 60 * 60_000;

/**
 * Settings until the end of the transaction. If a crash of the server loses a commit, it also loses the commit's progress, so
 * commits do not wait for the disk. The last commit of a copy waits for all of them.
 */
const BATCH_SETTINGS = `select ${Object.entries({
  statement_timeout: '0',
  idle_in_transaction_session_timeout: '1min',
  synchronous_commit: 'off',
})
  .map(([name, value]) => `set_config('${name}', '${value}', true)`)
  .join(', ')}`;

/**
 * The position at which a copy continues. Tables before `table` are complete, and so are that table's rows up to the
 * key.
 */
export type Progress = { readonly table: number; readonly position: Key | null; readonly copied: number };

/** The PostgreSQL store that a copy goes into. Each batch is written in one transaction with the progress. */
export class CopyTarget {
  constructor(private readonly db: Database) {}

  /** Returns the position of an earlier copy of the same source. Returns null if there is none, after preparing an empty database. */
  async begin(tables: readonly CopiedTable[], source: string): Promise<Progress | null> {
    const found = await this.#readProgress(source);
    if (found !== null) return found;
    await this.#requireNoEntity();
    await migrate(this.db);
    await this.#requireNoServer();
    await this.#longTransaction(async (queries) => {
      for (const sql of this.db.dialect.lockStore) await queries.run(sql);
      for (const { name } of tables) {
        if ((await queries.get(`select 1 as found from "${name}" limit 1`)) !== undefined) throw notEmpty(name);
      }
      await queries.run(
        `create table ${PROGRESS_TABLE} (source text not null, table_no bigint not null, position text, copied bigint not null)`,
      );
      await queries.run(`insert into ${PROGRESS_TABLE} (source, table_no, copied) values ($1, 0, 0)`, [source]);
    });
    return null;
  }

  /** `progress` is the position of the copy after the batch. */
  async write(table: CopiedTable, batch: Batch, progress: Progress): Promise<void> {
    const names = table.columns.map(({ name }) => `"${name}"`).join(', ');
    const types = table.columns.map(({ name, kind }) => `"${name}" ${TYPES[kind]}`).join(', ');
    await this.#batchTransaction(async (queries) => {
      const before = progress.copied - batch.rows;
      const moved = await queries.run(
        `update ${PROGRESS_TABLE} set table_no = $1, position = $2, copied = $3 where copied = $4`,
        [
          progress.table,
          progress.position === null ? null : JSON.stringify(progress.position),
          progress.copied,
          before,
        ],
      );
      if (moved === 0) throw new CopyError('another copy into the same store is running: wait until it has ended');
      if (batch.rows === 0) return;
      await queries.run(
        `insert into "${table.name}" (${names})
         select ${names} from json_to_recordset(cast(cast($1 as text) as json)) as r (${types})`,
        [batch.json],
      );
    });
  }

  async sum(table: CopiedTable, range: KeyRange): Promise<Sum> {
    const { where, values } = withinRange(table, range, 'postgres');
    const hash = `encode(sha256(convert_to(${canonicalText(table, 'postgres')}, 'UTF8')), 'hex')`;
    const sum = `sum(cast(cast('x' || substr(${hash}, 1, 16) as bit(64)) as bigint))`;
    const found = await this.#batchTransaction((queries) =>
      queries.get<{ rows: string; checksum: string }>(
        `select count(*) as rows, cast(coalesce(${sum}, 0) as text) as checksum from "${table.name}" where ${where}`,
        values,
      ),
    );
    return { rows: Number(found?.rows ?? 0), checksum: BigInt(found?.checksum ?? 0) };
  }

  /** Gives the planner its statistics, and lets servers start. */
  async finish(tables: readonly CopiedTable[]): Promise<void> {
    await this.#longTransaction(async (queries) => {
      for (const { name } of tables) await queries.run(`analyze "${name}"`);
      await queries.run(`drop table ${PROGRESS_TABLE}`);
    });
  }

  async #readProgress(source: string): Promise<Progress | null> {
    if ((await this.db.get(this.db.dialect.findTable, [PROGRESS_TABLE])) === undefined) return null;
    const found = await this.db.get<{ source: string; table_no: string; position: string | null; copied: string }>(
      `select source, table_no, position, copied from ${PROGRESS_TABLE}`,
    );
    const version = await readInteger(this.db, 'max(version)', 'from schema_migrations');
    if (found?.source !== source || version !== MIGRATIONS.at(-1)?.version) {
      throw new CopyError(
        'the target has the beginning of a copy of another store, or of this one before it was changed or upgraded: drop the ' +
          'target database, create it again, and copy again',
      );
    }
    const position = found.position === null ? null : (JSON.parse(found.position) as Key);
    return { table: Number(found.table_no), position, copied: Number(found.copied) };
  }

  /** Runs before the migrations, because a store that another service uses must not be migrated. */
  async #requireNoEntity(): Promise<void> {
    if ((await this.db.get(this.db.dialect.findTable, ['entities'])) === undefined) return;
    if ((await this.db.get('select id from entities limit 1')) !== undefined) throw notEmpty('entities');
  }

  async #requireNoServer(): Promise<void> {
    const [instance] = await readInstances(this.db);
    if (instance === undefined) return;
    throw new CopyError(`a server on ${instance.host} uses the target: stop it, wait half a minute, and copy again`);
  }

  #batchTransaction<Value>(work: (queries: Queries) => Promise<Value>): Promise<Value> {
    return this.db.transaction(
      async (queries) => {
        await queries.run(BATCH_SETTINGS);
        return work(queries);
      },
      { deadlineMs: BATCH_DEADLINE_MS },
    );
  }

  #longTransaction<Value>(work: (queries: Queries) => Promise<Value>): Promise<Value> {
    return this.db.transaction(
      async (queries) => {
        for (const sql of this.db.dialect.allowLongTransaction) await queries.run(sql);
        return work(queries);
      },
      { deadlineMs: LONG_DEADLINE_MS },
    );
  }
}

function notEmpty(table: string): CopyError {
  return new CopyError(
    `the target is not empty: its table ${table} has rows. Create a new database and copy into that; nothing was changed`,
  );
}
