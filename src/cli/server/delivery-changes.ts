import { BoundedMap } from '../../bounded-map.ts';
import type { Delivery, DeliveryDetail, DeliveryList, DeliveryListQuery } from '../../client/deliveries.ts';
import { ProblemError } from '../../client/errors.ts';

/** Of the newest, one page of the largest size is one request. */
const PAGE = 100;
/** More than this many pages behind, the oldest are passed over: a terminal shows no more anyway. */
const MAX_PAGES = 10;
/** Deliveries that wait for a retry and are no longer on the newest page are looked at when they are due, so many a turn. */
const MAX_LOOKED_AT = 10;
/** Beyond this the delivery whose last change is oldest is forgotten, and a later change of it is not shown. */
const MAX_KNOWN = 20_000;

export type DeliverySource = {
  list(query: DeliveryListQuery): Promise<DeliveryList>;
  get(deliveryId: string): Promise<DeliveryDetail>;
};

type Known = { state: string; dueS: number | null };

/** Which deliveries are new or stand elsewhere than at the last look, by as few requests as that takes. */
export class DeliveryChanges {
  readonly #known = new BoundedMap<string, Known>(MAX_KNOWN);

  constructor(
    private readonly source: DeliverySource,
    private readonly filter: Pick<DeliveryListQuery, 'event' | 'networkId' | 'webhookId'>,
  ) {}

  /** Oldest first. The first look answers the newest `show`, and knows the others on the page from then on. */
  async first(show: number): Promise<Delivery[]> {
    const { deliveries } = await this.source.list({ ...this.filter, limit: PAGE });
    const changed = this.#take(deliveries);
    return changed.slice(changed.length - Math.min(show, changed.length));
  }

  async next(nowS: number): Promise<Delivery[]> {
    const seen: Delivery[] = [];
    for (let page = 1; page <= MAX_PAGES; page++) {
      const { deliveries } = await this.source.list({ ...this.filter, page, limit: PAGE });
      seen.push(...deliveries);
      if (deliveries.length < PAGE || deliveries.some(({ deliveryId }) => this.#known.has(deliveryId))) break;
    }
    const onPage = new Set(seen.map(({ deliveryId }) => deliveryId));
    const due = [...this.#known].filter(([id, { dueS }]) => dueS !== null && dueS <= nowS && !onPage.has(id));
    for (const [id] of due.slice(0, MAX_LOOKED_AT)) {
      const found = await this.source.get(id).catch(forgetMissing);
      if (found === null) this.#known.delete(id);
      else seen.push(withoutDetail(found));
    }
    return this.#take(seen);
  }

  #take(deliveries: readonly Delivery[]): Delivery[] {
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

/** One that is gone is past its retention; any other fault is for whoever asked. */
function forgetMissing(error: unknown): null {
  if (error instanceof ProblemError && error.status === 404) return null;
  throw error;
}

/** Read alone it has more: a change looks the same however it was found. */
function withoutDetail({ body: _, attemptLog: __, ...delivery }: DeliveryDetail): Delivery {
  return delivery;
}

/** Ids are made in the order of time. */
function byCreation(a: Delivery, b: Delivery): number {
  return a.deliveryId < b.deliveryId ? -1 : 1;
}
