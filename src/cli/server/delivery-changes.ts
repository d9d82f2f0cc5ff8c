import { BoundedMap } from '../../bounded-map.ts';
import type { Delivery, DeliveryDetail, DeliveryList, DeliveryListQuery } from '../../client/deliveries.ts';
import { ProblemError } from '../../client/errors.ts';
import { withoutDetail } from '../../contract/deliveries.ts';

/** The largest page that the service returns. */
const PAGE_SIZE = 100;
/** Limit on the new pages of one poll. Older changes are skipped, because no terminal shows that many lines. */
const MAX_PAGES = 10;
/** Limit on the deliveries of older pages that one poll reads, one by one, when their retry is due. */
const MAX_READ_PER_POLL = 10;
/** Limit on the known deliveries. The one with the oldest change is forgotten, and its later changes are not shown. */
const MAX_KNOWN = 20_000;

export type DeliverySource = {
  list(query: DeliveryListQuery): Promise<DeliveryList>;
  get(deliveryId: string): Promise<DeliveryDetail>;
};

type Known = { state: string; dueS: number | null };

/** Finds deliveries that are new or have changed since the last poll, with as few requests as possible. */
export class DeliveryChanges {
  readonly #known = new BoundedMap<string, Known>(MAX_KNOWN);

  constructor(
    private readonly source: DeliverySource,
    private readonly filter: Pick<DeliveryListQuery, 'event' | 'networkId' | 'webhookId'>,
  ) {}

  /** The newest `count` deliveries, oldest first. The other deliveries of the page are known from then on. */
  async first(count: number): Promise<Delivery[]> {
    const { deliveries } = await this.source.list({ ...this.filter, limit: PAGE_SIZE });
    const changed = this.#update(deliveries);
    return changed.slice(changed.length - Math.min(count, changed.length));
  }

  /** Deliveries that changed since the last call, oldest first. */
  async next(nowS: number): Promise<Delivery[]> {
    const found: Delivery[] = [];
    for (let page = 1; page <= MAX_PAGES; page++) {
      const { deliveries } = await this.source.list({ ...this.filter, page, limit: PAGE_SIZE });
      found.push(...deliveries);
      if (deliveries.length < PAGE_SIZE || deliveries.some(({ deliveryId }) => this.#known.has(deliveryId))) break;
    }
    const listed = new Set(found.map(({ deliveryId }) => deliveryId));
    const due = [...this.#known].filter(([id, { dueS }]) => dueS !== null && dueS <= nowS && !listed.has(id));
    for (const [id, known] of due.slice(0, MAX_READ_PER_POLL)) {
      const delivery = await this.source.get(id).catch(nullIfMissing);
      this.#known.delete(id);
      if (delivery === null) continue;
      found.push(withoutDetail(delivery));
      // Moves the delivery to the end, so that the next poll reads other deliveries.
      this.#known.set(id, known);
    }
    return this.#update(found);
  }

  #update(deliveries: readonly Delivery[]): Delivery[] {
    const changed: Delivery[] = [];
    for (const delivery of [...deliveries].sort(byCreation)) {
      const { deliveryId } = delivery;
      const state = `${delivery.status} ${delivery.attempts} ${delivery.dateNextAttempt}`;
      if (this.#known.get(deliveryId)?.state === state) continue;
      changed.push(delivery);
      this.#known.set(deliveryId, { state, dueS: delivery.dateNextAttempt });
    }
    return changed;
  }
}

/** Null for a delivery that retention has removed. */
function nullIfMissing(error: unknown): null {
  if (error instanceof ProblemError && error.status === 404) return null;
  throw error;
}

/** Ids sort by their time of creation. */
function byCreation(a: Delivery, b: Delivery): number {
  return a.deliveryId < b.deliveryId ? -1 : 1;
}
