import type { FactChange, FoundFact, Position } from '../../../domain/chain/facts.ts';
import { keyOf, positionOf } from '../../follow/compare.ts';
import { RpcFailure } from '../../rpc/failures.ts';
import type { Node } from '../../rpc/node.ts';
import { blockAt } from '../rpc/calls.ts';
import type { EvmPoll } from './evm-poll.ts';

/**
 * Adds the block time to each new position of a payment that an invoice expects. The time decides whether the payment
 * is late. If a log comes without the time, or the time is not credible, Paybell asks for the block's header: first the
 * node of the reading, then the other nodes.
 */
export async function dateExpected(
  poll: EvmPoll,
  node: Node,
  found: readonly FoundFact[],
  changes: readonly FactChange[],
): Promise<readonly FactChange[]> {
  const expected = new Set(found.flatMap((fact) => (fact.expected === undefined ? [] : keyOf(fact))));
  if (expected.size === 0) return changes;
  const { follow, lease } = poll;
  const mayDate = (timestampS: number) => follow.witnesses.mayDate(node, { timestampS }, lease.nowMs);
  const undated = changes.flatMap((change) => {
    const position = positionOf(change);
    if (position === null || !expected.has(keyOf('fact' in change ? change.fact : change))) return [];
    const { blockS } = position;
    return blockS !== undefined && mayDate(blockS) ? [] : { change, position };
  });
  if (undated.length === 0) return changes;
  const blocks = new Map(undated.map(({ position: { blockHash, blockNumber } }) => [blockHash, blockNumber]));
  const times = await readTimes(poll, node, blocks);
  for (const other of follow.nodes.others(node)) {
    for (const hash of times.keys()) blocks.delete(hash);
    if (blocks.size === 0) break;
    for (const [hash, timeS] of await readTimesUnlessFailing(poll, other, blocks)) times.set(hash, timeS);
  }
  const dated = new Map(
    undated.map(({ change, position }) => [change, withTime(change, times.get(position.blockHash))] as const),
  );
  return changes.map((change) => dated.get(change) ?? change);
}

/** The credible times of these blocks, by their hashes. */
async function readTimes(
  { follow, lease }: EvmPoll,
  node: Node,
  blocks: ReadonlyMap<string, number>,
): Promise<Map<string, number>> {
  const calls = [...new Set(blocks.values())].map(blockAt);
  const outcomes = await node.send(calls, 'logs');
  const headers = calls.flatMap((call) => outcomes.valueOrNull(call) ?? []);
  const credible = headers.filter((header) => follow.witnesses.mayDate(node, header, lease.nowMs));
  return new Map(credible.map(({ hash, timestampS }) => [hash, timestampS]));
}

/**
 * Returns no times if the node fails. If a payment stays without a time, the block at which its invoice expired
 * decides.
 */
async function readTimesUnlessFailing(...reading: Parameters<typeof readTimes>): ReturnType<typeof readTimes> {
  try {
    return await readTimes(...reading);
  } catch (error) {
    if (error instanceof RpcFailure) return new Map();
    throw error;
  }
}

/** The change with this time of its block, or with none. */
function withTime(change: FactChange, blockS: number | undefined): FactChange {
  const at = ({ blockS: _, ...position }: Position): Position => ({
    ...position,
    ...(blockS !== undefined && { blockS }),
  });
  if (change.change === 'seen') return { ...change, fact: { ...change.fact, position: at(change.fact.position) } };
  return 'position' in change ? { ...change, position: at(change.position) } : change;
}
