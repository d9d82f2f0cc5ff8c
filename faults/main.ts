import { parseArgs } from 'node:util';
import { printError, printJson, printLine } from '../src/cli/terminal/output.ts';
import { Progress } from '../src/cli/terminal/progress.ts';
import { printTable } from '../src/cli/terminal/table.ts';
import { stopPostgres } from '../test/support/postgres.ts';
import { runAndExit } from '../test/support/run-and-exit.ts';
import { ENGINES, type Engine } from '../test/support/stores.ts';
import { FAULTS } from './catalogue.ts';
import { type Fault, passes, type Result } from './fault.ts';
import { cleanUpAll } from './harness/cleanup.ts';
import { publish } from './publish.ts';
import { asJson, cellsOf, HEADINGS } from './report.ts';

/**
 * `npm run faults` injects every fault of the catalogue, on both engines; `npm run faults -- <name>` one of them. Exits
 * with 1 when an acknowledged event was lost, a guarantee was violated, or the service did not recover within 60 s.
 */

const USAGE = `npm run faults -- [<name> …] [--engine sqlite|postgres] [--trials n] [--at-once n] [--json] [--publish]
  names: ${FAULTS.map(({ name }) => name).join(', ')}`;

const COUNT = /^[1-9][0-9]{0,5}$/;

type Arguments = {
  faults: readonly Fault[];
  engines: readonly Engine[];
  trials: number | null;
  atOnce: number;
  json: boolean;
  publish: boolean;
};

function readArguments(): Arguments | null {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      engine: { type: 'string' },
      trials: { type: 'string' },
      'at-once': { type: 'string', default: '1' },
      json: { type: 'boolean', default: false },
      publish: { type: 'boolean', default: false },
    },
  });
  const { engine, trials, json } = values;
  const faults = FAULTS.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
  const engines = ENGINES.filter((known) => engine === undefined || known === engine);
  const fits =
    engines.length > 0 &&
    positionals.every((name) => FAULTS.some((fault) => fault.name === name)) &&
    (trials === undefined || COUNT.test(trials)) &&
    COUNT.test(values['at-once']);
  if (!fits) return null;
  const atOnce = Number(values['at-once']);
  return {
    faults,
    engines,
    trials: trials === undefined ? null : Number(trials),
    atOnce,
    json,
    publish: values.publish,
  };
}

type Planned = { fault: Fault; engine: Engine; trials: number };

/** Results are in the order of the table. Runs at the same time share nothing but the machine. */
async function runAll({ faults, engines, trials, atOnce, json }: Arguments): Promise<Result[]> {
  const progress = new Progress();
  const planned: Planned[] = faults.flatMap((fault) =>
    fault.engines
      .filter((engine) => engines.includes(engine))
      .map((engine) => ({ fault, engine, trials: trials ?? fault.trials.long })),
  );
  const results: (Result | null)[] = [];
  let next = 0;
  let done = 0;
  const work = async () => {
    while (next < planned.length) {
      const index = next++;
      const run = planned[index];
      if (run === undefined) return;
      const startedAtMs = performance.now();
      const result = await runOne(run, (doing) => progress.show(done / planned.length, doing));
      results[index] = result;
      done++;
      progress.clear();
      if (json) continue;
      if (result !== null) printResult(result, performance.now() - startedAtMs);
      else printLine(`skipped  ${run.fault.name} on ${run.engine}: this machine cannot inject it`);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return results.filter((result) => result !== null);
}

async function runOne({ fault, engine, trials }: Planned, show: (doing: string) => void): Promise<Result | null> {
  const progress = (doing: string) => show(`${fault.name} on ${engine}: ${doing}`);
  const finding = await fault.run({ engine, trials, fast: false, progress }).catch(failedRun);
  return finding === null ? null : { fault: fault.name, engine, trials, ...finding };
}

function printResult(result: Result, tookMs: number): void {
  const { fault, engine, violations } = result;
  printLine(`${passes(result) ? 'passed ' : 'FAILED '}  ${fault} on ${engine}, ${(tookMs / 1_000).toFixed(0)} s`);
  for (const sentence of violations) printLine(`        ${sentence}`);
}

/** A run that could not be completed counts as failed. */
function failedRun(error: unknown) {
  const sentence = `the run was not completed: ${error instanceof Error ? error.message : error}`;
  return { acknowledged: 0, delivered: 0, duplicated: 0, recoveredInMs: 0, violations: [sentence] };
}

async function main(): Promise<number> {
  const given = readArguments();
  if (given === null) {
    printError(`Invalid arguments.\n${USAGE}`);
    return 2;
  }
  const results = await runAll(given);
  if (given.json) printJson(asJson(results));
  else {
    printLine();
    printTable(HEADINGS, results.map(cellsOf), 'No fault was injected.');
  }
  const passed = results.every(passes);
  if (given.publish && passed) publish(results);
  return passed ? 0 : 1;
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    void cleanUpAll()
      .then(stopPostgres)
      .finally(() => process.exit(130));
  });
}

await runAndExit(main);
