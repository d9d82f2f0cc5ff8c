import type { Log } from '../../../../src/chain/evm/rpc/types.ts';
import { addressOf, type ModelBlock, wordOf } from '../../../support/chain/model-chain.ts';
import { TOPIC } from '../../../support/chain/model-decoder.ts';
import type { Faults, ModelNode } from '../../../support/chain/model-node.ts';
import { FIRST_CONTRACT } from '../../model/contracts.ts';
import type { NodeFault } from '../network.ts';
import type { Provider } from '../provider.ts';

/** What the nodes of an EVM network do wrong. */

/** One of this many blocks has an invented payment. */
const FEW = 3;
const FAKE = 0xfa_0000;
/** More than a simulated chain has blocks. */
const FAKES_OF_NODE = 0x1000;

type Misbehaviour = NodeFault & {
  /** `node` is the position of the provider among those of the network. */
  readonly begin: (provider: Provider<ModelNode>, node: number) => void;
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

export const MISBEHAVIOURS: Readonly<Record<string, Misbehaviour>> = {
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
