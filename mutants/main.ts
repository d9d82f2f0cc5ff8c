import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { printError, printJson, printLine } from '../src/cli/terminal/output.ts';
import { Progress } from '../src/cli/terminal/progress.ts';
import { printTable } from '../src/cli/terminal/table.ts';
import { createPostgresDatabase } from '../test/support/postgres.ts';
import { runAndExit } from '../test/support/run-and-exit.ts';
import { MUTANTS } from './catalogue.ts';
import { areaOf, type Mutant, passes, type Result } from './mutant.ts';
import { publish } from './publish.ts';
import { asJson, cellsOf, HEADINGS, shareOfShort } from './report.ts';
import { runMutants } from './run.ts';
import { stopRuns } from './run-tests.ts';

/**
 * `npm run mutants` puts each defect of the catalogue into a copy of the source and runs the test that has to notice it;
 * `npm run mutants -- <name or area>` only some. Exits with 1 when a test did not notice one.
 */

const AREAS = [...new Set(MUTANTS.map(areaOf))];

const USAGE = `npm run mutants -- [<name or area> …] [--at-once n] [--json] [--publish]
  areas: ${AREAS.join(', ')}
  names: ${MUTANTS.map(({ name }) => name).join(', ')}`;

const COUNT = /^[1-9][0-9]?$/;

type Arguments = { mutants: readonly Mutant[]; atOnce: number; json: boolean; publish: boolean };

function readArguments(): Arguments | null {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      'at-once': { type: 'string', default: String(availableParallelism()) },
      json: { type: 'boolean', default: false },
      publish: { type: 'boolean', default: false },
    },
  });
  const isNamed = (mutant: Mutant, name: string) => mutant.name === name || areaOf(mutant) === name;
  const areKnown = positionals.every((name) => MUTANTS.some((mutant) => isNamed(mutant, name)));
  // The published table has to be complete.
  const isWhole = positionals.length === 0;
  if (!areKnown || !COUNT.test(values['at-once']) || (values.publish && !isWhole)) return null;
  const mutants = MUTANTS.filter((mutant) => isWhole || positionals.some((name) => isNamed(mutant, name)));
  return { mutants, atOnce: Number(values['at-once']), json: values.json, publish: values.publish };
}

function printResult({ mutant, outcome, seconds, output }: Result): void {
  const label = outcome === 'caught' ? 'caught  ' : outcome.toUpperCase().padEnd(8);
  printLine(`${label}  ${mutant.name}, ${seconds.toFixed(0)} s`);
  if (outcome === 'survived') printLine(`          not noticed by ${mutant.caughtBy.file}: ${mutant.caughtBy.test}`);
  if (outcome === 'broken') printLine(output.replaceAll(/^/gm, '          '));
}

async function main(): Promise<number> {
  const given = readArguments();
  if (given === null) {
    printError(`Invalid arguments.\n${USAGE}`);
    return 2;
  }
  const progress = new Progress();
  const startedAtMs = performance.now();
  const results = await runMutants({
    ...given,
    databaseUrl: await createPostgresDatabase(),
    onProgress: (share, doing) => progress.show(share, doing),
    onResult: (result) => {
      progress.clear();
      if (!given.json) printResult(result);
    },
  });
  const seconds = (performance.now() - startedAtMs) / 1_000;
  if (given.json) printJson(asJson(results));
  else {
    printLine();
    printTable(HEADINGS, results.map(cellsOf), 'No mutant was tested.', {
      shorten: { 'caught by': 40, 'what it does': 40 },
      leaveOut: ['area'],
    });
    printLine(
      `\n${results.filter(passes).length} of ${results.length} mutants were caught in ${seconds.toFixed(0)} s.`,
    );
    printLine(shareOfShort(results));
  }
  const passed = results.every(passes);
  if (given.publish && passed) publish(results, `npm run mutants -- ${process.argv.slice(2).join(' ')}`, seconds);
  return passed ? 0 : 1;
}

// The runs in progress end, `main` removes what it has made, and no further run starts.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stopRuns);

await runAndExit(main);
