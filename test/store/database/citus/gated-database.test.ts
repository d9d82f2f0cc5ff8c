import { afterEach, expect, test } from 'bun:test';
import { type Abandonable, GatedDatabase } from '../../../../src/store/database/citus/gated-database.ts';
import { hashOfUuid } from '../../../../src/store/database/citus/shard-map.ts';
import { LATE_MS, PROBE_EVERY_MS } from '../../../../src/store/database/citus/worker-gate.ts';
import { WorkerGates } from '../../../../src/store/database/citus/worker-gates.ts';
import {
  type CallOptions,
  type Database,
  type Queries,
  SilentWorkerError,
  type SqlValue,
} from '../../../../src/store/database/database.ts';
import { readEachShard } from '../../../../src/store/database/reachable-shards.ts';
import { rejection } from '../../../support/rejection.ts';

const HANGING = 'one:5432';
const OTHER = 'two:5432';
const SHARDS = [
  { from: '-2147483648', name: 'one', port: 5432, group: 1 },
  { from: '0', name: 'two', port: 5432, group: 2 },
];
const OF_ENTITY = 'select id from queue where entity_id = $1';

/** An entity on each of two workers. */
const [ON_IT, ELSEWHERE] = [-1, 1].map((sign) => {
  for (;;) {
    const hex = crypto.randomUUID().replaceAll('-', '');
    if (Math.sign(hashOfUuid(hex) ?? 0) === sign) return hex;
  }
}) as [string, string];

const opened: Database[] = [];
afterEach(async () => {
  for (const db of opened.splice(0)) await db.close();
});

/** A store of two workers, of which one hangs, on a clock that the test moves. */
async function hangingStore() {
  const clock = { nowMs: 1_000 };
  const state = { isHanging: true, isCommitHanging: false, abandoned: 0, begun: 0, texts: [] as string[] };
  const run = (sql: string, params: readonly SqlValue[] = []): Promise<never[]> => {
    state.texts.push(sql);
    const needsIt = params.includes(ON_IT) || sql.includes('from queue_heads') || sql.includes('insert into webhooks');
    return state.isHanging && needsIt ? new Promise(() => undefined) : Promise.resolve([]);
  };
  const within = async <Value>(work: (queries: Queries) => Promise<Value>, signal?: AbortSignal): Promise<Value> => {
    state.begun++;
    signal?.addEventListener('abort', () => state.abandoned++);
    const send = async (sql: string, params?: readonly SqlValue[]) => void (await run(sql, params));
    const value = await work({ all: run, get: run, run, send } as unknown as Queries);
    return state.isCommitHanging ? new Promise(() => undefined) : value;
  };
  const inner = {
    dialect: { isDistributed: true, uuid: 'uuid', bindUuid: (hex: string) => hex },
    all: run,
    readAlone: (sql: string, params: readonly SqlValue[], signal: AbortSignal) => {
      signal.addEventListener('abort', () => state.abandoned++);
      return run(sql, params);
    },
    snapshot: (work: (queries: Queries) => Promise<unknown>, _: string, signal: AbortSignal) => within(work, signal),
    transaction: (work: (queries: Queries) => Promise<unknown>, { signal }: CallOptions) => within(work, signal),
    close: async () => undefined,
  } as unknown as Abandonable;
  const gates = await WorkerGates.open({
    reads: { all: <Row>() => Promise.resolve(SHARDS as Row[]) },
    probe: async (worker) => worker !== HANGING || !state.isHanging,
    slots: { transaction: 2, snapshot: 1, read: 1 },
    nowMs: () => clock.nowMs,
  });
  const db = new GatedDatabase(inner, gates, 60_000);
  opened.push(db);
  const pass = async (ms: number) => {
    await Bun.sleep(1);
    clock.nowMs += ms;
    gates.check();
    await Bun.sleep(1);
  };
  const write = (entity: string) =>
    db.transaction((queries) => queries.run(OF_ENTITY, [entity]), { entityId: `ent_${entity}` });
  return { db, gates, state, pass, write };
}

