import { parseArgs } from 'node:util';
import { printError, printJson, printLine, printTable } from '../src/cli/terminal/output.ts';
import { Progress } from '../src/cli/terminal/progress.ts';
import { stopPostgres } from '../test/support/postgres.ts';
import { ENGINES, type Engine } from '../test/support/stores.ts';
import { FAULTS } from './catalogue.ts';
import { type Fault, isKept, type Result } from './fault.ts';
import { closeAll } from './left-open.ts';
import { publish } from './publish.ts';
import { asJson, cellsOf, HEADINGS } from './report.ts';

/**
 * `npm run faults` does everything to Paybell that it has to survive, on both engines; `npm run faults -- <name>` one
 * of it. Ends with 1 when anything acknowledged was lost, a promise was broken, or it had not recovered within 60 s.
 */

const USAGE = `npm run faults -- [<name> …] [--engine sqlite|postgres] [--tries n] [--at-once n] [--json] [--publish]
  names: ${FAULTS.map(({ name }) => name).join(', ')}`;

const COUNT = /^[1-9][0-9]{0,5}$/;

type Asked = {
  faults: readonly Fault[];
  engines: readonly Engine[];
  tries: number | null;
  atOnce: number;
  json: boolean;
  publish: boolean;
};

function readArguments(): Asked | null {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      engine: { type: 'string' },
      tries: { type: 'string' },
      'at-once': { type: 'string', default: '1' },
      json: { type: 'boolean', default: false },
      publish: { type: 'boolean', default: false },
    },
  });
  const { engine, tries, json } = values;
  const faults = FAULTS.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
  const engines = ENGINES.filter((known) => engine === undefined || known === engine);
  const fits =
    engines.length > 0 &&
    positionals.every((name) => FAULTS.some((fault) => fault.name === name)) &&
    (tries === undefined || COUNT.test(tries)) &&
    COUNT.test(values['at-once']);
  // A page that shows less than everything would hide what was left out.
  const whole = positionals.length === 0 && engine === undefined && tries === undefined;
  if (!fits || (values.publish && !whole)) return null;
  const atOnce = Number(values['at-once']);
  return { faults, engines, tries: tries === undefined ? null : Number(tries), atOnce, json, publish: values.publish };
}

type Planned = { fault: Fault; engine: Engine; tries: number };

/** In the order of the table, so many at the same time; the trials share nothing but the machine. */
async function runAll({ faults, engines, tries, atOnce, json }: Asked): Promise<Result[]> {
  const progress = new Progress();
  const planned: Planned[] = faults.flatMap((fault) =>
    fault.engines
      .filter((engine) => engines.includes(engine))
      .map((engine) => ({ fault, engine, tries: tries ?? fault.tries.long })),
  );
  const results: (Result | null)[] = [];
  let next = 0;
  let done = 0;
  const work = async () => {
    while (next < planned.length) {
      const index = next++;
      const trial = planned[index];
      if (trial === undefined) return;
      const startedAtMs = performance.now();
      const result = await runOne(trial, (doing) => progress.show(done / planned.length, doing));
      results[index] = result;
      done++;
      progress.clear();
      if (json) continue;
      if (result !== null) printResult(result, performance.now() - startedAtMs);
      else printLine(`not tried on this machine  ${trial.fault.name} on ${trial.engine}`);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return results.filter((result) => result !== null);
}

async function runOne({ fault, engine, tries }: Planned, show: (doing: string) => void): Promise<Result | null> {
  const note = (doing: string) => show(`${fault.name} on ${engine}: ${doing}`);
  const finding = await fault.run({ engine, tries, hurry: false, note }).catch(asBroken);
  return finding === null ? null : { fault: fault.name, engine, tries, ...finding };
}

function printResult(result: Result, tookMs: number): void {
  const { fault, engine, broken } = result;
  printLine(`${isKept(result) ? 'kept  ' : 'BROKEN'}  ${fault} on ${engine}, ${(tookMs / 1_000).toFixed(0)} s`);
  for (const sentence of broken) printLine(`        ${sentence}`);
}

/** A trial that could not be carried out proves nothing, and that counts as broken. */
function asBroken(error: unknown) {
  const sentence = `the trial did not come to its end: ${error instanceof Error ? error.message : error}`;
  return { acknowledged: 0, delivered: 0, duplicated: 0, recoveredInMs: 0, broken: [sentence] };
}

async function main(): Promise<number> {
  const asked = readArguments();
  if (asked === null) {
    printError(`wrong usage\n${USAGE}`);
    return 2;
  }
  const results = await runAll(asked);
  if (asked.json) printJson(asJson(results));
  else {
    printLine();
    printTable(HEADINGS, results.map(cellsOf), 'nothing was tried');
  }
  const kept = results.every(isKept);
  if (asked.publish && kept) publish(results, `npm run faults -- ${process.argv.slice(2).join(' ')}`);
  return kept ? 0 : 1;
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    void closeAll()
      .then(stopPostgres)
      .finally(() => process.exit(130));
  });
}

let exitCode = 1;
try {
  exitCode = await main();
} catch (error) {
  printError(error instanceof Error ? error.message : String(error));
  exitCode = 2;
} finally {
  await stopPostgres();
}
// Said aloud, since the hook that stops PostgreSQL with the process would end it with 0.
process.exit(exitCode);
