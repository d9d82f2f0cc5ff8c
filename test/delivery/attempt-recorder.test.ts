import { expect, test } from 'bun:test';
import { AttemptRecorder } from '../../src/delivery/attempt-recorder.ts';
import { WorkerHealth } from '../../src/delivery/worker-health.ts';
import { createLogger } from '../../src/log.ts';
import type { AttemptRecord } from '../../src/store/deliveries/record/attempt-log.ts';
import { acceptMany, claim, failedWith, newReceiver, respondedWith, statuses } from '../support/deliveries.ts';
import { onSuiteEngine } from '../support/stores.ts';

const FAILURES = 120;
const DELIVERED = { status: 'delivered', steps: 1, delayMs: null, suspend: null } as const;
const RETRYING = { status: 'retrying', steps: 1, delayMs: 60_000, suspend: null } as const;

onSuiteEngine('a crowd of failures', (store) => {
  test('is recorded in small transactions, after the successes that came later', async () => {
    const { entityId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, FAILURES + 1);
    const [first, ...others] = await claim(store.db, entityId, FAILURES + 1);
    if (first === undefined) throw new Error('nothing was claimed');
    const batches: AttemptRecord[][] = [];
    const recorder = new AttemptRecorder({
      db: store.db,
      log: createLogger('silent'),
      health: new WorkerHealth('records'),
      onRecorded: (records) => batches.push([...records]),
      onDone: () => undefined,
      onDue: () => undefined,
    });
    for (const delivery of others) {
      recorder.add({ delivery, startedAtMs: 0, outcome: failedWith('timeout'), next: RETRYING });
    }
    recorder.add({ delivery: first, startedAtMs: 0, outcome: respondedWith(200), next: DELIVERED });
    await recorder.stop();
    expect(batches[0]?.[0]?.delivery).toBe(first);
    expect(batches.map(({ length }) => length)).toEqual([51, 50, 20]);
    const recorded = await statuses(store.db, entityId);
    expect(recorded.filter((status) => status === 'retrying')).toHaveLength(FAILURES);
    expect(recorded.filter((status) => status === 'delivered')).toHaveLength(1);
  });
});
