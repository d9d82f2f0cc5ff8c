import './world/globals.ts';
import { generate, withNodeFaults } from './generate.ts';
import type { FailedSeed, Job, SeedResult, Shrunk } from './job.ts';
import { pairsOf } from './matrix.ts';
import type { Operation } from './operations/operation.ts';
import { TABLES } from './operations/table.ts';
import { shrink } from './shrink.ts';
import { type RunResult, simulate } from './simulate.ts';
import { openStoreFor } from './store/open.ts';
import { realNowMs } from './world/world.ts';

/** A process whose time is virtual: it reads jobs from its input and writes a result for each, a line of JSON each. */

function run(
  { seed, network, instances, engine }: Job,
  operations: readonly Operation[],
  isTraced = false,
): Promise<RunResult> {
  const openStore = () => openStoreFor(engine);
  return simulate({ seed, network, operations, instances, actions: TABLES[network].all, openStore, isTraced });
}

async function work(job: Job): Promise<SeedResult> {
  const startedMs = realNowMs();
  const { actions, nodeActions } = TABLES[job.network];
  const all = withNodeFaults(job.seed, generate(job.seed, job.operations, actions), nodeActions);
  const chosen = job.only === undefined ? all : all.filter(({ index }) => job.only?.includes(index));
  const result = await run(job, chosen, job.isTraced);
  const { hash, violations, checked, unexpected, receipts, virtualMs, trace } = result;
  const counts = Map.groupBy(result.occurrences, ({ name }) => name);
  const occurred = Object.fromEntries([...counts].map(([name, list]) => [name, list.length]));
  const law = job.shrinks === 'first' ? violations[0]?.law : job.shrinks;
  const isBroken = violations.some((one) => one.law === law);
  return {
    ...{ seed: job.seed, hash, violations, checked, occurred, unexpected, receipts, virtualMs },
    operations: chosen.length,
    pairs: pairsOf(result.evidence),
    realMs: Math.round(realNowMs() - startedMs),
    ...(job.isTraced === true && { trace }),
    ...(isBroken && law !== undefined && { shrunk: await shrinkTo(job, chosen, law) }),
  };
}

async function shrinkTo(job: Job, operations: readonly Operation[], law: string): Promise<Shrunk> {
  const violationIn = async (fewer: readonly Operation[]) =>
    (await run(job, fewer)).violations.find((one) => one.law === law)?.text;
  const shortest = await shrink(operations, async (fewer) => (await violationIn(fewer)) !== undefined);
  const violation = (await violationIn(shortest)) ?? '';
  return { law, violation, operations: shortest.map(({ index, name, atMs }) => ({ index, name, atMs })) };
}

function failureOf({ seed }: Job, error: unknown): FailedSeed {
  return { seed, failure: error instanceof Error ? (error.stack ?? error.message) : String(error) };
}

for await (const line of console) {
  if (line === '') break;
  const job = JSON.parse(line) as Job;
  const result = await work(job).catch((error: unknown) => failureOf(job, error));
  process.stdout.write(`${JSON.stringify(result)}\n`);
}
process.exit(0);
