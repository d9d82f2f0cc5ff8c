import type { CallContract } from './contract-calls.ts';
import { FLOW_KINDS } from './definition/presets.ts';
import { type Flow, FlowProofs, flowKey } from './flow-proofs.ts';
import type { Match } from './source-index.ts';

/**
 * Decides what the logs of flows prove. A rate of zero closes a flow. Any other rate opens a flow that was closed
 * before.
 */
export class FlowKinds {
  readonly #proofs: FlowProofs;

  constructor(call: CallContract) {
    this.#proofs = new FlowProofs(call);
  }

  /**
   * Returns the matches that open or close a flow, and all matches that are not about a flow. Leaves out logs that only
   * change a rate. `unproved` counts the logs that may only change a rate: no node has the earlier state that would
   * decide. Matches are in the order of their logs.
   */
  async prove(matches: readonly Match[]): Promise<{ proved: readonly Match[]; unproved: number }> {
    const before = ratesBefore(matches);
    if (before.size === 0) return { proved: matches, unproved: 0 };
    const first = matches.filter((match) => before.get(match)?.rate === null).map(readFlow);
    const wasOpen = await this.#proofs.read(first.filter(({ rate }) => rate !== 0n).map(({ flow }) => flow));
    let unproved = 0;
    const proved = matches.flatMap((match) => {
      const last = before.get(match);
      if (last === undefined) return match;
      const { key, rate } = readFlow(match);
      if (rate === 0n) return { ...match, kind: FLOW_KINDS.closed };
      const isOpen = last.rate === null ? wasOpen.get(key) : last.rate !== 0n;
      if (isOpen === undefined) unproved++;
      return isOpen === false ? { ...match, kind: FLOW_KINDS.opened } : [];
    });
    return { proved, unproved };
  }
}

/**
 * For each match of a flow, the rate that the flow's previous log in the same block has set. Null if there is no such log. The
 * state of the block before has the rate in that case.
 */
function ratesBefore(matches: readonly Match[]): Map<Match, { readonly rate: bigint | null }> {
  const before = new Map<Match, { readonly rate: bigint | null }>();
  const last = new Map<string, { readonly logIndex: number; readonly rate: bigint; readonly before: bigint | null }>();
  for (const match of matches) {
    if (match.kind !== null) continue;
    const { key, rate } = readFlow(match);
    const { logIndex } = match.log;
    const known = last.get(key);
    // Several entities may have a match of the same log.
    const previous = known?.logIndex === logIndex ? known.before : (known?.rate ?? null);
    before.set(match, { rate: previous });
    last.set(key, { logIndex, rate, before: previous });
  }
  return before;
}

/** The parameters of `FlowUpdated` in the order of its declaration. */
function readFlow({ source: { followed }, log, values }: Match): { flow: Flow; key: string; rate: bigint } {
  const [token, sender, receiver, rate] = values as readonly [string, string, string, bigint];
  const { blockNumber, blockHash, address } = log;
  const flow = { networkId: followed.networkId, contract: address, token, sender, receiver, blockNumber, blockHash };
  return { flow, key: flowKey(flow), rate };
}
