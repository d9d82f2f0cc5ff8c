import type { DestinationKey } from '../../domain/post-url.ts';
import { dropBookStep } from '../chain/addresses/drop.ts';
import { alertStep } from '../chain/halt.ts';
import { readNowMs } from '../database/clock.ts';
import type { Database, SqlUuid, SqlValue } from '../database/database.ts';
import { readReachable } from '../database/reachable-shards.ts';
import { Columns, entityKey, integer, uuid } from '../database/sql.ts';
import { cancelStep } from '../deliveries/cancel.ts';
import { supersedeStep } from '../deliveries/order/supersede-task.ts';
import { fanOutStep } from '../events/fan-out.ts';
import type { EventTask } from '../events/fan-out-task.ts';
import { retractStep } from '../events/retraction/retraction-task.ts';
import { endSessionStep } from '../listen/remove-ended.ts';
import type { TaskKind } from '../tables.ts';
import { BACKOFF_MS, ENDED, MAX_BACKOFF_MS, type Step, type StepTools, type Task, taskColumns } from './tasks.ts';

/** Runs tasks, one step in a transaction. To add a kind, describe it at the head of `tasks.ts` and list its step here. */
const STEPS: Readonly<Record<TaskKind, Step>> = {
  fan_out: ofEvent(fanOutStep),
  release: ofEvent(fanOutStep),
  supersede: supersedeStep,
  retract: ofEvent(retractStep),
  cancel: cancelStep,
  // Imported only when it is needed, because the import builds the schema of the filter, which would slow down every start.
  redeliver: async (tools, task) => (await import('../deliveries/redeliver/bulk.ts')).redeliverStep(tools, task),
  alert: alertStep,
  end_session: endSessionStep,
  drop_book: dropBookStep,
};

function ofEvent(step: Step<EventTask>): Step {
  return (tools, task) => {
    const { eventNo, dueMs } = task;
    if (eventNo === null || dueMs === null) throw new TypeError(`a task of the kind ${task.kind} needs an event`);
    return step(tools, { ...task, eventNo, dueMs });
  };
}

const ENTITIES_PER_LOOK = 1_000;

const dueColumns = new Columns({ entity: uuid('entity_id'), firstMs: integer('min(wait_ms)') });

/** Entities with a due task. The entity that has waited longest comes first. */
export async function findDueEntities(db: Database): Promise<SqlUuid[]> {
  const text = (tasks: string) => `select ${dueColumns.list} from ${tasks} where wait_ms <= ${db.dialect.nowMs}
    group by entity_id order by min(wait_ms), entity_id limit ${ENTITIES_PER_LOOK}`;
  const found = await readReachable(db, (reads) => dueColumns.all(reads, text('tasks')), {
    tables: ['tasks'],
    select: (shard = '') => text(shard),
  });
  if (db.dialect.isDistributed) found.sort((a, b) => a.firstMs - b.firstMs);
  return found.map(({ entity }) => entity);
}

/**
 * The result of a step: the destinations for which deliveries were made, and the destinations with deliveries that became due.
 * `failure` has the error of a failed step, and when the task is tried again.
 */
export type Stepped = {
  readonly task: Task;
  readonly isDone: boolean;
  readonly made: readonly DestinationKey[];
  readonly due: readonly DestinationKey[] | 'anywhere';
  readonly failure: { readonly error: unknown; readonly retryInMs: number } | null;
};

/**
 * Runs one step of the entity's task that has waited longest. Returns null if no task can take a step: none is due, each waits
 * for the end of another task, or other instances have locked them.
 */
export async function stepNext(db: Database, entity: SqlUuid): Promise<Stepped | null> {
  const taken: Task[] = [];
  try {
    return await stepIn(db, [entity], `t.wait_ms <= ${db.dialect.nowMs}`, (task) => taken.push(task));
  } catch (error) {
    const [task] = taken;
    if (task === undefined) throw error;
    const retryInMs = await noteFailure(db, task);
    return { task, isDone: false, made: [], due: [], failure: { error, retryInMs } };
  }
}

/**
 * Runs one step of the given task, even if the task waits. Returns null if the task does not exist, or if another instance has
 * locked it.
 */
export function stepTask(
  db: Database,
  entityId: string,
  { kind, subject }: Pick<Task, 'kind' | 'subject'>,
): Promise<Stepped | null> {
  return stepIn(db, [entityKey(db.dialect, entityId), kind, subject], 't.kind = $2 and t.subject = $3');
}

function stepIn(
  db: Database,
  [entity, ...more]: readonly [SqlUuid, ...SqlValue[]],
  which: string,
  onTaken: (task: Task) => void = () => undefined,
): Promise<Stepped | null> {
  const { dialect } = db;
  return db.transaction(async (queries) => {
    const task = await taskColumns.get(
      queries,
      `select ${taskColumns.of('t.')} from tasks t where t.entity_id = $1 and ${which}
         and not exists (select 1 from tasks b where b.entity_id = t.entity_id and b.no = t.after_no)
       order by t.wait_ms, t.no limit 1 ${dialect.skipLocked}`,
      [entity, ...more],
    );
    if (task === undefined) return null;
    onTaken(task);
    const nowMs = await readNowMs(queries, dialect);
    let [made, due]: [Stepped['made'], Stepped['due']] = [[], []];
    const tools: StepTools = {
      ...{ queries, dialect, nowMs },
      noteMade: (destinations) => {
        made = destinations;
      },
      noteDue: (destinations) => {
        due = destinations;
      },
    };
    const next = task.phase === ENDED ? 'done' : await STEPS[task.kind](tools, task);
    const key = [entity, task.no];
    if (next === 'done') await queries.run('delete from tasks where entity_id = $1 and no = $2', key);
    else {
      const { phase, cursor, waitMs, made: total = task.made } = next;
      await queries.run(
        `update tasks set phase = $3, cursor = $4, made = $5, wait_ms = $6, failures = 0
         where entity_id = $1 and no = $2`,
        [...key, phase, cursor, total, nowMs + waitMs],
      );
    }
    return { task, isDone: next === 'done', made, due, failure: null };
  });
}

/** Stores the wait with the task, so that it outlasts a restart and delays no other task. */
async function noteFailure(db: Database, { entity, no, failures }: Task): Promise<number> {
  const retryInMs = Math.min(BACKOFF_MS * 2 ** failures, MAX_BACKOFF_MS);
  await db.transaction((queries) =>
    queries.run(
      `update tasks set failures = failures + 1, wait_ms = ${db.dialect.nowMs} + $3 where entity_id = $1 and no = $2`,
      [entity, no, retryInMs],
    ),
  );
  return retryInMs;
}
