import type { NetworkState } from '../../../../store/chain/network-store.ts';
import type { Node } from '../../../rpc/node.ts';

/** If no other node has shown the blocks for this long, the leader alone decides which invoices have expired. */
const ALONE_MS = 300_000;

/**
 * The block up to which each node has shown its payments, without a gap since finality. An invoice expires only after
 * two nodes have shown all blocks, because one of them may leave out the payment.
 */
export class Readings {
  readonly #last = new Map<Node, number>();
  /** When two nodes had last shown all blocks, or when this follower began. */
  #agreedAtMs: number | null = null;

  /** The first block above finality that the node has not shown. */
  next(node: Node, { final, anchors }: NetworkState): number {
    return Math.max(this.#last.get(node) ?? 0, final ?? anchors.at(-1)?.number ?? 0) + 1;
  }

  note(node: Node, { from, to }: { readonly from: number; readonly to: number }, state: NetworkState): void {
    const next = this.next(node, state);
    if (from <= next && to >= next) this.#last.set(node, to);
  }

  noteAgreed(nowMs: number): void {
    this.#agreedAtMs = nowMs;
  }

  isAlone(nowMs: number): boolean {
    this.#agreedAtMs ??= nowMs;
    return nowMs - this.#agreedAtMs >= ALONE_MS;
  }

  /** Forgets the blocks above the base, which a reorg has replaced. */
  cut(base: number): void {
    for (const [node, last] of this.#last) this.#last.set(node, Math.min(last, base));
  }

  clear(): void {
    this.#last.clear();
    this.#agreedAtMs = null;
  }
}
