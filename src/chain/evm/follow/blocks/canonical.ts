import type { BlockRef, Position } from '../../../../domain/chain/facts.ts';
import { InDoubt, retryInDoubt } from '../../../follow/doubt.ts';
import type { Header } from '../../../follow/header.ts';
import type { Call } from '../../../rpc/call.ts';
import type { Node } from '../../../rpc/node.ts';
import { blockAt } from '../../rpc/calls.ts';

const BLOCKS_A_REQUEST = 10;

/** The blocks of a node by number, as far as they are known from its headers and logs. */
export class CanonicalBlocks {
  /** According to the probes, the network has replaced all blocks from here on. Infinity if no probe has found a replaced block. */
  #goneFrom = Number.POSITIVE_INFINITY;
  #standsTo = Number.NEGATIVE_INFINITY;
  readonly #hashes: Map<number, string>;

  /** `highest` is the last block that the node has. */
  constructor(
    hashes: ReadonlyMap<number, string>,
    private readonly highest: number,
  ) {
    this.#hashes = new Map(hashes);
  }

  hashAt(number: number): string | null {
    return this.#hashes.get(number) ?? null;
  }

  isGone({ blockNumber, blockHash }: Position): boolean {
    if (blockNumber > this.highest) return true;
    const hash = this.#hashes.get(blockNumber);
    return hash === undefined ? blockNumber >= this.#goneFrom : hash !== blockHash;
  }

  /**
   * Asks the node for each block with an unknown hash, so that `isGone` can decide. Probes only some of many blocks:
   * every block below an unchanged block is unchanged, and every block above a replaced block is replaced. Fails if the
   * node no longer has the header.
   */
  async ask(node: Node, blocks: readonly BlockRef[], header: Header): Promise<void> {
    const isUnknown = ({ number }: BlockRef) => number <= this.highest && !this.#hashes.has(number);
    const byNumber = new Map(blocks.filter(isUnknown).map((block) => [block.number, block]));
    let left = [...byNumber.values()].sort((a, b) => a.number - b.number);
    while (left.length > 0) {
      const probes = spread(left, BLOCKS_A_REQUEST);
      await retryInDoubt(() => this.#probe(node, probes, header));
      left = left.filter(({ number }) => number > this.#standsTo && number < this.#goneFrom);
      left = left.filter(({ number }) => !this.#hashes.has(number));
    }
  }

  async #probe(node: Node, probes: readonly BlockRef[], header: Header): Promise<void> {
    const check = blockAt(header.number);
    const calls = probes.map((block) => ({ block, call: blockAt(block.number) }));
    const outcomes = await node.send([check, ...calls.map(({ call }): Call<unknown> => call)]);
    if (outcomes.value(check)?.hash !== header.hash) throw new InDoubt();
    if (calls.some(({ call }) => outcomes.valueOrNull(call) === null)) throw new InDoubt();
    for (const { block, call } of calls) {
      const canonical = outcomes.value(call);
      if (canonical === null) continue;
      this.#hashes.set(block.number, canonical.hash);
      if (canonical.hash === block.hash) this.#standsTo = Math.max(this.#standsTo, block.number);
      else this.#goneFrom = Math.min(this.#goneFrom, block.number);
    }
  }
}

/** At most `most` of the items, evenly over the list, including the first and the last. */
function spread<Item>(items: readonly Item[], most: number): Item[] {
  if (items.length <= most) return [...items];
  const at = (index: number) => items[Math.round((index * (items.length - 1)) / (most - 1))];
  return Array.from({ length: most }, (_, index) => at(index)).flatMap((item) => item ?? []);
}
