import { NATIVE_TOKEN } from '../../../domain/chain/coin.ts';
import type { FollowedSource } from '../../../store/chain/network-store.ts';
import { garbageFrom, InDoubt } from '../../follow/doubt.ts';
import type { Header } from '../../follow/header.ts';
import type { Outcomes } from '../../rpc/batch.ts';
import type { Call, Purpose } from '../../rpc/call.ts';
import type { Node } from '../../rpc/node.ts';
import { DemandIndex, demandsOf } from '../follow/blocks/demands.ts';
import { receiptOf, transfersIn } from '../rpc/calls.ts';
import type { BlockTransfers, Log } from '../rpc/types.ts';
import { logOfTransfer, placeIn } from './transfers.ts';

/**
 * Transfers of the coin in whole blocks. No node lists them by address, so Paybell reads every transaction. It also
 * reads the receipt of each transfer that a source takes, because a failed transaction moved nothing. Only networks
 * with such a source need these calls.
 */

/** A whole block has a few hundred kilobytes, and Paybell reads at most 16 MB of a response. */
export const MAX_COIN_BLOCKS = 32;
const RECEIPTS_A_REQUEST = 100;

export function isCoinSource({ contract }: Pick<FollowedSource, 'contract'>): boolean {
  return contract === NATIVE_TOKEN;
}

type Wanted = { readonly from: number; readonly to: number; readonly blockHash?: string | undefined };

/** The blocks of one reading. */
export class CoinBlocks {
  readonly calls: readonly Call<BlockTransfers | null>[];

  constructor(
    private readonly sources: readonly FollowedSource[],
    private readonly wanted: Wanted,
  ) {
    const { from, to, blockHash } = wanted;
    const count = sources.length === 0 ? 0 : to - from + 1;
    this.calls = Array.from({ length: Math.max(0, count) }, (_, at) => transfersIn(blockHash ?? from + at));
  }

  /** Whether the node refuses to return the blocks, or does not have the block of this hash. */
  isRefused(node: Node, outcomes: Outcomes): boolean {
    const failures = this.calls.flatMap((call) => outcomes.failure(call) ?? []);
    if (failures.some(({ kind }) => kind === 'rpc_error')) return true;
    if (failures.length > 0) throw garbageFrom(node);
    return this.wanted.blockHash !== undefined && this.calls.some((call) => outcomes.value(call) === null);
  }

  /**
   * The transfers that a source takes and a receipt proves. `checked` is the header that came with the blocks; null if the node
   * does not have it, or if none was asked for.
   */
  async read(node: Node, outcomes: Outcomes, checked: Header | null, purpose: Purpose): Promise<Log[]> {
    const blocks = this.calls.flatMap((call) => outcomes.value(call) ?? []);
    if (this.calls.length === 0) return [];
    // The node is behind. The caller sees this from the missing header.
    if (blocks.length < this.calls.length) {
      if (checked === null) return [];
      throw new InDoubt();
    }
    if (!areOneChain(blocks, checked)) throw new InDoubt();
    const index = new DemandIndex(demandsOf(this.sources));
    const logs = blocks.flatMap(({ header, transfers }) =>
      transfers.map((transfer) => logOfTransfer(transfer, placeIn(header))).filter((log) => index.of(log).length > 0),
    );
    const proved: Log[] = [];
    for (let at = 0; at < logs.length; at += RECEIPTS_A_REQUEST) {
      proved.push(...(await prove(node, logs.slice(at, at + RECEIPTS_A_REQUEST), purpose)));
    }
    return proved;
  }
}

/**
 * Whether each block is the parent of the next. If a reorg comes between two responses, the blocks can be of two
 * branches.
 */
function areOneChain(blocks: readonly BlockTransfers[], checked: Header | null): boolean {
  const headers = blocks.map(({ header }) => header);
  const all = checked === null ? headers : [...headers, checked];
  return all.every((header, at) => {
    const before = all[at - 1];
    if (before === undefined) return true;
    if (before.number === header.number) return before.hash === header.hash;
    const isChild = before.number + 1 === header.number && header.parentHash !== null;
    return !isChild || header.parentHash === before.hash;
  });
}

/**
 * The transfers whose receipts state success. Throws `InDoubt` if a receipt is of another block than its transfer, as
 * after a reorg.
 */
async function prove(node: Node, logs: readonly Log[], purpose: Purpose): Promise<Log[]> {
  const asked = logs.map((log) => ({ log, call: receiptOf(log.transactionHash) }));
  const outcomes = await node.send(
    asked.map(({ call }) => call),
    purpose,
  );
  return asked.flatMap(({ log, call }) => {
    const receipt = outcomes.value(call);
    if (receipt === null || receipt.blockHash !== log.blockHash) throw new InDoubt();
    return receipt.statesSuccess ? log : [];
  });
}
