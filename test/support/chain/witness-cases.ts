import { quorumOf } from '../../../src/domain/chain/witnesses.ts';
import { type Behaviour, MISBEHAVIOURS, WitnessTrial } from './witness-trial.ts';

/** Networks with nodes that misbehave, and what has to be true of each. */

export type WitnessCase = {
  readonly name: string;
  readonly nodes: readonly Behaviour[];
  /** Whether enough nodes are honest for every payment to be there and for the tip to be near the head. */
  readonly isComplete: boolean;
};

const MOST_BEHIND = 4;
/** The polls that finality may be late. */
const MOST_LATE = 12;
/** Nodes that say nothing usable about finality. */
const SILENT: ReadonlySet<Behaviour> = new Set(['freezes', 'calls its head final', 'calls nothing final', 'refuses']);
/** Two nodes that tell the same lie are a majority of three. */
const LIES: readonly (readonly Behaviour[])[] = [
  ['calls its head final', 'calls a block two deep final', 'calls a block nine deep final'],
  ['invents'],
  ['denies'],
];

const honest = (count: number) => Array<Behaviour>(count).fill('honest');
const PAIRS = MISBEHAVIOURS.flatMap((one, index) => MISBEHAVIOURS.slice(index).map((other) => [one, other] as const));
const isMajority = (one: Behaviour, other: Behaviour) => LIES.some((lie) => lie.includes(one) && lie.includes(other));

/** Nothing can notice what a lone node invents or denies. */
export const LONE: readonly WitnessCase[] = MISBEHAVIOURS.filter((one) => one !== 'invents' && one !== 'denies').map(
  (one) => ({ name: `a lone node that ${one}`, nodes: [one], isComplete: false }),
);

/** The leader misbehaves. */
export const FIRST: readonly WitnessCase[] = [2, 3, 5].flatMap((count) =>
  MISBEHAVIOURS.map((one) => ({
    ...{ name: `${count} nodes, of which the first ${one}`, nodes: [one, ...honest(count - 1)], isComplete: true },
  })),
);

/** Three nodes tolerate two that do not say the same. */
export const PAIRS_OF_THREE: readonly WitnessCase[] = PAIRS.filter(([one, other]) => !isMajority(one, other)).map(
  ([one, other]) => ({
    ...{ name: `three nodes, one that ${one} and one that ${other}`, nodes: [one, other, ...honest(1)] },
    isComplete: false,
  }),
);

/** Five nodes tolerate two of any kind. */
export const PAIRS_OF_FIVE: readonly WitnessCase[] = PAIRS.map(([one, other]) => ({
  ...{ name: `five nodes, one that ${one} and one that ${other}`, nodes: [one, other, ...honest(3)] },
  isComplete: true,
}));

/** Whether enough nodes say what is final. */
export function hasQuorum({ nodes }: WitnessCase): boolean {
  return nodes.filter((node) => !SILENT.has(node)).length >= quorumOf(nodes.length, null);
}

export type WitnessResult = { readonly trial: WitnessTrial; readonly mistakes: readonly string[] };

export async function tryCase(one: WitnessCase, seed: number, blocks: number): Promise<WitnessResult> {
  const trial = await new WitnessTrial({ nodes: one.nodes, seed, blocks }).run();
  return { trial, mistakes: mistakesOf(one, trial) };
}

function mistakesOf(one: WitnessCase, trial: WitnessTrial): string[] {
  const { falseFinals, wrongFinals, falseRetractions, halts, mostBehind, missing, finalLate } = trial;
  const isSpoken = hasQuorum(one);
  return [
    falseFinals > 0 && `${falseFinals} polls with a false final`,
    ...wrongFinals.map((fact) => `final and not in the chain: ${fact}`),
    falseRetractions > 0 && `${falseRetractions} false retractions`,
    halts > 0 && `halted ${halts} times`,
    one.isComplete && mostBehind > MOST_BEHIND && `${mostBehind} blocks behind`,
    ...(one.isComplete ? missing : []),
    one.isComplete && isSpoken && finalLate > MOST_LATE && `finality ${finalLate} polls late`,
    ...alertsOf(one, isSpoken)
      .filter((reason) => !trial.reasons.has(reason))
      .map((reason) => `no alert ${reason}`),
  ].filter((mistake) => mistake !== false);
}

/** The reasons for an alert that the operator has to get. */
function alertsOf({ nodes: [first, ...others] }: WitnessCase, isSpoken: boolean): string[] {
  if (others.length === 0 && first === 'freezes') return ['head_old'];
  // A lone node that refuses every third call still says what is final.
  const waits = isSpoken || (others.length === 0 && first === 'refuses') ? [] : ['final_waits'];
  const isTied = others.length === 1 && (first === 'invents' || first === 'denies');
  return isTied ? [...waits, 'payment_disputed'] : waits;
}
