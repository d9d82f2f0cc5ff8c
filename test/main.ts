import { rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { buildExecutable } from '../build/executable.ts';
import { startChecks } from './runner/checks.ts';
import { readReport, slowestFiles, summarize } from './runner/report.ts';
import { isSuite, SUITES, type Suite, suiteFiles } from './runner/suites.ts';
import { startCluster } from './support/postgres.ts';

/**
 * `npm test` runs the short suite, `npm run test:long` the long one and `npm run test:all` both. Paths select files:
 * `npm test -- test/store`. All test files share one PostgreSQL and one executable.
 */

const ROOT = resolve(import.meta.dir, '..');
const CACHE = resolve(ROOT, 'node_modules/.cache');
/** A stuck test ends after this time, and the run prints its name. Long tests may work for longer than that. */
const TIMEOUT_MS: Readonly<Record<Suite, number>> = { short: 120_000, long: 600_000 };
/** Tests wait for a third of their time, so one process more than there are cores keeps the cores busy. */
const PROCESSES = Math.min(availableParallelism(), 4) + 1;
/**
 * The short tests end before the compilers of JavaScriptCore pay off, which took a fifth of their instructions: the last one is
 * left out, and the one before it waits for three times as many calls. The long suite runs what production runs.
 */
const ENGINE: Readonly<Record<Suite, Readonly<Record<string, string>>>> = {
  short: { BUN_JSC_useFTLJIT: '0', BUN_JSC_thresholdForOptimizeAfterWarmUp: '3000' },
  long: {},
};

async function runSuite(suite: Suite, files: readonly string[], environment: Record<string, string>): Promise<boolean> {
  const outfile = resolve(CACHE, `paybell-test-${process.pid}-${suite}.xml`);
  const startedAtMs = performance.now();
  const child = Bun.spawn(
    [
      process.execPath,
      'test',
      '--dots',
      `--timeout=${TIMEOUT_MS[suite]}`,
      `--parallel=${PROCESSES}`,
      '--no-isolate',
      '--reporter=junit',
      `--reporter-outfile=${outfile}`,
      `--timings=${resolve(CACHE, `paybell-test-timings-${suite}.json`)}`,
      '--update-timings',
      ...files.map((file) => `./${file}`),
    ],
    {
      cwd: ROOT,
      env: {
        ...process.env,
        ...environment,
        ...ENGINE[suite],
        TEST_SUITE: suite,
        TEST_TIMEOUT_MS: String(TIMEOUT_MS[suite]),
      },
      stdio: ['ignore', 'inherit', 'inherit'],
    },
  );
  const forward = (signal: NodeJS.Signals) => child.kill(signal);
  process.on('SIGINT', forward).on('SIGTERM', forward);
  const exitCode = await child.exited;
  process.off('SIGINT', forward).off('SIGTERM', forward);
  const report = await readReport(outfile);
  rmSync(outfile, { force: true });
  const seconds = Math.round((performance.now() - startedAtMs) / 1_000);
  if (process.env.CI) console.log(`\nSlowest files of the ${suite} suite:\n${slowestFiles(report).join('\n')}`);
  console.log(`\n${summarize(suite, report, seconds)}`);
  return exitCode === 0;
}

async function main([name = 'short', ...paths]: readonly string[]): Promise<number> {
  const suites = name === 'all' ? SUITES : isSuite(name) ? [name] : [];
  const selected = suites
    .map((suite) => ({ suite, files: suiteFiles(suite, paths) }))
    .filter(({ files }) => files.length);
  if (selected.length === 0) {
    console.error(
      `No test file of the ${name} suite matches ${paths.join(' ')}. npm run test:all searches both suites.`,
    );
    return 2;
  }
  const checks = name === 'long' ? null : startChecks(ROOT);
  // The cache folder belongs to the runtime: programs in a folder for temporary files may not be allowed to run.
  const executable = resolve(CACHE, `paybell-test-${process.pid}`);
  const [cluster] = await Promise.all([startCluster(), buildExecutable(executable)]);
  const environment = { TEST_DATABASE_URL: cluster.adminUrl, TEST_EXECUTABLE: executable };
  try {
    const results: boolean[] = [];
    for (const { suite, files } of selected) results.push(await runSuite(suite, files, environment));
    const isChecked = checks === null || (await checks.finish());
    return isChecked && results.every(Boolean) ? 0 : 1;
  } finally {
    await cluster.stop();
    rmSync(executable, { force: true });
  }
}

process.exit(await main(process.argv.slice(2)));
