import { BoundedMap } from '../../../bounded-map.ts';
import type { CallContract } from './contract-calls.ts';

/** A flow of Superfluid, and the block whose logs are read. */
export type Flow = {
  readonly networkId: number;
  /** The constant flow agreement, which wrote the log. */
  readonly contract: string;
  readonly token: string;
  readonly sender: string;
  readonly receiver: string;
  readonly blockNumber: number;
  readonly blockHash: string;
};

/** The selector of `getFlow(address,address,address)`, which returns the time, the rate, the deposit and the owed deposit. */
const GET_FLOW = '0xe6a1e888';
const RATE_WORD = 1;
const WORD = 64;
const MAX_KNOWN = 10_000;
/** Limit on the flows of one read, because the decoding waits for the calls. Flows past it stay unproved. */
const MAX_ASKED = 20;

/**
 * Whether a flow was open before a block. A log contains only the new rate, so the first log of a flow
 * and a change of its rate look the same. Only the state of the block before distinguishes them.
 */
export class FlowProofs {
  readonly #known = new BoundedMap<string, boolean>(MAX_KNOWN);

  constructor(private readonly call: CallContract) {}

  /** Reads whether each flow was open, by `flowKey`. Leaves out flows whose state no node has. */
  async read(flows: readonly Flow[]): Promise<ReadonlyMap<string, boolean>> {
    const wanted = new Map(flows.map((flow) => [flowKey(flow), flow]));
    const unknown = [...wanted].filter(([key]) => !this.#known.has(key)).slice(0, MAX_ASKED);
    await Promise.all(unknown.map(([key, flow]) => this.#ask(key, flow)));
    const open = new Map<string, boolean>();
    for (const key of wanted.keys()) {
      const isOpen = this.#known.get(key);
      if (isOpen !== undefined) open.set(key, isOpen);
    }
    return open;
  }

  async #ask(key: string, { networkId, contract, token, sender, receiver, blockNumber }: Flow): Promise<void> {
    const data = GET_FLOW + [token, sender, receiver].map((each) => each.slice(2).padStart(WORD, '0')).join('');
    const outcome = await this.call(networkId, { to: contract, data, block: Math.max(0, blockNumber - 1) });
    // The flow stays unproved: the node has no state of that block, or the contract has no flows.
    if ('failed' in outcome || outcome.data.length !== 2 + 4 * WORD) return;
    const start = 2 + RATE_WORD * WORD;
    this.#known.set(key, BigInt(`0x${outcome.data.slice(start, start + WORD)}`) !== 0n);
  }
}

/** Contains the hash of the block, because a reorg also replaces the state of the block before it. */
export function flowKey({ networkId, contract, token, sender, receiver, blockHash }: Flow): string {
  return `${networkId} ${contract} ${token} ${sender} ${receiver} ${blockHash}`;
}
