import { Database as Connection } from 'bun:sqlite';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { SQL } from 'bun';
import { runPaybell } from '../test/support/paybell.ts';
import type { Scene } from './scene.ts';

/**
 * A clock that jumps, for one service and its database, without a touch on that of the machine. The process gets its
 * step through a preloaded file (inside/step-clock.ts). SQLite's time comes with a table beside the others, and
 * PostgreSQL's by a `statement_timestamp` of our own that stands before the built-in one in the database's search path.
 */
export class SteppedClock {
  readonly #file: string;

  private constructor(private readonly scene: Scene) {
    this.#file = join(scene.instances.folder, 'clock-step');
  }

  static async of(scene: Scene): Promise<SteppedClock> {
    const clock = new SteppedClock(scene);
    writeFileSync(clock.#file, '0');
    if (scene.trial.engine === 'sqlite') await clock.#prepareSqlite();
    else await clock.#preparePostgres();
    return clock;
  }

  /** For the process whose clock it is. */
  get settings(): Record<string, string> {
    const preload = resolve(import.meta.dir, 'inside/step-clock.ts');
    return { BUN_OPTIONS: `--preload=${preload}`, FAULTS_CLOCK_FILE: this.#file };
  }

  /** From now on the clock shows that much more than it should. */
  async setTo(stepMs: number): Promise<void> {
    writeFileSync(this.#file, String(stepMs));
    if (this.scene.trial.engine === 'sqlite') this.#onSqlite(`update clock_step set step_ms = ${stepMs}`);
    else await this.#onPostgres(`update clock.step set step_ms = ${stepMs}`);
  }

  async #prepareSqlite(): Promise<void> {
    const { exitCode, stderr } = await runPaybell(['migrate'], this.scene.instances.folder);
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
    using connection = new Connection(this.scene.url.slice('sqlite:'.length), { readwrite: true });
    connection.exec('pragma busy_timeout = 5000');
    connection.exec(sql);
  }

  async #onPostgres(sql: string): Promise<void> {
    await using connection = new SQL(this.scene.url, { max: 1 });
    await connection.unsafe(sql);
  }
}
