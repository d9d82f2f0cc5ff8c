import type { FactChange, FoundFact } from '../../../domain/chain/facts.ts';
import { keyOf, positionOf } from '../../follow/compare.ts';
import type { Header } from '../../follow/header.ts';
import type { Node } from '../../rpc/node.ts';
import { blockAt } from '../rpc/calls.ts';
import type { EvmPoll } from './evm-poll.ts';

/**
 * Adds the times of their blocks to new places of payments that invoices expect: the time says whether a payment is late. Not every
 * node sends it with a log. Paybell asks such a node for the headers of these blocks, and for no others.
 */
export async function dateExpected(
  poll: EvmPoll,
  node: Node,
  found: readonly FoundFact[],
  changes: readonly FactChange[],
): Promise<readonly FactChange[]> {
  const expected = new Set(found.flatMap((fact) => (fact.expected === undefined ? [] : keyOf(fact))));
  if (expected.size === 0) return changes;
  const undated = changes.flatMap((change) => {
    const position = positionOf(change);
    const isUndated = position !== null && position.blockS === undefined;
    return isUndated && expected.has(keyOf('fact' in change ? change.fact : change)) ? { change, position } : [];
  });
  if (undated.length === 0) return changes;
  const calls = [...new Set(undated.map(({ position }) => position.blockNumber))].map(blockAt);
  const outcomes = await node.send(calls, 'logs');
  const { follow, lease } = poll;
  const headers = calls.flatMap((call): [string, Header][] => {
    const header = outcomes.valueOrNull(call);
    return header !== null && follow.witnesses.mayDate(node, header, lease.nowMs) ? [[header.hash, header]] : [];
  });
  const byHash = new Map(headers);
  const dated = new Map(
    undated.flatMap(({ change, position }): [FactChange, FactChange][] => {
      const header = byHash.get(position.blockHash);
      return header === undefined ? [] : [[change, withTime(change, header.timestampS)]];
    }),
  );
  return changes.map((change) => dated.get(change) ?? change);
}

function withTime(change: FactChange, blockS: number): FactChange {
  if (change.change === 'seen') {
    return { ...change, fact: { ...change.fact, position: { ...change.fact.position, blockS } } };
  }
  return 'position' in change ? { ...change, position: { ...change.position, blockS } } : change;
}
