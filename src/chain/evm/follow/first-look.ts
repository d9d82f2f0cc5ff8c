import type { BlockRef } from '../../../domain/chain/facts.ts';
import { InDoubt } from '../../follow/doubt.ts';
import type { Header } from '../../follow/header.ts';
import type { Node } from '../../rpc/node.ts';
import { blockAt } from '../rpc/calls.ts';
import type { EvmPoll } from './evm-poll.ts';
import type { Look } from './look.ts';
import { askOthers, mayStartAt } from './witnesses/consult.ts';

/** On a network without finality, the oldest anchor is this far below the tip. */
const GROUND_BLOCKS = 64;

/**
 * Chooses the tip and the oldest anchor of a network that was not read before. The tip is the block below the first block to read.
 * The oldest anchor is a final block, if the network says which blocks are final.
 */
export async function firstLook(poll: EvmPoll, node: Node, look: Look): Promise<void> {
  const { head } = look;
  await askOthers(poll, node, true);
  const start = Math.max(1, poll.lease.startBlock ?? head.number + 1);
  const tipNumber = Math.min(start - 1, head.number);
  const finalNumber = poll.follow.witnesses.firstFinal;
  const groundNumber = Math.max(0, Math.min(tipNumber, finalNumber ?? tipNumber - GROUND_BLOCKS));
  const [tip, ground] = await blocksAt(node, [tipNumber, groundNumber], head);
  if (tip === undefined || ground === undefined) throw new InDoubt();
  // All later blocks are compared with this block, so a node of another chain must not choose it alone.
  if (!(await mayStartAt(poll, node, ground))) throw new InDoubt();
  await poll.commit({
    tip,
    anchors: tip.number === ground.number ? [tip] : [tip, ground],
    // Nothing above the tip was read yet. A reorg may have removed the facts that are stored there, so this step must
    // not raise their finality.
    head: tip.number,
    headS: head.timestampS,
    final: finalNumber === null ? null : ground.number,
  });
}

async function blocksAt(node: Node, numbers: readonly number[], head: Header): Promise<BlockRef[]> {
  const unknown = numbers.filter((number) => number !== head.number);
  const calls = new Map([...new Set(unknown)].map((number) => [number, blockAt(number)]));
  if (calls.size === 0) return numbers.map(() => ({ number: head.number, hash: head.hash }));
  const outcomes = await node.send([...calls.values()]);
  return numbers.flatMap((number) => {
    const call = calls.get(number);
    const header = call === undefined ? head : outcomes.value(call);
    return header === null ? [] : [{ number, hash: header.hash }];
  });
}
