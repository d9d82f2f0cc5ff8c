import { Database } from 'bun:sqlite';
import { readFileSync } from 'node:fs';

/**
 * Preloaded into `paybell serve`: shifts its clock by the number of milliseconds in a file. The monotonic clock and timers
 * are not affected, as when the clock of a machine is set. SQLite reads the time itself, so its statements add the same
 * step from a table. The service itself is unchanged.
 */

const file = process.env.FAULTS_CLOCK_FILE ?? '';
const READ_EVERY_MS = 10;
const TrueDate = Date;
let stepMs = 0;

class SteppedDate extends TrueDate {
  constructor(...given: unknown[]) {
    super(...((given.length === 0 ? [SteppedDate.now()] : given) as [number]));
  }

  static override now(): number {
    return TrueDate.now() + stepMs;
  }
}

const read = () => {
  stepMs = Number(readFileSync(file, 'utf8'));
};
read();
setInterval(read, READ_EVERY_MS).unref();
globalThis.Date = SteppedDate as DateConstructor;

const prepare = Database.prototype.prepare;
Database.prototype.prepare = function stepped(this: Database, sql: string, ...rest: never[]) {
  const inStep = `(unixepoch('subsec') + (select step_ms / 1000.0 from clock_step))`;
  return prepare.call(this, sql.replaceAll(`unixepoch('subsec')`, inStep), ...rest);
} as typeof prepare;
