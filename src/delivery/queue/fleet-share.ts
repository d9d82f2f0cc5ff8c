import { type DestinationKey, rateOf } from '../../domain/post-url.ts';
import { BURST_S } from './pace.ts';

/** The share of one instance: its requests in flight, and the number of instances that divide the rate limit. */
export type DestinationShare = { readonly cap: number; readonly instances: number };

/** Each instance's share of DESTINATION_CONCURRENCY. It is at least one, even with more instances than the cap. */
export function shareOfCap(cap: number, instances: number): number {
  return Math.max(1, Math.floor(cap / Math.max(1, instances)));
}

/**
 * Divides the limits of a destination by the instances that deliver, so that all instances together send no more than a
 * single instance would.
 *
 * One request or one token of a rate limit cannot be divided. With more instances than requests or tokens, only some
 * instances send to the destination, and the others leave its deliveries in the database. Rendezvous hashing chooses
 * the senders: every instance ranks all instances by a hash of the destination and the instance, without a message or a
 * row. An instance that starts or stops changes the senders of only its share of the destinations.
 */
export class FleetShare {
  readonly #own: number;
  readonly #others: readonly number[];

  constructor(
    private readonly cap: number,
    own = '',
    delivering: readonly string[] = [own],
  ) {
    this.#own = Bun.hash.xxHash32(own);
    this.#others = delivering.filter((id) => id !== own).map((id) => Bun.hash.xxHash32(id));
  }

  /** The share for a destination with this rate limit, or without one if it is null. */
  shareOf(perSecond: number | null): DestinationShare {
    const instances = this.#sendersAt(perSecond);
    return { cap: shareOfCap(this.cap, instances), instances };
  }

  /** Whether this instance is one of the senders of the destination. */
  sendsTo(destination: DestinationKey): boolean {
    if (this.#others.length === 0) return true;
    const senders = this.#sendersAt(rateOf(destination));
    if (this.#others.length < senders) return true;
    const hash = Bun.hash.xxHash32(destination);
    const own = rank(hash, this.#own);
    let before = 0;
    for (const other of this.#others) if (rank(hash, other) > own && ++before === senders) return false;
    return true;
  }

  /**
   * Each sender has a bucket of at least one token, so more senders than the burst has tokens would exceed the burst.
   */
  #sendersAt(perSecond: number | null): number {
    const most = perSecond === null ? this.cap : Math.min(this.cap, Math.floor(perSecond * BURST_S));
    return Math.max(1, Math.min(this.#others.length + 1, most));
  }
}

/** Hashes a destination with an instance, so that each destination ranks the instances in another order. */
function rank(destination: number, instance: number): number {
  let mixed = destination ^ Math.imul(instance, 0x9e3779b1);
  for (let round = 0; round < 2; round++) mixed = Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
