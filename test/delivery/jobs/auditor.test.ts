import { expect, test } from 'bun:test';
import { Auditor, auditorJob } from '../../../src/delivery/jobs/auditor.ts';
import { createLogger } from '../../../src/log.ts';
import { Metrics } from '../../../src/metrics/paybell-metrics.ts';
import { entityKey } from '../../../src/store/database/sql.ts';
import { acceptMany, claim, forgetDeliveries, letPass, newReceiver } from '../../support/deliveries.ts';
import { onSuiteEngine } from '../../support/stores.ts';
import { until } from '../../support/until.ts';

const log = createLogger('silent');

onSuiteEngine('the auditor', (store) => {
  /** A delivery that has been due for two minutes and that its head hides, and an auditor with a clock to move. */
  async function scene() {
    await forgetDeliveries(store.db);
    const { entityId } = await newReceiver(store.db);
    await acceptMany(store.db, entityId, 1);
    await letPass(store.db, entityId, 120_000);
    const clock = { nowMs: 0, woken: 0 };
    const { audited } = new Metrics();
    const auditor = new Auditor({
      ...{ db: store.db, log, schedule: [0], audited, onWork: () => clock.woken++, monotonicMs: () => clock.nowMs },
    });
    const hide = () =>
      store.db.transaction((queries) =>
        queries.run(
          `update queue_heads set next_due_ms = ${store.db.dialect.nowMs} + 3600000, full_look_ms = 0 where entity_id = $1`,
          [entityKey(store.db.dialect, entityId)],
        ),
      );
    await hide();
    return { entityId, clock, auditor, hide, found: () => audited.of('hidden').value };
  }

  test('finds a hidden delivery, counts it and wakes the engine', async () => {
    const { entityId, clock, auditor, found } = await scene();
    await auditor.run();
    expect([found(), clock.woken]).toEqual([1, 1]);
    expect(await claim(store.db, entityId)).toHaveLength(1);
  });

  test('starts a pass every four minutes', async () => {
    const { clock, auditor, hide, found } = await scene();
    await auditor.run();
    await hide();
    clock.nowMs = 239_000;
    await auditor.run();
    expect(found()).toBe(1);
    clock.nowMs = 241_000;
    await auditor.run();
    expect(found()).toBe(2);
  });

  test('runs on the first of several instances, and at once when it becomes the first', async () => {
    const { auditor, found } = await scene();
    auditor.setInstances(['ins_1', 'ins_2'], 'ins_2');
    await auditor.run();
    expect(found()).toBe(0);
    auditor.setInstances(['ins_2'], 'ins_2');
    await auditor.run();
    expect(found()).toBe(1);
  });

  test('runs by itself as a job', async () => {
    const { auditor, found } = await scene();
    const job = auditorJob(auditor, log);
    job.start();
    await until('the delivery is found', () => found() === 1);
    await job.stop();
  });
});
