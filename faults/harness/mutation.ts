import { resolve } from 'node:path';

/** The settings of a service with a defect: in a file of `src`, every `find` is replaced. */
export function mutated(file: string, find: string, replace: string): Record<string, string> {
  const preload = resolve(import.meta.dir, '../preload/mutate-source.ts');
  return { BUN_OPTIONS: `--preload=${preload}`, FAULTS_MUTATION: JSON.stringify({ file, find, replace }) };
}
