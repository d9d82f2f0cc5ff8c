import type { Actions, Operation } from './operations/operation.ts';
import { Random } from './world/random.ts';

/** So that a run of the same seed draws other numbers for its schedule than its list of operations. */
const LIST = 0x5eed;
/** The faults of nodes have their own numbers, so that they change nothing else that a seed stands for. */
const NODE_LIST = 0x40de;
const NODE_FAULT_EVERY_MS = 6_000;
/** Their indices do not depend on the length of the list. */
const FIRST_NODE_FAULT = 1_000_000;
const AT_ONCE_SHARE = 0.3;
const PAUSE_SHARE = 0.08;
const LONG_PAUSE_MS = 20_000;
const SHORT_PAUSE_MS = 300;

/** The list of operations that a seed stands for. A longer list begins with the shorter one. */
export function generate(seed: number, count: number, actions: Actions): Operation[] {
  const random = new Random(seed ^ LIST);
  const draw = drawer(random, actions);
  let atMs = 0;
  return Array.from({ length: count }, (_, index) => {
    atMs += gap(random);
    return { index, name: draw(), atMs, seed: random.below(2 ** 32) };
  });
}

/** Adds the faults of nodes that happen during these operations. */
export function withNodeFaults(seed: number, operations: readonly Operation[], actions: Actions): Operation[] {
  const random = new Random(seed ^ NODE_LIST);
  const draw = drawer(random, actions);
  const pause = () => random.next() * 2 * NODE_FAULT_EVERY_MS;
  const endMs = operations.at(-1)?.atMs ?? 0;
  const faults: Operation[] = [];
  for (let atMs = pause(); atMs < endMs; atMs += pause()) {
    faults.push({ index: FIRST_NODE_FAULT + faults.length, name: draw(), atMs, seed: random.below(2 ** 32) });
  }
  return [...operations, ...faults].sort((a, b) => a.atMs - b.atMs);
}

/** Draws names by their weights. */
function drawer(random: Random, actions: Actions): () => string {
  const entries = Object.entries(actions);
  const total = entries.reduce((sum, [, { weight }]) => sum + weight, 0);
  return () => {
    let left = random.next() * total;
    const found = entries.find(([, { weight }]) => {
      left -= weight;
      return left < 0;
    });
    return found?.[0] ?? '';
  };
}

/** Some operations begin together, most a moment apart, and a few after a while. */
function gap(random: Random): number {
  if (random.chance(AT_ONCE_SHARE)) return 0;
  return random.next() * (random.chance(PAUSE_SHARE) ? LONG_PAUSE_MS : SHORT_PAUSE_MS);
}
