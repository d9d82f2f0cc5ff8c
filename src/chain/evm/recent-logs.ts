import { type Dialect, ETHEREUM_DIALECT } from '../rpc/dialect.ts';
import { isRateLimit, RpcFailure } from '../rpc/failures.ts';
import type { Log, LogFilter } from './rpc/types.ts';

/** Limit on the requests for logs of one preview. The followers of networks need most of a node's rate. */
const MAX_CALLS = 4;
const FIRST_BLOCKS = 1_000;
const MOST_BLOCKS = 9_000;
const GROWTH = 3;
/** A refused range is tried again with a tenth of its blocks. */
const SHRINK = 10;

export type RecentLogs = {
  /** Logs with older ranges first; within a range, in the node's order. */
  readonly logs: readonly Log[];
  /** All blocks from this one up to the head were read. */
  readonly fromBlock: number;
};

/**
 * Reads logs backwards from the head until there are enough. Ranges grow while the node accepts them, and shrink once
 * it refuses one. Returns null if the node refuses every range. Throws if the node fails before any range was read.
 */
export async function readRecentLogs(
  read: (filter: LogFilter) => Promise<Log[]>,
  filter: Pick<LogFilter, 'addresses' | 'topics'>,
  head: number,
  enough: number,
  { rateLimitCodes }: Dialect = ETHEREUM_DIALECT,
): Promise<RecentLogs | null> {
  let logs: readonly Log[] = [];
  let lowest = head + 1;
  let blocks = FIRST_BLOCKS;
  let mayGrow = true;
  for (let call = 0; call < MAX_CALLS; call++) {
    const toBlock = lowest - 1;
    if (toBlock < 0 || logs.length >= enough) break;
    const fromBlock = Math.max(0, toBlock - blocks + 1);
    try {
      logs = [...(await read({ ...filter, fromBlock, toBlock })), ...logs];
      lowest = fromBlock;
      if (mayGrow) blocks = Math.min(blocks * GROWTH, MOST_BLOCKS);
    } catch (error) {
      if (!(error instanceof RpcFailure)) throw error;
      // If the node fails later, returns the logs so far: some payments are better than none.
      const isTooMuch = isRefusal(error) && !isRateLimit(error, rateLimitCodes);
      if (!isTooMuch && lowest <= head) break;
      if (!isTooMuch) throw error;
      mayGrow = false;
      blocks = Math.max(1, Math.floor(blocks / SHRINK));
    }
  }
  return lowest > head ? null : { logs, fromBlock: lowest };
}

/** Nodes have no common code for a range that is too long. */
function isRefusal({ kind }: RpcFailure): boolean {
  return kind === 'too_large' || kind === 'rpc_error';
}
