import { asMarkdown, describeRun, publishSections } from '../../docs/publish.ts';
import { printLine } from '../../src/cli/terminal/output.ts';
import { areaOf, passes, sourceOf } from '../mutant.ts';
import { SEEDS, type SimulatedResult } from './run.ts';

export const HEADINGS = ['mutant', 'area', 'what it does', 'law', 'seed'] as const;

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
  const laws = new Set(results.filter(passes).map(({ mutant }) => mutant.law));
  return `The simulator broke ${laws.size} laws with them.`;
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

/** Writes the table of a complete run into faults/RESULTS.md, between its markers. */
export function publishSimulated(results: readonly SimulatedResult[], command: string, seconds: number): void {
  const minutes = Math.ceil(seconds / 60);
  publishSections('../faults/RESULTS.md', 'mutants', {
    'simulation-run': `${describeRun(command)} ${results.length} mutants, all caught, in ${minutes} minutes. ${lawsOf(results)}`,
    'simulation-table': asMarkdown(
      HEADINGS,
      results.map(cellsOf).map(([name, ...cells]) => [`\`${name}\``, ...cells]),
    ),
  });
}
