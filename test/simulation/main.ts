import { type FailedSeed, instancesFor, isFailed, type Job, type SeedResult } from './job.ts';
import { HELP, type Options, readOptions, UsageError } from './options.ts';
import { isClean, reportText, summarize } from './report.ts';
import { ResultFile } from './results.ts';
import { runJobs } from './workers.ts';

/** `npm run simulate`: runs seeds in processes of virtual time, and reports the laws that they break. */

const EVERY_SEEDS = 10;

async function main(args: readonly string[]): Promise<number> {
  if (args.includes('--help')) {
    console.log(HELP);
    return 0;
  }
  const options = readOptions(args);
  const { network, operations, engine, instances } = options;
  const file =
    options.out === undefined ? null : new ResultFile(options.out, { network, operations, engine, instances });
  const known = (file?.known ?? []).filter(({ seed }) => options.seeds.includes(seed));
  const isKnown = new Set(known.map(({ seed }) => seed));
  const results: (SeedResult | FailedSeed)[] = [...known];
  const onResult = (result: SeedResult | FailedSeed) => {
    results.push(result);
    file?.add(result);
    showProgress(results, options);
  };
  const jobs = jobsOf(options).filter(({ seed }) => !isKnown.has(seed));
  const server = engine === 'postgres' && jobs.length > 0 ? await startServer() : null;
  const environment = server === null ? {} : { SIMULATION_DATABASE_URL: server.adminUrl };
  try {
    const isLast = (result: SeedResult | FailedSeed) => endsRun(result, options);
    await runJobs(jobs, { processes: options.processes, environment, onResult, isLast });
  } finally {
    await server?.stop();
  }
  await show(results, options);
  return isClean(summarize(results)) ? 0 : 1;
}

function jobsOf({ seeds, network, operations, engine, instances, only, isTraced, shrinks }: Options): Job[] {
  return seeds.map((seed) => ({
    ...{ seed, network, operations, engine, only, isTraced, shrinks },
    // A file has one writer: several instances are of more use on PostgreSQL.
    instances: engine === 'postgres' ? (instances ?? 2) : instancesFor(seed, instances),
  }));
}

function endsRun(result: SeedResult | FailedSeed, { stopsAt }: Options): boolean {
  if (stopsAt === undefined) return false;
  return isFailed(result) || result.violations.some(({ law }) => stopsAt === 'first' || law === stopsAt);
}

async function startServer() {
  const { startCluster } = await import('../support/postgres.ts');
  return startCluster();
}

function showProgress(results: readonly (SeedResult | FailedSeed)[], { seeds, isJson }: Options): void {
  if (isJson || results.length % EVERY_SEEDS !== 0 || results.length === seeds.length) return;
  const broken = results.filter((one) => isFailed(one) || one.violations.length > 0).length;
  console.error(`${results.length} of ${seeds.length} seeds, ${broken} break a law`);
}

async function show(results: readonly (SeedResult | FailedSeed)[], options: Options): Promise<void> {
  const sorted = results.toSorted((a, b) => a.seed - b.seed);
  if (options.isJson) {
    console.log(JSON.stringify({ summary: summarize(sorted), results: sorted }));
    return;
  }
  for (const one of sorted) if (!isFailed(one) && one.trace !== undefined) console.log(one.trace.join('\n'));
  const { TABLES } = await import('./operations/table.ts');
  console.log(reportText(sorted, options, Object.keys(TABLES[options.network].all)));
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  console.error(`error: ${error.message}\n\n${HELP}`);
  process.exitCode = 2;
}
