import { join } from 'node:path';
import type { SeedResult } from './job.ts';

/** Runs the command in another process, because the simulator replaces the timers and the clock of its process. */
export async function simulate(...args: string[]): Promise<SeedResult[]> {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, 'main.ts'), ...args, '--json'], {
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'ignore',
  });
  const [text] = await Promise.all([child.stdout.text(), child.exited]);
  return (JSON.parse(text) as { results: SeedResult[] }).results;
}
