import type { FamilyName } from '../../test/simulation/fleet/new-network.ts';
import { type FailedSeed, isFailed, type SeedResult } from '../../test/simulation/job.ts';
import { inWorkspaces, type RunOptions } from '../in-workspaces.ts';
import type { Defect, Outcome } from '../mutant.ts';
import { runProcess } from '../run-process.ts';
import type { Workspace } from '../workspace.ts';

/** A defect, and the law that a seed of the simulator has to break with it. */
export type SimulatedMutant = Defect & {
  readonly law: string;
  /** The network of the runs; an EVM one unless given. */
  readonly network?: FamilyName;
};

export type SimulatedResult = {
  readonly mutant: SimulatedMutant;
  readonly outcome: Outcome;
  /** The first seed that broke the law; null without one. */
  readonly seed: number | null;
  /** What the oracle said about it, or why the run says nothing. */
  readonly output: string;
  readonly seconds: number;
};

/** The seeds in which a law has to be broken. */
export const SEEDS = 200;
const LONGEST_RUN_MS = 3_600_000;
const SHOWN_CHARACTERS = 2_000;

/** Runs the seeds of each mutant in turn, in a copy of the tree, until one breaks the law of the mutant. */
export function simulateMutants(options: RunOptions<SimulatedMutant, SimulatedResult>): Promise<SimulatedResult[]> {
  return inWorkspaces(options, { test: testMutant });
}

async function testMutant(workspace: Workspace, mutant: SimulatedMutant): Promise<SimulatedResult> {
  const startedAtMs = performance.now();
  const found = await findCaught(workspace, mutant);
  return { mutant, ...found, seconds: (performance.now() - startedAtMs) / 1_000 };
}

type Found = Pick<SimulatedResult, 'outcome' | 'seed' | 'output'>;

/** A seed that breaks the law without the mutant, too, catches nothing. */
async function findCaught(workspace: Workspace, mutant: SimulatedMutant): Promise<Found> {
  for (let from = 1; from <= SEEDS; ) {
    const found = await workspace.with(mutant, () => findSeed(workspace, mutant, from, SEEDS));
    if (found.seed === null) return found;
    const { outcome } = await findSeed(workspace, mutant, found.seed, found.seed);
    if (outcome === 'survived') return found;
    from = found.seed + 1;
  }
  return { outcome: 'survived', seed: null, output: '' };
}

async function findSeed(
  workspace: Workspace,
  { law, network = 'evm' }: SimulatedMutant,
  from: number,
  to: number,
): Promise<Found> {
  const seeds = ['--network', network, '--seeds', `${from}..${to}`];
  const { stdout, output } = await runProcess(workspace, {
    // One process, so that the seed is the first one in every run.
    args: ['test/simulation/main.ts', ...seeds, '--stop', law, '--processes', '1', '--json'],
    environment: {},
    longestMs: LONGEST_RUN_MS,
  });
  const last = resultsIn(stdout)?.at(-1);
  if (last === undefined) return { outcome: 'broken', seed: null, output: output.slice(-SHOWN_CHARACTERS) };
  if (isFailed(last)) return { outcome: 'broken', seed: null, output: `seed ${last.seed}: ${last.failure}` };
  const violation = last.violations.find((one) => one.law === law);
  if (violation === undefined) return { outcome: 'survived', seed: null, output: '' };
  return { outcome: 'caught', seed: last.seed, output: violation.text };
}

/** In the order of the seeds; undefined if the command printed none. */
function resultsIn(stdout: string): readonly (SeedResult | FailedSeed)[] | undefined {
  try {
    return (JSON.parse(stdout) as { results: (SeedResult | FailedSeed)[] }).results;
  } catch {
    return undefined;
  }
}
