import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { removeFolder, runProgram, tempFolder } from '../harness/processes.ts';

/** Requests one after another, from a process of their own: the latency for a single caller. */

export type TimedRequest = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly method?: string;
  readonly body?: string;
};
/** The pause is between a response and the next request. */
export type SequentialInput = { readonly requests: readonly TimedRequest[]; readonly pauseMs: number };
export type SequentialOutput = { readonly ms: readonly number[] };

/** Returns how long each of them took. */
export async function timeEach(requests: readonly TimedRequest[], pauseMs = 0): Promise<readonly number[]> {
  const folder = tempFolder();
  try {
    const file = join(folder, 'requests.json');
    writeFileSync(file, JSON.stringify({ requests, pauseMs } satisfies SequentialInput));
    const program = resolve(import.meta.dir, 'sequential-process.ts');
    return (await runProgram<SequentialOutput>([process.execPath, program, file], 'load')).ms;
  } finally {
    removeFolder(folder);
  }
}
