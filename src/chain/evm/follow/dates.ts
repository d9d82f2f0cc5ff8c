import type { FactChange, FoundFact, Position } from '../../../domain/chain/facts.ts';
import { keyOf, positionOf } from '../../follow/compare.ts';
import type { Node } from '../../rpc/node.ts';
import { blockAt } from '../rpc/calls.ts';
import type { EvmPoll } from './evm-poll.ts';

/**
 * Adds the times of their blocks to new places of payments that invoices expect: the time says whether a payment is late. A node may
 * send it with a log. Paybell asks for the headers of other blocks, and of those whose time is not credible, and for no others.
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
  const calls = [...new Set(undated.map(({ position }) => position.blockNumber))].map(blockAt);
  const outcomes = await node.send(calls, 'logs');
  const headers = calls.flatMap((call): [string, number][] => {
    const header = outcomes.valueOrNull(call);
    return header !== null && mayDate(header.timestampS) ? [[header.hash, header.timestampS]] : [];
  });
  const times = new Map(headers);
  const dated = new Map(
    undated.map(({ change, position }) => [change, withTime(change, times.get(position.blockHash))] as const),
  );
  return changes.map((change) => dated.get(change) ?? change);
}

/** With this time in place of the one that it has. */
function withTime(change: FactChange, blockS: number | undefined): FactChange {
  const at = ({ blockS: _, ...position }: Position): Position => ({
    ...position,
    ...(blockS !== undefined && { blockS }),
  });
  if (change.change === 'seen') return { ...change, fact: { ...change.fact, position: at(change.fact.position) } };
  return 'position' in change ? { ...change, position: at(change.position) } : change;
}
