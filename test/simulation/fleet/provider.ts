import { RpcFailure } from '../../../src/chain/rpc/failures.ts';
import type { Exchange } from '../../../src/chain/rpc/http-exchange.ts';
import { balancer } from '../../support/chain/model-node.ts';
import { world } from '../world/world.ts';

const EXCHANGE_MS = 20;
/** Paybell gives up sooner on a call with a small answer, if it has other nodes. */
const TIMEOUT_MS = 10_000;

/** One URL of the network, as Paybell knows it: a node, or several that take the requests in turn. */
export class Provider<Node extends { readonly exchange: Exchange } = { readonly exchange: Exchange }> {
  /** The name of what is wrong with all of its nodes; null while nothing is. */
  misbehaviour: string | null = null;
  /** It keeps connections open and answers nothing, like a process that was stopped. */
  isHanging = false;
  readonly #exchange: Exchange;
  readonly #healNodes: () => void;

  constructor(
    readonly nodes: readonly Node[],
    healNode: (node: Node) => void,
  ) {
    this.#exchange = balancer(nodes);
    this.#healNodes = () => nodes.forEach(healNode);
  }

  readonly exchange: Exchange = async (payload, maxBytes, timeoutMs = TIMEOUT_MS) => {
    if (this.isHanging) {
      await world.sleep(timeoutMs);
      throw new RpcFailure('timeout');
    }
    await world.sleep(world.random.next() * EXCHANGE_MS);
    return this.#exchange(payload, maxBytes);
  };

  heal(): void {
    this.misbehaviour = null;
    this.isHanging = false;
    this.#healNodes();
  }
}
