import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { removeFolder, runProgram, tempFolder } from '../harness/processes.ts';
import type { Caller } from '../store/seed.ts';

/** Requests one after another, from a process of their own: what a single caller waits for. */

export type Request = { url: string; headers: Record<string, string>; method?: string; body?: string };

/** How long each of them took. */
export async function timeEach(requests: readonly Request[], pauseMs = 0): Promise<number[]> {
  const folder = tempFolder();
  try {
    const file = join(folder, 'plan.json');
    writeFileSync(file, JSON.stringify({ requests, pauseMs }));
    const program = resolve(import.meta.dir, 'one-by-one.ts');
    return (await runProgram<{ ms: number[] }>([process.execPath, program, file], 'load')).ms;
  } finally {
    removeFolder(folder);
  }
}

export function credentials({ apiKey, entityId }: Caller): Record<string, string> {
  return { 'api-key': apiKey, 'entity-id': entityId };
}