test('a worker that hangs fails its calls, gives their connections up, and refuses more at once', async () => {
  const { db, gates, state, pass, write } = await hangingStore();
  const failing = [write(ON_IT), db.snapshot((queries) => queries.all(OF_ENTITY, [ON_IT])), db.all(OF_ENTITY, [ON_IT])];
  const failed = failing.map(rejection);
  await pass(LATE_MS);
  for (const error of failed) expect(await error).toBeInstanceOf(SilentWorkerError);
  expect(state.abandoned).toBe(3);
  expect(gates.silent()).toEqual([HANGING]);
  expect(db.dialect.hasWorker()).toBe(true);

  const { begun } = state;
  expect(await rejection(write(ON_IT))).toBeInstanceOf(SilentWorkerError);
  expect(await rejection(db.all(OF_ENTITY, [ON_IT]))).toBeInstanceOf(SilentWorkerError);
  expect(state.begun).toBe(begun);
  await write(ELSEWHERE);
  expect(await db.all(OF_ENTITY, [ELSEWHERE])).toEqual([]);
});

test('a transaction that names no entity is refused at its first statement of that worker', async () => {
  const { db, pass, write } = await hangingStore();
  const first = rejection(write(ON_IT));
  await pass(LATE_MS);
  await first;
  const steps: string[] = [];
  const late = db.transaction(async (queries) => {
    await queries.run('update audit set id = 1');
    steps.push('coordinator');
    await queries.send(OF_ENTITY, [ON_IT]);
    steps.push('worker');
  });
  expect(await rejection(late)).toBeInstanceOf(SilentWorkerError);
  expect(steps).toEqual(['coordinator']);
});

test('one worker has no more connections than its slots', async () => {
  const { state, pass, write } = await hangingStore();
  const waiting = Array.from({ length: 5 }, () => rejection(write(ON_IT)));
  await Bun.sleep(1);
  expect(state.begun).toBe(2);
  await write(ELSEWHERE);
  expect(state.begun).toBe(3);
  await pass(LATE_MS);
  for (const error of waiting) expect(await error).toBeInstanceOf(SilentWorkerError);
  expect(state.begun).toBe(3);
});

test('a transaction whose commit gets no answer fails when the worker is silent', async () => {
  const { db, state, pass } = await hangingStore();
  state.isHanging = false;
  state.isCommitHanging = true;
  const failed = rejection(db.transaction((queries) => queries.run(OF_ENTITY, [ON_IT])));
  await Bun.sleep(1);
  state.isHanging = true;
  await pass(LATE_MS);
  expect(await failed).toBeInstanceOf(SilentWorkerError);
  expect(state.abandoned).toBe(1);
});

test('what needs every worker is refused while one is silent, and passes when it responds again', async () => {
  const { db, gates, state, pass, write } = await hangingStore();
  const first = rejection(write(ON_IT));
  await pass(LATE_MS);
  await first;
  const scan = () => db.all('select entity_id from queue_heads where blocked = 0');
  const register = () => db.transaction((queries) => queries.run('insert into webhooks (id) values ($1)', ['x']));
  expect(await rejection(scan())).toBeInstanceOf(SilentWorkerError);
  expect(await rejection(register())).toBeInstanceOf(SilentWorkerError);
  expect(await db.all('select id from webhooks where entity_id = $1', [ELSEWHERE])).toEqual([]);

  state.isHanging = false;
  await pass(PROBE_EVERY_MS);
  expect(gates.silent()).toEqual([]);
  await write(ON_IT);
  await register();
  expect(await scan()).toEqual([]);
});

test('a read of each shard leaves out the shards of a silent worker', async () => {
  const { db, state, pass, write } = await hangingStore();
  const read = () => readEachShard(db, { tables: ['queue'], select: (shard = '') => `select 1 from ${shard}` });
  await rejection(read());
  expect(state.texts.at(-1)).toContain('run_command_on_placements');
  const first = rejection(write(ON_IT));
  await pass(LATE_MS);
  await first;
  await rejection(read());
  expect(state.texts.at(-1)).toContain(`n.nodename || ':' || n.nodeport not in ('${HANGING}')`);
  expect(state.texts.at(-1)).not.toContain(OTHER);
});
