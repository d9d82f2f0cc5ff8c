import { type DestinationKey, rateOf } from '../../domain/post-url.ts';
import { BURST_S } from './pace.ts';

/** What one of the instances that send to a destination may use: requests at a time, and one of so many parts of its rate. */
export type DestinationShare = { readonly cap: number; readonly instances: number };

/** The part of DESTINATION_CONCURRENCY that each of so many instances has, which is one where they are more than the cap. */
export function shareOfCap(cap: number, instances: number): number {
  return Math.max(1, Math.floor(cap / Math.max(1, instances)));
}

/**
 * Divides the limits of a destination by the instances that deliver, so that all of them together send no more than one would.
 *
 * A request and a token of a rate limit cannot be divided. Where there are more instances than these, only so many of them send to the destination, and
 * the others leave its deliveries in the store. Which ones is decided by rendezvous hashing: every instance ranks all of them by
 * a hash of the destination and the instance, without a message or a row. An instance that comes or goes changes the senders of
 * its share of the destinations, and of no other.
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

  /** Of a destination with this rate limit, or with none. */
  shareOf(perSecond: number | null): DestinationShare {
    const instances = this.#sendersAt(perSecond);
    return { cap: shareOfCap(this.cap, instances), instances };
  }

  /** Whether this instance is one of those that send to the destination. */
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

  /** Each has a bucket of at least one token, so that more of them than the burst has tokens would exceed it. */
  #sendersAt(perSecond: number | null): number {
    const most = perSecond === null ? this.cap : Math.min(this.cap, Math.floor(perSecond * BURST_S));
    return Math.max(1, Math.min(this.#others.length + 1, most));
  }
}

/** Mixes every bit of both into every bit of the result: the order of instances is another one for each destination. */
function rank(destination: number, instance: number): number {
  let mixed = destination ^ Math.imul(instance, 0x9e3779b1);
  for (let round = 0; round < 2; round++) mixed = Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
