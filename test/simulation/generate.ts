import type { Actions, Operation } from './operations/operation.ts';
import { Random } from './world/random.ts';

/** So that a run of the same seed draws other numbers for its schedule than its list of operations. */
const LIST = 0x5eed;
const AT_ONCE_SHARE = 0.3;
const PAUSE_SHARE = 0.08;
const LONG_PAUSE_MS = 20_000;
const SHORT_PAUSE_MS = 300;

/** The list of operations that a seed stands for. A longer list begins with the shorter one. */
export function generate(seed: number, count: number, actions: Actions): Operation[] {
  const random = new Random(seed ^ LIST);
  const entries = Object.entries(actions);
  const total = entries.reduce((sum, [, { weight }]) => sum + weight, 0);
  const draw = () => {
    let left = random.next() * total;
    const found = entries.find(([, { weight }]) => {
      left -= weight;
      return left < 0;
    });
    return found?.[0] ?? '';
  };
  let atMs = 0;
  return Array.from({ length: count }, (_, index) => {
    atMs += gap(random);
    return { index, name: draw(), atMs, seed: random.below(2 ** 32) };
  });
}

/** Some operations begin together, most a moment apart, and a few after a while. */
function gap(random: Random): number {
  if (random.chance(AT_ONCE_SHARE)) return 0;
  return random.next() * (random.chance(PAUSE_SHARE) ? LONG_PAUSE_MS : SHORT_PAUSE_MS);
}
