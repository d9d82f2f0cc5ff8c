import { expect, test } from 'bun:test';
import { ClaimPlanner } from '../../../src/delivery/queue/claim-planner.ts';
import { Claimer } from '../../../src/delivery/queue/claimer.ts';
import { LocalQueue } from '../../../src/delivery/queue/local-queue.ts';
import { WorkerHealth } from '../../../src/delivery/worker-health.ts';
import { destinationKey } from '../../../src/domain/post-url.ts';
import { createLogger } from '../../../src/log.ts';
import type { Claimed } from '../../../src/store/deliveries/claim/claimed.ts';
import { accept, HOOK, newEvent, newReceiver } from '../../support/deliveries.ts';
import { onSuiteEngine } from '../../support/stores.ts';
import { until } from '../../support/until.ts';

onSuiteEngine('a claimer', (store) => {
  test('claims again for every destination of a plan after which something threw', async () => {
    const entityIds = [(await newReceiver(store.db)).entityId, (await newReceiver(store.db)).entityId];
    await accept(store.db, ...entityIds.map((entityId) => newEvent(entityId)));
    const capacity = { slots: 100, queuePlaces: 100, bytes: 0, destinationCap: 4 };
    const queue = new LocalQueue<Claimed>({ ...capacity, sizeOf: () => 0 });
    const planner = new ClaimPlanner(queue);
    const health = new WorkerHealth('claims');
    const claimed: string[][] = [];
    const claimer = new Claimer({
      db: store.db,
      log: createLogger('silent'),
      planner,
      runner: { find: () => undefined },
      // It ends at once, so that the next claim finds the same deliveries.
      leaseMs: 0,
      health,
      onClaimed: (deliveries) => {
        claimed.push(deliveries.map(({ entityId }) => entityId).sort());
        for (const delivery of deliveries) {
          queue.enqueue(delivery);
          queue.start(delivery.destination);
          queue.finish(delivery, 'success', 1);
        }
        if (claimed.length === 1) throw new Error('the slots do not add up');
      },
    });
    planner.wake(entityIds.map((entityId) => destinationKey(entityId, HOOK)));
    claimer.start();
    await until('it has claimed twice', () => claimed.length >= 2);
    await claimer.stop();
    const both = entityIds.toSorted();
    expect(claimed.slice(0, 2)).toEqual([both, both]);
    queue.checkSums();
    expect([queue.freeSlots, health.failuresInARow]).toEqual([100, 0]);
  });
});
