import type { NodeHealth } from '../../store/chain/network-store.ts';
import type { Call } from './call.ts';
import { RpcFailure } from './failures.ts';
import type { Node } from './node.ts';

/** The nodes of one network. One of them is preferred until it fails or stays behind. */
export class Nodes {
  #preferred = 0;
  #second = 0;

  constructor(private readonly nodes: readonly Node[]) {
    if (nodes.length === 0) throw new Error('A network needs at least one node');
  }

  get count(): number {
    return this.nodes.length;
  }

  get all(): readonly Node[] {
    return this.nodes;
  }

  get preferred(): Node | undefined {
    return this.nodes[this.#preferred];
  }

  prefer(node: Node): void {
    this.#preferred = Math.max(0, this.nodes.indexOf(node));
  }

  /** The other nodes that can be asked now. */
  others(than: Node): Node[] {
    return this.nodes.filter((node) => node !== than && node.waitMs === 0);
  }

  /** The node to ask now; null while all nodes are in their back-off. */
  current(): Node | null {
    for (let step = 0; step < this.nodes.length; step++) {
      const index = (this.#preferred + step) % this.nodes.length;
      const node = this.nodes[index];
      if (node === undefined || node.waitMs > 0) continue;
      this.#preferred = index;
      return node;
    }
    return null;
  }

  /** Another node for a second opinion. The nodes take turns; null if none can be asked now. */
  second(first: Node): Node | null {
    for (let step = 0; step < this.nodes.length; step++) {
      const node = this.nodes[this.#second++ % this.nodes.length];
      if (node !== undefined && node !== first && node.waitMs === 0) return node;
    }
    return null;
  }

  /** Applies what an earlier holder of the lease knew about the nodes. */
  restore(known: readonly NodeHealth[]): void {
    for (const { name, limits, calls } of known) {
      this.nodes.find((node) => node.name === name)?.restore(limits, calls);
    }
  }

  /** Returns how many of these blocks every node takes in one `eth_getLogs`. */
  capRange(blocks: number): number {
    return this.nodes.reduce((least, { logRange }) => logRange.cap(least), blocks);
  }

  /** The time until one of the nodes may be asked; 0 if one may be asked now. */
  get waitMs(): number {
    return Math.min(...this.nodes.map((node) => node.waitMs));
  }

  get calls(): number {
    return this.nodes.reduce((sum, { calls }) => sum + calls, 0);
  }

  get requests(): number {
    return this.nodes.reduce((sum, { requests }) => sum + requests, 0);
  }

  /** Sends a call to the first node that takes it. If none does, throws the failure of the last node. */
  async ask<Result>(call: Call<Result>): Promise<Result> {
    let failure = new RpcFailure('unreachable');
    for (let attempt = 0; attempt < this.nodes.length; attempt++) {
      const node = this.current();
      if (node === null) break;
      try {
        return (await node.send([call])).value(call);
      } catch (error) {
        if (!(error instanceof RpcFailure)) throw error;
        // A node that rejects the call is healthy, so its answer stands.
        if (error.kind === 'rpc_error') throw error;
        failure = error;
      }
    }
    throw failure;
  }
}
