import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { printError, printJson, printLine } from '../src/cli/terminal/output.ts';
import { Progress } from '../src/cli/terminal/progress.ts';
import { printTable } from '../src/cli/terminal/table.ts';
import { createPostgresDatabase } from '../test/support/postgres.ts';
import { runAndExit } from '../test/support/run-and-exit.ts';
import { MUTANTS } from './catalogue.ts';
import type { RunOptions } from './in-workspaces.ts';
import { areaOf, type Defect, type Mutant, type Outcome, passes, type Result } from './mutant.ts';
import { type Published, publish } from './publish.ts';
import { asJson, cellsOf, HEADINGS, PUBLISHED, shareOfShort } from './report.ts';
import { runMutants } from './run.ts';
import { stopRuns } from './run-process.ts';
import { SIMULATED } from './simulation/catalogue.ts';
import * as simulated from './simulation/report.ts';
import { type SimulatedMutant, type SimulatedResult, simulateMutants } from './simulation/run.ts';

/**
 * `npm run mutants` puts each defect of the catalogue into a copy of the source and runs the test that has to notice it;
 * `npm run mutants -- <name or area>` only some. With `--simulate`, the simulator has to notice each of another catalogue.
 * Exits with 1 if a mutant was not noticed.
 */

const AREAS = [...new Set([...MUTANTS, ...SIMULATED].map(areaOf))];

const USAGE = `npm run mutants -- [<name or area> …] [--at-once n] [--json] [--publish]
npm run mutants -- --simulate [<name, area or law> …] [--at-once n] [--json] [--publish]
  areas: ${AREAS.join(', ')}
  names: ${MUTANTS.map(({ name }) => name).join(', ')}
  with --simulate: ${SIMULATED.map(({ name }) => name).join(', ')}`;

const COUNT = /^[1-9][0-9]?$/;

/** What the command line asks for, of either catalogue. */
type Arguments = {
  readonly isSimulated: boolean;
  readonly isNamed: (mutant: Defect & { readonly law?: string }) => boolean;
  readonly atOnce: number;
  readonly json: boolean;
  readonly publish: boolean;
};

function readArguments(): Arguments | null {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      simulate: { type: 'boolean', default: false },
      'at-once': { type: 'string', default: String(availableParallelism()) },
      json: { type: 'boolean', default: false },
      publish: { type: 'boolean', default: false },
    },
  });
  const { simulate: isSimulated, json } = values;
  const names = (mutant: Defect & { readonly law?: string }) => [mutant.name, areaOf(mutant), mutant.law];
  const known = new Set((isSimulated ? SIMULATED : MUTANTS).flatMap(names));
  const isWhole = positionals.length === 0;
  const areKnown = positionals.every((name) => known.has(name));
  if (!areKnown || !COUNT.test(values['at-once'])) return null;
  const isNamed: Arguments['isNamed'] = (mutant) => isWhole || positionals.some((name) => names(mutant).includes(name));
  return { isSimulated, isNamed, atOnce: Number(values['at-once']), json, publish: values.publish };
}

function printResult({ mutant, outcome, seconds, output }: Result): void {
  const label = outcome === 'caught' ? 'caught  ' : outcome.toUpperCase().padEnd(8);
  printLine(`${label}  ${mutant.name}, ${seconds.toFixed(0)} s`);
  if (outcome === 'survived') printLine(`          not noticed by ${mutant.caughtBy.file}: ${mutant.caughtBy.test}`);
  if (outcome === 'broken') printLine(output.replaceAll(/^/gm, '          '));
}

/** How a run of one of the catalogues is carried out and shown. */
type Catalogue<One extends Defect, Found extends { readonly outcome: Outcome }> = {
  readonly mutants: readonly One[];
  readonly run: (options: RunOptions<One, Found>) => Promise<Found[]>;
  readonly print: (result: Found) => void;
  readonly headings: readonly string[];
  readonly cellsOf: (result: Found) => string[];
  readonly notes: (results: readonly Found[]) => string;
  readonly asJson: (results: readonly Found[]) => unknown;
  readonly published: Published;
};

const TESTED: Catalogue<Mutant, Result> = {
  ...{ mutants: MUTANTS, headings: HEADINGS, print: printResult, notes: shareOfShort, cellsOf, asJson },
  published: PUBLISHED,
  run: async (options) => runMutants({ ...options, databaseUrl: await createPostgresDatabase() }),
};

const WITH_SIMULATOR: Catalogue<SimulatedMutant, SimulatedResult> = {
  ...{ mutants: SIMULATED, headings: simulated.HEADINGS, print: simulated.printSimulated, run: simulateMutants },
  ...{ cellsOf: simulated.cellsOf, notes: simulated.lawsOf, asJson: simulated.simulatedJson },
  published: simulated.PUBLISHED,
};

async function runCatalogue<One extends Defect, Found extends { readonly outcome: Outcome }>(
  catalogue: Catalogue<One, Found>,
  given: Arguments,
): Promise<number> {
  const progress = new Progress();
  const startedAtMs = performance.now();
  const results = await catalogue.run({
    mutants: catalogue.mutants.filter(given.isNamed),
    atOnce: given.atOnce,
    onProgress: (share, doing) => progress.show(share, doing),
    onResult: (result) => {
      progress.clear();
      if (!given.json) catalogue.print(result);
    },
  });
  const seconds = (performance.now() - startedAtMs) / 1_000;
  if (given.json) printJson(catalogue.asJson(results));
  else {
    printLine();
    printTable(catalogue.headings, results.map(catalogue.cellsOf), 'No mutant was tested.', {
      shorten: { 'caught by': 40, 'what it does': 40 },
      leaveOut: ['area'],
    });
    printLine(
      `\n${results.filter(passes).length} of ${results.length} mutants were caught in ${seconds.toFixed(0)} s.`,
    );
    printLine(catalogue.notes(results));
  }
  const passed = results.every(passes);
  if (given.publish && passed) publish(catalogue.published, results.map(catalogue.cellsOf));
  return passed ? 0 : 1;
}

async function main(): Promise<number> {
  const given = readArguments();
  if (given !== null) return given.isSimulated ? runCatalogue(WITH_SIMULATOR, given) : runCatalogue(TESTED, given);
  printError(`Invalid arguments.\n${USAGE}`);
  return 2;
}

// The runs in progress end, `main` removes what it has made, and no further run starts.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stopRuns);

await runAndExit(main);
