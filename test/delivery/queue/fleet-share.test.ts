import { describe, expect, test } from 'bun:test';
import { ClaimPlanner } from '../../../src/delivery/queue/claim-planner.ts';
import { FleetShare, shareOfCap } from '../../../src/delivery/queue/fleet-share.ts';
import { LocalQueue } from '../../../src/delivery/queue/local-queue.ts';
import { type DestinationKey, destinationKey } from '../../../src/domain/post-url.ts';

const hook = (number: number, perSecond: number | null = null) =>
  destinationKey(
    `ent_${number % 7}`,
    `https://${number}.example/hook`,
    perSecond === null ? null : { endpointNo: number, perSecond },
  );

const idsOf = (instances: number) => Array.from({ length: instances }, (_, index) => `ins_${index}`);

const fleetOf = (cap: number, ids: readonly string[]) =>
  new Map(ids.map((id) => [id, new FleetShare(cap, id, ids)] as const));

const sendersOf = (fleet: ReadonlyMap<string, FleetShare>, destination: DestinationKey) =>
  [...fleet].filter(([, share]) => share.sendsTo(destination)).map(([id]) => id);

test.each([
  [16, 1, 16],
  [16, 2, 8],
  [16, 3, 5],
  [16, 16, 1],
  [16, 17, 1],
  [1, 4, 1],
  [16, 0, 16],
])('of a cap of %i, each of %i instances has %i', (cap, instances, share) => {
  expect(shareOfCap(cap, instances)).toBe(share);
});

describe('the instances that send to a destination', () => {
  test.each([
    [16, 1],
    [16, 3],
    [16, 16],
    [16, 17],
    [16, 100],
    [1, 2],
    [3, 50],
  ])('have no more than a cap of %i among %i of them, and at least one sends', (cap, instances) => {
    const fleet = fleetOf(cap, idsOf(instances));
    for (let number = 0; number < 200; number++) {
      const senders = sendersOf(fleet, hook(number));
      expect(senders).toHaveLength(Math.min(cap, instances));
      const caps = senders.map((id) => fleet.get(id)?.shareOf(null).cap ?? 0);
      expect(caps.reduce((sum, share) => sum + share, 0)).toBeWithin(1, cap + 1);
    }
  });

  test.each([
    [1, 4],
    [9, 4],
    [10, 4],
    [25, 4],
    [40, 4],
    [1_000, 4],
  ])('of %i requests a second are so few of %i that their bursts together are that of one', (perSecond, instances) => {
    const fleet = fleetOf(16, idsOf(instances));
    for (let number = 0; number < 50; number++) {
      const senders = sendersOf(fleet, hook(number, perSecond));
      const share = fleet.get(senders[0] ?? '')?.shareOf(perSecond);
      expect(share?.instances).toBe(senders.length);
      const burst = senders.length * Math.max(1, (perSecond / senders.length) * 0.1);
      expect(burst).toBeLessThanOrEqual(Math.max(1, perSecond * 0.1));
      expect((share?.cap ?? 0) * senders.length).toBeWithin(1, 17);
    }
  });

  test('share the destinations evenly, and one that leaves changes the senders of no other than its own', () => {
    const ids = idsOf(40);
    const before = fleetOf(4, ids);
    const after = fleetOf(4, ids.slice(1));
    const sent = new Map(ids.map((id) => [id, 0]));
    for (let number = 0; number < 2_000; number++) {
      const senders = sendersOf(before, hook(number));
      for (const id of senders) sent.set(id, (sent.get(id) ?? 0) + 1);
      const stayed = senders.filter((id) => id !== 'ins_0');
      expect(sendersOf(after, hook(number))).toEqual(expect.arrayContaining(stayed));
    }
    // 200 each on average.
    for (const count of sent.values()) expect(count).toBeWithin(140, 270);
  });
});

describe('an instance that does not send to a destination', () => {
  const newQueue = (own: string) => {
    const capacity = { slots: 100, queuePlaces: 100, bytes: 0 };
    const queue = new LocalQueue<{ destination: DestinationKey }>({ ...capacity, destinationCap: 1, sizeOf: () => 0 });
    return { queue, join: () => queue.limitDestinations(new FleetShare(1, own, ['ins_0', 'ins_1'])) };
  };
  const [sender = ''] = sendersOf(fleetOf(1, ['ins_0', 'ins_1']), hook(1));
  const other = sender === 'ins_0' ? 'ins_1' : 'ins_0';

  test('neither dispatches to it nor claims for it, and the one that does is not kept from it', () => {
    for (const own of [sender, other]) {
      const { queue, join } = newQueue(own);
      join();
      const planner = new ClaimPlanner(queue);
      planner.noteScanned();
      planner.wake([hook(1)]);
      const claims = own === sender ? [{ destination: hook(1), limit: 1 }] : [];
      expect([planner.plan().claims, planner.mayHaveOlder(hook(1))]).toEqual([claims, own === sender]);
      expect(queue.reserve(hook(1))).toBe(0);
    }
  });

  test('still sends what it holds of it, and forgets that more is due there', () => {
    const { queue, join } = newQueue(other);
    const planner = new ClaimPlanner(queue);
    planner.noteScanned();
    expect(queue.reserve(hook(1))).toBe(1);
    planner.wake([hook(1)]);
    join();
    expect(planner.plan().claims).toEqual([]);
    expect([planner.waiting, planner.mayHaveOlder(hook(1))]).toEqual([0, false]);
    queue.enqueue({ destination: hook(1) });
    expect(queue.start(hook(1))).not.toBeNull();
    queue.finish({ destination: hook(1) }, 'success', 10_000);
    queue.checkSums();
  });
});
