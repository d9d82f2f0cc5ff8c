import { InDoubt, retryInDoubt } from '../../follow/doubt.ts';
import type { Header } from '../../follow/header.ts';
import { RpcFailure } from '../../rpc/failures.ts';
import type { Node } from '../../rpc/node.ts';
import type { Log } from '../rpc/types.ts';
import { datedBy, isRefusal, type Reading, type Refusal, readBlocks } from './blocks/read-blocks.ts';
import type { EvmPoll } from './evm-poll.ts';
import { findFlood, pauseFlood, pauseRefused } from './flood.ts';
import { tailStart } from './history.ts';
import type { Look } from './look.ts';
import { transactionsToAsk } from './transactions.ts';

/** Refusals in a row after which a node is no longer asked for logs by the hash of a block. */
const MAX_HASH_REFUSALS = 3;

/** The tail as one node has it: the blocks from `from` to `to`. */
export type Tail = {
  readonly look: Look;
  readonly from: number;
  readonly to: Header;
  readonly reading: Reading;
};

/** Returns null if the node rejected the range, or if sources were paused. The next attempt asks for less. */
export async function readTail(poll: EvmPoll, node: Node, look: Look): Promise<Tail | null> {
  const { range } = poll.follow.memory;
  const { head } = look;
  const most = node.logRange.cap(range.blocks);
  const from = tailStart(poll, Math.max(look.agreed?.number ?? 0, poll.state.final ?? 0) + 1, most);
  const to = Math.max(from - 1, Math.min(head.number, from + most - 1));
  const asked = to - from + 1;
  const transactions = transactionsToAsk(poll, head.hash);
  if (to === head.number && (asked === 0 || poll.sources.length === 0) && transactions.length === 0) {
    return { look, from, to: head, reading: { header: head, logs: [], receipts: new Map() } };
  }
  const reading = await retryInDoubt(() => readConsistently(poll, node, look, { from, to, transactions }));
  if (asked > 0) poll.follow.memory.meter.noteRequest(poll.sources);
  if (isRefusal(reading)) {
    if (asked <= 1) await pauseRefused(poll, node, to);
    return null;
  }
  const flood = findFlood(reading.logs, poll.sources);
  if (flood.size > 0) {
    await pauseFlood(poll, flood);
    return null;
  }
  range.adapt(asked, reading.logs.length);
  return { look, from, to: reading.header, reading };
}

/** A single new block is asked for by its hash: the node has exactly this block, or returns an error. */
async function readByHash(poll: EvmPoll, node: Node, { head }: Look, { from, to, transactions }: Wanted) {
  const { contractsPerCall, hashRefusals, bookModes: modes } = poll.follow.memory;
  const refusals = hashRefusals.get(node.name) ?? 0;
  if (from !== to || to !== head.number || refusals >= MAX_HASH_REFUSALS) return null;
  const { sources } = poll;
  const wanted = { from, to, sources, check: null, blockHash: head.hash, transactions, contractsPerCall, modes };
  const reading = await readBlocks(node, wanted);
  hashRefusals.set(node.name, isRefusal(reading) ? refusals + 1 : 0);
  if (isRefusal(reading)) return null;
  return { ...reading, logs: datedByHead(poll, node, head, reading.logs), header: head };
}

/** Dates the logs with the head from an earlier call, so that the reading needs no header. */
function datedByHead({ follow, lease }: EvmPoll, node: Node, head: Header, logs: readonly Log[]): readonly Log[] {
  return follow.witnesses.mayDate(node, head, lease.nowMs) ? datedBy(head, logs) : logs;
}

type SureReading = Reading & { readonly header: Header };
type Wanted = { readonly from: number; readonly to: number; readonly transactions: readonly string[] };
/** `check` is the block whose header comes with the logs; null for none. */
type Checked = Wanted & { readonly check: number | null };

/**
 * Throws `InDoubt` if the header is missing, or differs from the head that was seen or from the block that the logs
 * name.
 */
async function readConsistently(poll: EvmPoll, node: Node, look: Look, wanted: Wanted): Promise<SureReading | Refusal> {
  const { head } = look;
  const ofBlock = await readByHash(poll, node, look, wanted);
  if (ofBlock !== null) return ofBlock;
  const isTrusted = poll.follow.habits.savesCalls && look.withTags && wanted.to === head.number;
  const reading = await readOrShrink(poll, node, { ...wanted, check: isTrusted ? null : wanted.to });
  if (isRefusal(reading)) return reading;
  const header = isTrusted ? head : reading.header;
  const logs = isTrusted ? datedByHead(poll, node, head, reading.logs) : reading.logs;
  const { to } = wanted;
  if (header === null || (to === head.number && header.hash !== head.hash)) throw new InDoubt();
  if (logs.some(({ blockNumber, blockHash }) => blockNumber === to && blockHash !== header.hash)) throw new InDoubt();
  return { ...reading, logs, header };
}

async function readOrShrink(poll: EvmPoll, node: Node, { from, to, transactions, check }: Checked) {
  const { range, contractsPerCall, bookModes: modes } = poll.follow.memory;
  try {
    const wanted = { from, to, sources: poll.sources, check, transactions, contractsPerCall, modes };
    const reading = await readBlocks(node, wanted);
    if (isRefusal(reading)) range.shrink(to - from + 1);
    return reading;
  } catch (error) {
    if (error instanceof RpcFailure && isOverwhelmed(error)) range.shrink(to - from + 1);
    throw error;
  }
}

/** Whether the number of blocks may have been too much for the node, or for a proxy in front of it. */
function isOverwhelmed({ kind }: RpcFailure): boolean {
  return kind === 'timeout' || kind === 'http_status';
}
