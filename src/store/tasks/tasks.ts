import type { DestinationKey } from '../../domain/post-url.ts';
import type { Dialect, Queries, SqlUuid } from '../database/database.ts';
import { chunks, entityKey, type RowOf } from '../database/sql.ts';
import { randomBytes } from '../new-id.ts';
import { taskTable } from '../tables.ts';

/**
 * Tasks: work that continues after the transaction that started it. Any instance makes the next step (`run.ts`), after any
 * crash, in one transaction that also moves the task.
 *
 * | kind    | subject             | phase and cursor                                     | ends when                          |
 * |---------|---------------------|------------------------------------------------------|------------------------------------|
 * | fan_out | event               | `making`: the last webhook                           | the walk over the webhooks is done |
 * | release | held event, round   | `making`: the last webhook                           | the walk over the webhooks is done |
 * | supersede | superseded event  | `ending`: the event that superseded it               | the queue has no delivery of the   |
 * |         |                     |                                                      | event                              |
 * | retract | event, round        | `making`: the last delivery; then `ending`           | the queue has no delivery of the   |
 * |         |                     |                                                      | round                              |
 * | cancel  | queue of a deleted  | `emptying`; then `watching`: when the queue was      | the queue was empty for a day      |
 * |         | webhook             | empty first                                          |                                    |
 * | redeliver | bulk redelivery   | `queueing`: the last delivery                        | no later delivery matches          |
 * | alert   | halted network      | `alerting`: the last entity                          | every entity with a source and a   |
 * |         |                     |                                                      | URL for alerts has its alert       |
 * | end_session | listen session  | `removing`                                           | its requests are gone              |
 * | drop_book | source that was   | `removing`: the network and the source               | its address book is gone           |
 * |         | deleted             |                                                      |                                    |
 *
 * A network has no entity, so the `entity` of its task is made of the number of the network.
 *
 * Every kind also has the phase `ended`, for a task that another transaction made unnecessary. The next step removes it. It
 * stays until then because a later task may have its number in `after_no`.
 */

/** The phase of a task that has nothing left to do. */
export const ENDED = 'ended';

/** The phase of a task that has no work now, but checks whether new work appears. */
export const WATCHING = 'watching';

/** After a step that failed, the wait doubles from the first value to the second. */
export const BACKOFF_MS = 1_000;
export const MAX_BACKOFF_MS = 60_000;

const COLUMNS = [
  ...(['entity', 'no', 'subject', 'eventNo', 'afterNo', 'orderKey', 'factKey', 'waitMs', 'dueMs'] as const),
  ...(['revision', 'seenRevision', 'made', 'failures', 'round', 'entityId', 'kind', 'phase', 'cursor'] as const),
  ...(['finality', 'ruleAmount'] as const),
];
export const taskColumns = taskTable.pick(COLUMNS);
export type Task = RowOf<typeof taskColumns>;

/** The tools of a step, within its transaction. */
export type StepTools = {
  readonly queries: Queries;
  readonly dialect: Dialect;
  readonly nowMs: number;
  /** Notes that the step made deliveries to these destinations. */
  readonly noteMade: (destinations: readonly DestinationKey[]) => void;
  /** Notes that deliveries to these destinations became due. */
  readonly noteDue: (destinations: readonly DestinationKey[] | 'anywhere') => void;
};

/** The place at which a task continues after a step, and the time until then. `made` is only for tasks that make deliveries. */
export type Progress = Pick<Task, 'phase' | 'cursor'> & { readonly waitMs: number; readonly made?: number };

/** A step changes at most as many rows as one transaction has room for (`dialect.limits`). */
export type Step<Of extends Task = Task> = (tools: StepTools, task: Of) => Promise<Progress | 'done'>;

type Given = 'kind' | 'entityId' | 'subject' | 'phase';
export type NewTask = Pick<Task, Given> & { readonly [Name in Exclude<keyof Task, Given>]?: Task[Name] | undefined };

const NEW_TASK = taskTable.insertion(COLUMNS);

/** The subject of a task about something that has a number. */
export function subjectOfNumber({ bindUuid }: Dialect, number: number): SqlUuid {
  return bindUuid(BigInt.asUintN(64, BigInt(number)).toString(16).padStart(32, '0'));
}

export function numberOfSubject({ hexOf }: Dialect, subject: SqlUuid): number {
  return Number(BigInt.asIntN(64, BigInt(`0x${hexOf(subject).slice(16)}`)));
}

/** The row of a new task. Its first step is due at once. */
function toRow(dialect: Dialect, task: NewTask) {
  const { round = 0, cursor = '', made = 0 } = task;
  const no = dialect.bindUuid(randomBytes(16).toHex());
  return { ...task, entity: entityKey(dialect, task.entityId), no, round, cursor, made, failures: 0, waitMs: 0 };
}

/** Stores a task, in the transaction that leaves its work for later. Returns false if such a task exists. */
export async function startTask(queries: Queries, dialect: Dialect, task: NewTask): Promise<boolean> {
  const row = toRow(dialect, task);
  const afterNo = task.orderKey == null ? null : await findLast(queries, row.entity, task.orderKey);
  const sql = `${NEW_TASK.text(1)} on conflict (entity_id, kind, subject, round) do nothing`;
  return (await queries.run(sql, NEW_TASK.parameters([{ ...row, afterNo }]))) > 0;
}

/** Starts tasks that do not wait for other tasks. A task that exists already starts again from its first phase. */
export async function restartTasks(queries: Queries, dialect: Dialect, tasks: readonly NewTask[]): Promise<void> {
  for (const chunk of chunks(tasks)) {
    await queries.run(
      `${NEW_TASK.text(chunk.length)} on conflict (entity_id, kind, subject, round)
       do update set phase = excluded.phase, cursor = excluded.cursor, wait_ms = 0, failures = 0`,
      NEW_TASK.parameters(chunk.map((task) => toRow(dialect, task))),
    );
  }
}

const numberColumns = taskTable.pick(['no']);

/**
 * Finds the last task of an order key, which no other task follows. Two concurrent transactions may each have started a last
 * task, because they did not see each other. Such tasks get an order here, so that the new task follows both.
 */
async function findLast(queries: Queries, entity: SqlUuid, orderKey: SqlUuid): Promise<SqlUuid | null> {
  const ends = await numberColumns.all(
    queries,
    `select ${numberColumns.of('t.')} from tasks t where t.entity_id = $1 and t.order_key = $2
       and not exists (select 1 from tasks s where s.entity_id = t.entity_id and s.after_no = t.no) order by t.no`,
    [entity, orderKey],
  );
  for (const [index, { no }] of ends.slice(1).entries()) {
    const sql = 'update tasks set after_no = $3 where entity_id = $1 and no = $2';
    await queries.run(sql, [entity, no, ends[index]?.no ?? null]);
  }
  return ends.at(-1)?.no ?? null;
}
