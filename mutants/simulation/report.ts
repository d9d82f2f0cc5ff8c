import { printLine } from '../../src/cli/terminal/output.ts';
import { areaOf, passes, sourceOf } from '../mutant.ts';
import type { Published } from '../publish.ts';
import { SIMULATED } from './catalogue.ts';
import { SEEDS, type SimulatedResult } from './run.ts';

export const HEADINGS = ['mutant', 'area', 'what it does', 'law', 'seed'] as const;

export const PUBLISHED: Published = {
  ...{ catalogue: SIMULATED, run: 'simulation-run', table: 'simulation-table', headings: HEADINGS },
  summary: (rows) => countLaws(rows.map((cells) => cells[HEADINGS.indexOf('law')])),
};

export function cellsOf({ mutant, outcome, seed }: SimulatedResult): string[] {
  return [mutant.name, areaOf(mutant), mutant.what, mutant.law, seed === null ? outcome.toUpperCase() : String(seed)];
}

export function printSimulated({ mutant, outcome, seed, output, seconds }: SimulatedResult): void {
  const { name, law } = mutant;
  if (outcome === 'caught')
    printLine(`caught    ${name}, ${seconds.toFixed(0)} s: seed ${seed} breaks ${law}: ${output}`);
  else if (outcome === 'survived')
    printLine(`SURVIVED  ${name}, ${seconds.toFixed(0)} s: no seed up to ${SEEDS} breaks ${law}`);
  else printLine(`BROKEN    ${name}, ${seconds.toFixed(0)} s: ${output}`);
}

/** How many laws a mutant broke. */
export function lawsOf(results: readonly SimulatedResult[]): string {
  return countLaws(results.filter(passes).map(({ mutant }) => mutant.law));
}

function countLaws(broken: readonly (string | undefined)[]): string {
  return `The simulator broke ${new Set(broken).size} laws with them.`;
}

/** For programs: every figure of the table, and where to look. */
export function simulatedJson(results: readonly SimulatedResult[]): unknown {
  return {
    passed: results.every(passes),
    results: results.map(({ mutant: { name, what, law, ...mutant }, outcome, seed, seconds, output }) => ({
      ...{ mutant: name, what, file: sourceOf(mutant), law, outcome, seed },
      ...{ seconds: Math.round(seconds * 10) / 10, output },
    })),
  };
}
