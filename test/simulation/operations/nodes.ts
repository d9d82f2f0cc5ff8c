import type { Log } from '../../../src/chain/evm/rpc/types.ts';
import { addressOf, type ModelBlock, wordOf } from '../../support/chain/model-chain.ts';
import { TOPIC } from '../../support/chain/model-decoder.ts';
import type { Faults } from '../../support/chain/model-node.ts';
import type { Provider } from '../fleet/provider.ts';
import type { Simulation } from '../simulation.ts';
import { asNobody } from '../world/owners.ts';
import type { Random } from '../world/random.ts';
import { world } from '../world/world.ts';
import { FIRST_CONTRACT } from './chain.ts';
import type { Action, Actions } from './operation.ts';

/**
 * Nodes that misbehave for a while. Most nodes stay honest, so that the laws hold: of three nodes one misbehaves at a time, and
 * two of five. Of two nodes one may, because both have to agree. A lone node may do what it alone can show to be wrong.
 */

const SHORTEST_MS = 1_000;
const LONGEST_MS = 20_000;
/** One of this many blocks has an invented payment. */
const FEW = 3;
const FAKE = 0xfa_0000;
/** More than a simulated chain has blocks. */
const FAKES_OF_NODE = 0x1000;

type Misbehaviour = {
  /** Whether it needs other nodes: nobody else would notice it, or the node would contradict what it has called final. */
  readonly needsOthers?: boolean;
  /** `node` is the position of the provider among those of the network. */
  readonly begin: (provider: Provider, node: number) => void;
};

/** Sets faults of every node behind the URL. */
function withFaults(faults: Partial<Faults>, needsOthers = false): Misbehaviour {
  return {
    needsOthers,
    begin: ({ nodes }) => {
      for (const node of nodes) Object.assign(node.faults, faults);
    },
  };
}

/** Each node invents its own: two that invent the same, one after the other, would be a majority for it. */
function fakeLog(node: number, { number, hash }: ModelBlock): Log {
  const fake = wordOf(FAKE + node * FAKES_OF_NODE + number);
  const content = { address: addressOf(FIRST_CONTRACT), topics: [TOPIC], data: fake };
  return { ...content, blockNumber: number, blockHash: hash, transactionHash: fake, logIndex: 99 };
}

const MISBEHAVIOURS: Readonly<Record<string, Misbehaviour>> = {
  freezes: {
    begin: ({ nodes }) => {
      for (const node of nodes) node.freeze();
    },
  },
  hangs: {
    begin: (provider) => {
      provider.isHanging = true;
    },
  },
  lags: withFaults({ lag: 4 }, true),
  'calls-head-final': withFaults({ finalized: 0, safe: 0 }),
  'calls-final-early': withFaults({ finalized: 2, safe: 1 }),
  'calls-nothing-final': withFaults({ finalized: 'error' }),
  invents: {
    needsOthers: true,
    begin: ({ nodes }, position) => {
      const invents = (block: ModelBlock) => (block.number % FEW === 0 ? [fakeLog(position, block)] : []);
      for (const node of nodes) node.faults.invents = invents;
    },
  },
  denies: withFaults({ denies: () => true }, true),
  omits: withFaults({ omission: { responses: 30, logs: 50 } }, true),
  refuses: withFaults({ rateLimited: 20, unreachable: 20 }),
  'lives-in-the-future': withFaults({ aheadS: 200_000_000 }),
};

/** How many nodes may misbehave at the same time. */
function mostOf(nodes: number): number {
  return nodes < 3 ? 1 : Math.floor((nodes - 1) / 2);
}

function misbehave(name: string, { needsOthers = false, begin }: Misbehaviour): Action['begin'] {
  return ({ network: { providers } }: Simulation, draw: Random) => {
    const sound = providers.filter(({ misbehaviour }) => misbehaviour === null);
    const provider = draw.pick(sound);
    const isTooMany = providers.length - sound.length >= mostOf(providers.length);
    if (provider === undefined || isTooMany || (needsOthers && providers.length === 1)) return null;
    provider.misbehaviour = name;
    const position = providers.indexOf(provider);
    begin(provider, position);
    world.note(`node ${position + 1} ${name}`);
    asNobody(() => world.schedule(() => provider.heal(), draw.between(SHORTEST_MS, LONGEST_MS)));
    return {};
  };
}

/** Each is as frequent as the others. */
export const NODE_ACTIONS: Actions = Object.fromEntries(
  Object.entries(MISBEHAVIOURS).map(([name, one]) => [`node-${name}`, { weight: 1, begin: misbehave(name, one) }]),
);
