import type { Defect } from './mutant.ts';
import { Workspace } from './workspace.ts';

export type RunOptions<One extends Defect, Found> = {
  readonly mutants: readonly One[];
  readonly atOnce: number;
  /** `share` is from 0 to 1. */
  readonly onProgress: (share: number, doing: string) => void;
  readonly onResult: (result: Found) => void;
};

type Work<One extends Defect, Found> = {
  /** In every copy, before its first mutant. */
  readonly prepare?: (workspace: Workspace, index: number) => Promise<void>;
  readonly test: (workspace: Workspace, mutant: One) => Promise<Found>;
};

/** Tests each mutant in a copy of the tree. Returns the results in the order of the mutants. */
export async function inWorkspaces<One extends Defect, Found>(
  options: RunOptions<One, Found>,
  { prepare, test }: Work<One, Found>,
): Promise<Found[]> {
  const { mutants, atOnce, onProgress, onResult } = options;
  const workspaces = Array.from({ length: Math.min(atOnce, mutants.length) }, () => new Workspace());
  const results: Found[] = [];
  let next = 0;
  let done = 0;
  const work = async (workspace: Workspace) => {
    for (let index = next++; index < mutants.length; index = next++) {
      const mutant = mutants[index];
      if (mutant === undefined) return;
      onProgress(done / mutants.length, mutant.name);
      const result = await test(workspace, mutant);
      results[index] = result;
      done++;
      onResult(result);
    }
  };
  try {
    for (const mutant of mutants) workspaces[0]?.check(mutant);
    if (prepare !== undefined) {
      onProgress(0, 'the tests without a mutant');
      await allEnded(workspaces.map(prepare));
    }
    await allEnded(workspaces.map(work));
    return results;
  } finally {
    for (const workspace of workspaces) workspace.remove();
  }
}

/** Rejects like `Promise.all`, but not while another still uses its workspace. */
async function allEnded(runs: readonly Promise<void>[]): Promise<void> {
  await Promise.allSettled(runs);
  await Promise.all(runs);
}
