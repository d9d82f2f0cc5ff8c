import { RpcFailure } from '../../../src/chain/rpc/failures.ts';
import type { Exchange } from '../../../src/chain/rpc/http-exchange.ts';
import { balancer, type Faults, type ModelNode } from '../../support/chain/model-node.ts';
import { world } from '../world/world.ts';

const EXCHANGE_MS = 20;
/** Paybell gives up sooner on a call with a small answer, if it has other nodes. */
const TIMEOUT_MS = 10_000;

/** One URL of the network, as Paybell knows it: a node, or several that take the requests in turn. */
export class Provider {
  /** The name of what is wrong with all of its nodes; null while nothing is. */
  misbehaviour: string | null = null;
  /** It keeps connections open and answers nothing, like a process that was stopped. */
  isHanging = false;
  readonly #exchange: Exchange;

  constructor(
    readonly nodes: readonly ModelNode[],
    private readonly sound: Partial<Faults>,
  ) {
    this.#exchange = balancer(nodes);
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
    for (const node of this.nodes) {
      node.thaw();
      Object.assign(node.faults, this.sound);
    }
  }
}
