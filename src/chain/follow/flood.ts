import type { FollowedSource } from '../../store/chain/network-store.ts';
import { RpcFailure } from '../rpc/failures.ts';
import type { Node } from '../rpc/node.ts';
import type { Log } from '../rpc/types.ts';
import { readBlocks } from './blocks/read-blocks.ts';
import type { Poll } from './poll.ts';

/** More logs than these in one block, of one contract, are not payments. */
export const MAX_BLOCK_LOGS = 10_000;
const MAX_REQUESTS = 60;
/** The first topic of no log. */
const NO_TOPIC = `0x${'f'.repeat(64)}`;

/** Contracts with more logs in one block than are read. */
export function floodingContracts(logs: readonly Log[]): Set<string> {
  if (logs.length <= MAX_BLOCK_LOGS) return new Set();
  const counts = new Map<string, number>();
  for (const { blockNumber, address } of logs) {
    const key = `${address} ${blockNumber}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const keys = [...counts].filter(([, count]) => count > MAX_BLOCK_LOGS).map(([key]) => key);
  return new Set(keys.map((key) => key.slice(0, key.indexOf(' '))));
}

/**
 * Finds the contracts because of which the logs of one block cannot be read, and pauses their sources. The others go on with
 * the next attempt.
 */
export async function pauseFlood(poll: Poll, node: Node, block: number, sources = poll.sources): Promise<void> {
  const contracts = await findFlood(node, block, sources);
  await pauseContracts(poll, contracts, block);
}

export async function pauseContracts(poll: Poll, contracts: ReadonlySet<string>, block: number): Promise<void> {
  const flooded = poll.sources.filter(({ contract }) => contracts.has(contract));
  await poll.pause(flooded, `The contract has more logs in block ${block} than can be read.`);
}

async function findFlood(node: Node, block: number, sources: readonly FollowedSource[]): Promise<Set<string>> {
  const found = new Set<string>();
  const sizes = new Map<string, number>();
  const queue = [[...new Set(sources.map(({ contract }) => contract))]];
  for (let requests = 0; requests < MAX_REQUESTS; requests++) {
    const contracts = queue.pop();
    if (contracts === undefined) break;
    const asked = sources.filter(({ contract }) => contracts.includes(contract));
    const reading = await readBlocks(node, { from: block, to: block, check: block, sources: asked });
    const [only, ...others] = contracts;
    if (reading !== null) {
      for (const { address } of reading.logs) sizes.set(address, (sizes.get(address) ?? 0) + 1);
    } else if (only !== undefined && others.length === 0) {
      await requireThatLogsAreServed(node, block, asked);
      found.add(only);
    } else {
      const middle = Math.ceil(contracts.length / 2);
      queue.push(contracts.slice(0, middle), contracts.slice(middle));
    }
  }
  if (found.size > 0) return found;
  // Each can be read and all together cannot: the largest one makes room.
  const [largest] = [...sizes].sort(([, a], [, b]) => b - a);
  if (largest === undefined) throw new RpcFailure('rpc_error');
  return new Set([largest[0]]);
}

/** A node that refuses a filter without a single log has another reason than the contract. */
async function requireThatLogsAreServed(node: Node, block: number, sources: readonly FollowedSource[]): Promise<void> {
  const asked = sources.map((source) => ({ ...source, topic: NO_TOPIC }));
  if ((await readBlocks(node, { from: block, to: block, check: block, sources: asked })) !== null) return;
  const failure = new RpcFailure('rpc_error');
  node.noteFailure(failure);
  throw failure;
}
