import { MISBEHAVIOURS as EVM_FAULTS } from '../fleet/evm/node-faults.ts';
import type { NodeFault, NodeFaults } from '../fleet/network.ts';
import { MISBEHAVIOURS as SOLANA_FAULTS } from '../fleet/solana/node-faults.ts';
import type { Simulation } from '../simulation.ts';
import { asNobody } from '../world/owners.ts';
import type { Random } from '../world/random.ts';
import { world } from '../world/world.ts';
import type { Action, Actions } from './operation.ts';

/**
 * Nodes that misbehave for a while. Most nodes stay honest, so that the laws hold: of three nodes one misbehaves at a time, and
 * two of five. Of two nodes one may, because both have to agree. A lone node may do what it alone can show to be wrong.
 */

const SHORTEST_MS = 1_000;
const LONGEST_MS = 20_000;

/** How many nodes may misbehave at the same time. */
function mostOf(nodes: number): number {
  return nodes < 3 ? 1 : Math.floor((nodes - 1) / 2);
}

function misbehave(name: string, { needsOthers = false }: NodeFault): Action['begin'] {
  return ({ network }: Simulation, draw: Random) => {
    const { providers } = network;
    const sound = providers.filter(({ misbehaviour }) => misbehaviour === null);
    const provider = draw.pick(sound);
    const isTooMany = providers.length - sound.length >= mostOf(providers.length);
    if (provider === undefined || isTooMany || (needsOthers && providers.length === 1)) return null;
    provider.misbehaviour = name;
    const position = providers.indexOf(provider);
    network.misbehave(name, position);
    world.note(`node ${position + 1} ${name}`);
    asNobody(() => world.schedule(() => provider.heal(), draw.between(SHORTEST_MS, LONGEST_MS)));
    return {};
  };
}

/** Each is as frequent as the others. */
function nodeActions(faults: NodeFaults): Actions {
  return Object.fromEntries(
    Object.entries(faults).map(([name, one]) => [`node-${name}`, { weight: 1, begin: misbehave(name, one) }]),
  );
}

export const NODE_ACTIONS = nodeActions(EVM_FAULTS);
export const SOLANA_NODE_ACTIONS = nodeActions(SOLANA_FAULTS);
