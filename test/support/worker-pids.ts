import type { Served } from './paybell.ts';

/** The process of each worker of a service with several, by what its log says of the newest; it has to log at `info`. */
export function workerPids({ stdout }: Served): Map<number, number> {
  const lines = stdout()
    .split('\n')
    .filter((line) => line.includes('a worker is running'));
  const said = lines.map((line) => JSON.parse(line) as { worker: number; pid: number });
  return new Map(said.map(({ worker, pid }) => [worker, pid]));
}
