import { afterEach, expect, test } from 'bun:test';
import type { Database, SqlUuid } from '../../../src/store/database/database.ts';
import { entityKey, hashKey, readInteger } from '../../../src/store/database/sql.ts';
import { findDueEntities, stepNext } from '../../../src/store/tasks/run.ts';
import { ENDED, type NewTask, startTask, taskColumns } from '../../../src/store/tasks/tasks.ts';
import { onSuiteEngine } from '../../support/stores.ts';
import { runTasks } from '../../support/tasks.ts';

onSuiteEngine('tasks', (store) => {
  const keyOf = (name: string) => entityKey(store.db.dialect, name);
  const subjectOf = (name: string) => hashKey(store.db.dialect, name);
  const start = (...tasks: (Partial<NewTask> & { readonly entityId: string; readonly subject: SqlUuid })[]) =>
    store.db.transaction(async (queries) => {
      for (const task of tasks) {
        await startTask(queries, store.db.dialect, { kind: 'fan_out', phase: ENDED, ...task });
      }
    });
  const read = (entityId: string) =>
    taskColumns.all(store.db, `select ${taskColumns.list} from tasks where entity_id = $1`, [keyOf(entityId)]);
  const update = (set: string) => store.db.transaction((queries) => queries.run(`update tasks set ${set}`));

  afterEach(() => store.db.transaction((queries) => queries.run('delete from tasks')));

  test('of an entity with thousands of them delay another entity by one step', async () => {
    const many = Array.from({ length: 2_000 }, (_, index) => ({ entityId: 'busy', subject: subjectOf(`${index}`) }));
    await start(...many);
    await start({ entityId: 'other', subject: subjectOf('other') });
    const entities = await findDueEntities(store.db);
    const hexOf = (entity: SqlUuid) => store.db.dialect.hexOf(entity);
    expect(entities.map(hexOf).sort()).toEqual(['busy', 'other'].map((name) => hexOf(keyOf(name))).sort());
    for (const entity of entities) await stepNext(store.db, entity);
    expect(await read('other')).toEqual([]);
    expect(await readInteger(store.db, 'count(*)', 'from tasks')).toBe(1_999);
  });

  test('take turns within an entity: a task comes after those that have waited longer', async () => {
    await start({ entityId: 'e', subject: subjectOf('a') }, { entityId: 'e', subject: subjectOf('b') });
    await update(`wait_ms = case when subject = ${literal(store.db, subjectOf('a'))} then 2 else 1 end`);
    const stepped = await stepNext(store.db, keyOf('e'));
    expect(store.db.dialect.hexOf(stepped?.task.subject ?? '')).toBe(store.db.dialect.hexOf(subjectOf('b')));
  });

  test('that fail wait longer each time, by what is stored, and keep back no other', async () => {
    // Without an event, the step of a fan-out fails.
    const failing = { entityId: 'e', subject: subjectOf('failing'), phase: 'making' };
    await start(failing);
    const waits: number[] = [];
    for (let tries = 0; tries < 8; tries++) {
      await update('wait_ms = 0');
      const stepped = await stepNext(store.db, keyOf('e'));
      waits.push(stepped?.failure?.retryInMs ?? 0);
    }
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
    expect(await stepNext(store.db, keyOf('e'))).toBeNull();
    expect(await findDueEntities(store.db)).toEqual([]);
    await start({ entityId: 'e', subject: subjectOf('next') });
    expect((await stepNext(store.db, keyOf('e')))?.failure).toBeNull();
    expect(await read('e')).toMatchObject([{ failures: 8, phase: 'making' }]);
  });

  test('of one order key run in the order in which they were started', async () => {
    const orderKey = subjectOf('key');
    for (const name of ['1', '2', '3', '4']) await start({ entityId: 'e', subject: subjectOf(name), orderKey });
    const ran = (await runTasks(store.db)).map(({ task }) => store.db.dialect.hexOf(task.subject));
    expect(ran).toEqual(['1', '2', '3', '4'].map((name) => store.db.dialect.hexOf(subjectOf(name))));
  });

  test('come after all earlier ones of their order key, even if two of these were started at the same time', async () => {
    const orderKey = subjectOf('key');
    await start(
      { entityId: 'e', subject: subjectOf('1'), orderKey },
      { entityId: 'e', subject: subjectOf('2'), orderKey },
    );
    await update('after_no = null');
    await start({ entityId: 'e', subject: subjectOf('3'), orderKey });
    const ran = (await runTasks(store.db)).map(({ task }) => store.db.dialect.hexOf(task.subject));
    expect(ran.at(-1)).toBe(store.db.dialect.hexOf(subjectOf('3')));
    expect(ran).toHaveLength(3);
  });

  test('that were ended keep their place in the order of their key', async () => {
    const orderKey = subjectOf('key');
    await start({ entityId: 'e', subject: subjectOf('1'), orderKey, phase: 'making' });
    await start({ entityId: 'e', subject: subjectOf('ended'), orderKey });
    await start({ entityId: 'e', subject: subjectOf('3'), orderKey });
    expect((await stepNext(store.db, keyOf('e')))?.failure).not.toBeNull();
    expect(await stepNext(store.db, keyOf('e'))).toBeNull();
    expect(await read('e')).toHaveLength(3);
  });

  test('are started once for a subject and a round', async () => {
    const task: NewTask = { kind: 'retract', entityId: 'e', subject: subjectOf('1'), phase: ENDED };
    const tryStart = (round: number) =>
      store.db.transaction((queries) => startTask(queries, store.db.dialect, { ...task, round }));
    expect([await tryStart(1), await tryStart(1), await tryStart(2)]).toEqual([true, false, true]);
  });
});

function literal({ engine, dialect }: Database, key: SqlUuid): string {
  return engine === 'sqlite' ? `x'${dialect.hexOf(key)}'` : `cast('${dialect.hexOf(key)}' as uuid)`;
}
