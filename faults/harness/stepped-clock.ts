import { Database as Connection } from 'bun:sqlite';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { SQL } from 'bun';
import { runPaybell } from '../../test/support/paybell.ts';
import type { Testbed } from './testbed.ts';

/**
 * Steps the clock of one service and of its database, without a change to the clock of the machine. The process reads its
 * step from a file, by preload/step-clock.ts. SQLite adds a step from an extra table, and PostgreSQL calls a
 * `statement_timestamp` of the trial, which precedes the built-in one in the search path of the database.
 */
export class SteppedClock {
  readonly #file: string;

  private constructor(private readonly testbed: Testbed) {
    this.#file = join(testbed.instances.folder, 'clock-step');
  }

  static async of(testbed: Testbed): Promise<SteppedClock> {
    const clock = new SteppedClock(testbed);
    writeFileSync(clock.#file, '0');
    if (testbed.options.engine === 'sqlite') await clock.#prepareSqlite();
    else await clock.#preparePostgres();
    return clock;
  }

  /** The settings of the process whose clock is stepped. */
  get settings(): Record<string, string> {
    const preload = resolve(import.meta.dir, '../preload/step-clock.ts');
    return { BUN_OPTIONS: `--preload=${preload}`, FAULTS_CLOCK_FILE: this.#file };
  }

  /** From now on the clock is ahead by this much. */
  async setTo(stepMs: number): Promise<void> {
    writeFileSync(this.#file, String(stepMs));
    if (this.testbed.options.engine === 'sqlite') this.#onSqlite(`update clock_step set step_ms = ${stepMs}`);
    else await this.#onPostgres(`update clock.step set step_ms = ${stepMs}`);
  }

  async #prepareSqlite(): Promise<void> {
    const { exitCode, stderr } = await runPaybell(['migrate'], this.testbed.instances.folder);
    if (exitCode !== 0) throw new Error(stderr);
    this.#onSqlite('create table clock_step (step_ms integer not null)');
    this.#onSqlite('insert into clock_step values (0)');
  }

  #preparePostgres(): Promise<void> {
    return this.#onPostgres(`
      create schema clock;
      create table clock.step (step_ms bigint not null);
      insert into clock.step values (0);
      create function clock.statement_timestamp() returns timestamptz stable language sql as
        'select pg_catalog.statement_timestamp() + (select step_ms from clock.step) * interval ''1 millisecond''';
      do $do$ begin
        execute format('alter database %I set search_path = public, clock, pg_catalog', current_database());
      end $do$;`);
  }

  #onSqlite(sql: string): void {
    using connection = new Connection(this.testbed.url.slice('sqlite:'.length), { readwrite: true });
    connection.exec('pragma busy_timeout = 5000');
    connection.exec(sql);
  }

  async #onPostgres(sql: string): Promise<void> {
    await using connection = new SQL(this.testbed.url, { max: 1 });
    await connection.unsafe(sql);
  }
}
