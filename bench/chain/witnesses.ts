import { parseArgs } from 'node:util';
import { printLine } from '../../src/cli/terminal/output.ts';
import {
  FIRST,
  hasQuorum,
  LONE,
  PAIRS_OF_FIVE,
  PAIRS_OF_THREE,
  tryCase,
  type WitnessCase,
} from '../../test/support/chain/witness-cases.ts';
import { runAndExit } from '../../test/support/run-and-exit.ts';

/**
 * Follows networks of 1, 2, 3 and 5 nodes, of which one or two misbehave, through this many forks. Prints every payment that
 * became final or was retracted wrongly, every network that fell behind, and every missing alert; then the exit code is 1.
 * `npx bun bench/chain/witnesses.ts --forks 10000 --minutes 20`
 */

const { values } = parseArgs({
  options: { forks: { type: 'string', default: '10000' }, minutes: { type: 'string', default: '20' } },
});
const FORKS = Number(values.forks);
const LONGEST_MS = Number(values.minutes) * 60_000;
const BLOCKS = 80;
const EVERY_MS = 10_000;
const CASES: readonly WitnessCase[] = [...LONE, ...FIRST, ...PAIRS_OF_THREE, ...PAIRS_OF_FIVE];

class Totals {
  trials = 0;
  forks = 0;
  mistakes = 0;
  mostBehind = 0;
  mostLate = 0;
  readonly startedMs = performance.now();
  #shownMs = this.startedMs;

  get elapsedMs(): number {
    return performance.now() - this.startedMs;
  }

  get isOver(): boolean {
    return this.elapsedMs > LONGEST_MS;
  }

  show(isLast: boolean): void {
    if (!isLast && performance.now() - this.#shownMs < EVERY_MS) return;
    this.#shownMs = performance.now();
    const { trials, forks, mistakes, mostBehind, mostLate } = this;
    printLine(
      `${forks} forks in ${trials} networks, ${mistakes} mistakes, at most ${mostBehind} blocks behind ` +
        `and ${mostLate} polls late with finality, ${Math.round(this.elapsedMs / 1_000)} s`,
    );
  }
}

async function tryAll(seed: number, totals: Totals): Promise<void> {
  for (const one of CASES) {
    if (totals.isOver) return;
    const { trial, mistakes } = await tryCase(one, seed, BLOCKS);
    totals.trials++;
    totals.forks += trial.forks;
    totals.mistakes += mistakes.length;
    if (one.isComplete) totals.mostBehind = Math.max(totals.mostBehind, trial.mostBehind);
    if (one.isComplete && hasQuorum(one)) totals.mostLate = Math.max(totals.mostLate, trial.finalLate);
    for (const mistake of mistakes) printLine(`seed ${seed}, ${one.name}: ${mistake}`);
    totals.show(false);
  }
}

await runAndExit(async () => {
  const totals = new Totals();
  // Every case with each seed, so that none of them is left out.
  for (let seed = 1; totals.forks < FORKS && !totals.isOver; seed++) await tryAll(seed, totals);
  totals.show(true);
  if (totals.forks < FORKS) printLine(`${values.minutes} minutes are over before ${FORKS} forks`);
  return totals.mistakes > 0 || totals.forks < FORKS ? 1 : 0;
});
