import type { Cluster } from '../../../support/chain/solana/cluster.ts';
import type { FakeNode, Faults } from '../../../support/chain/solana/fake-node.ts';
import type { Shops } from '../../../support/chain/solana/shops.ts';
import type { NodeFault } from '../network.ts';
import type { Provider } from '../provider.ts';

/** What the nodes of Solana do wrong. */

/** A shop that the entity follows from the start, and an amount that no payment of the simulation has. */
const INVENTED = { shop: 0, amount: 77_000_000n } as const;

type Misbehaviour = NodeFault & {
  readonly begin: (provider: Provider<FakeNode>, shops: Shops) => void;
};

/** Sets faults of every node behind the URL. */
function withFaults(faults: (cluster: Cluster) => Partial<Faults>, needsOthers = false): Misbehaviour {
  return {
    needsOthers,
    begin: ({ nodes }, { cluster }) => {
      for (const node of nodes) Object.assign(node.faults, faults(cluster));
    },
  };
}

export const MISBEHAVIOURS: Readonly<Record<string, Misbehaviour>> = {
  freezes: withFaults(({ tip }) => ({ frozenAt: tip.slot })),
  hangs: {
    begin: (provider) => {
      provider.isHanging = true;
    },
  },
  lags: withFaults(() => ({ lag: 40 }), true),
  'calls-head-final': withFaults(() => ({ hasty: 100 }), true),
  'calls-final-early': withFaults(() => ({ hasty: 30 }), true),
  'calls-nothing-final': withFaults(() => ({ isSilent: true })),
  invents: {
    needsOthers: true,
    begin: ({ nodes }, { cluster, pay }) => {
      const invents = cluster.imagine(pay(INVENTED.shop, INVENTED.amount));
      for (const node of nodes) node.faults.invents = invents;
    },
  },
  denies: withFaults(() => ({ thinned: 500 }), true),
  omits: withFaults(() => ({ thinned: 30, missing: 30 }), true),
  refuses: withFaults(() => ({ failing: 30 })),
  'sorts-by-signature': withFaults(() => ({ isBySignature: true })),
};
