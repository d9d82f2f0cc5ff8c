import { join } from 'node:path';
import type { SeedResult } from './job.ts';

const PROGRAM = join(import.meta.dir, 'main.ts');

/** Starts the command in another process, because the simulator replaces the timers and the clock of its process. */
export function startSimulator(...args: string[]) {
  return Bun.spawn([process.execPath, PROGRAM, ...args, '--json'], {
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'ignore',
  });
}

/** The results in the order of their seeds. */
export async function simulate(...args: string[]): Promise<SeedResult[]> {
  const child = startSimulator(...args);
  const [text] = await Promise.all([child.stdout.text(), child.exited]);
  return (JSON.parse(text) as { results: SeedResult[] }).results;
}
