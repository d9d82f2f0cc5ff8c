import type { Evidence } from '../../../src/domain/chain/facts.ts';
import type { LearnedDepth } from '../../../src/domain/chain/witnesses.ts';
import type { NetworkState, NodeHealth, NodeLimits, Step } from '../../../src/store/chain/network-store.ts';

/** The evidence of a fact that enough nodes have shown. */
export const CONFIRMED: Evidence = { votes: { yes: ['1#1'], no: [] }, standing: 'confirmed' };

export const NOTHING_LEARNED: LearnedDepth = { least: null, next: null, sinceMs: null };
export const NO_LIMITS: NodeLimits = { batch: null, logs: null };

/** The parts of a step that most tests of the store do not look at. */
export const PLAIN_STEP = {
  ...{ headS: null, learnedDepth: NOTHING_LEARNED, finalLagMs: null, trouble: null, witnessesNeeded: 1, costs: [] },
} satisfies Partial<Step>;

/** The parts of a network's state that the same tests do not look at. */
export const PLAIN_STATE = {
  ...{ headS: null, headChangedAtMs: null, learnedDepth: NOTHING_LEARNED, finalLagMs: null },
} satisfies Partial<NetworkState>;

/** What a node says of which only the health is of interest. */
export const SILENT_NODE = {
  head: null,
  headS: null,
  behindBlocks: null,
  finalized: null,
  limits: NO_LIMITS,
  calls: [],
} satisfies Partial<NodeHealth>;
