import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Delivery, DeliveryList, DeliveryListQuery } from '../../src/client/deliveries.ts';
import { keepInPlace, type Shown, showNewest } from '../../src/dashboard/views/deliveries/follow.ts';

/** A model of the list operation: newest first, `until` in whole seconds, pages of at most `limit`. */
class ModelService {
  readonly deliveries: Delivery[] = [];

  add(dateCreated: number, count: number): void {
    for (let made = 0; made < count; made++) {
      const deliveryId = `dlv_${String(this.deliveries.length).padStart(6, '0')}`;
      this.deliveries.unshift({ deliveryId, dateCreated, status: 'pending', attempts: 0 } as Delivery);
    }
  }

  readonly fetchList = async ({ until, limit = 25 }: DeliveryListQuery): Promise<DeliveryList> => {
    const matching = this.deliveries.filter(({ dateCreated }) => until === undefined || dateCreated < until);
    return { totalResults: matching.length, deliveries: matching.slice(0, limit), searched: null };
  };
}

const idsOf = ({ list }: Shown) => list.deliveries.map(({ deliveryId }) => deliveryId);

test('no row moves while someone is reading, and the number of newer deliveries is exact', async () => {
  const arrivals = fc.array(fc.record({ count: fc.nat({ max: 60 }), passS: fc.nat({ max: 2 }) }), { maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 80 }), arrivals, async (first, steps) => {
      const service = new ModelService();
      service.add(1_000, first);
      let nowS = 1_000;
      let shown = await showNewest(service.fetchList, {});
      const before = idsOf(shown);
      for (const { count, passS } of steps) {
        nowS += passS;
        service.add(nowS, count);
        shown = await keepInPlace(service.fetchList, {}, shown);
        expect(idsOf(shown).slice(0, before.length)).toEqual(before);
        expect(shown.newer).toBe(service.deliveries.length - first);
        expect(shown.list.totalResults).toBe(service.deliveries.length);
      }
    }),
    { numRuns: 300 },
  );
});

test('a row in place shows the current state of its delivery', async () => {
  const service = new ModelService();
  service.add(1_000, 3);
  const shown = await showNewest(service.fetchList, {});
  service.deliveries[1] = { ...service.deliveries[1], status: 'delivered' } as Delivery;
  service.add(1_001, 2);
  const next = await keepInPlace(service.fetchList, {}, shown);
  expect(next.list.deliveries.map(({ status }) => status)).toEqual(['pending', 'delivered', 'pending']);
  expect(next.newer).toBe(2);
});

test('a delivery that no longer matches the filter disappears, and the others stay', async () => {
  const service = new ModelService();
  service.add(1_000, 3);
  const shown = await showNewest(service.fetchList, {});
  service.deliveries.splice(0, 1);
  expect(idsOf(await keepInPlace(service.fetchList, {}, shown))).toEqual(idsOf(shown).slice(1));
});

test('an empty list shows new deliveries at once', async () => {
  const service = new ModelService();
  const shown = await showNewest(service.fetchList, {});
  service.add(1_000, 2);
  expect(idsOf(await keepInPlace(service.fetchList, {}, shown))).toHaveLength(2);
});

test('a time filter is not widened', async () => {
  const service = new ModelService();
  service.add(1_000, 1);
  service.add(1_005, 1);
  const shown = await showNewest(service.fetchList, { until: 1_003 });
  service.add(1_010, 5);
  const next = await keepInPlace(service.fetchList, { until: 1_003 }, shown);
  expect(next).toEqual(shown);
});
