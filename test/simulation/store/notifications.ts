import { as, asNobody, type Owner } from '../world/owners.ts';
import { world } from '../world/world.ts';

/** Of the notifications, how many get lost: nothing may depend on one. */
const LOST_SHARE = 0.1;
const LATENCY_MS = 30;

/** What instances tell each other through the database. */
export class Notifications {
  readonly #listeners: { readonly owner: Owner; readonly callback: (what: string) => void }[] = [];

  listen(owner: Owner, callback: (what: string) => void): void {
    this.#listeners.push({ owner, callback });
  }

  send(from: Owner, what: string): void {
    for (const { owner, callback } of this.#listeners) {
      if (owner === from || !owner.isAlive || world.random.chance(LOST_SHARE)) continue;
      const notify = () => as(owner, () => callback(what));
      asNobody(() => world.schedule(() => owner.isAlive && notify(), world.random.next() * LATENCY_MS));
    }
  }
}
