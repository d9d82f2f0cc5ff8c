import { readdirSync, readFileSync } from 'node:fs';
import type { SQL } from 'bun';

const CLOCK_TICKS_PER_SECOND = 100;

type Times = { readonly parent: number; readonly own: number; readonly reaped: number };

/** The processor seconds of a process and of those that it started, ended ones included; null where there is no /proc. */
export function cpuSeconds(pid: number): number | null {
  const main = timesOf(pid);
  if (main === null) return null;
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => timesOf(Number(name)))
    .filter((times) => times?.parent === pid);
  const ticks = children.reduce((sum, times) => sum + (times?.own ?? 0), main.own + main.reaped);
  return ticks / CLOCK_TICKS_PER_SECOND;
}

/** Of the server behind a connection; null where its processes are not on this machine. */
export async function postgresCpuSeconds(sql: SQL): Promise<number | null> {
  const [row] = (await sql.unsafe('select pg_backend_pid() as pid')) as { pid: number }[];
  const server = timesOf(row?.pid ?? 0)?.parent;
  return server === undefined ? null : cpuSeconds(server);
}

function timesOf(pid: number): Times | null {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /, '')
      .split(' ')
      .map(Number);
    const [parent = 0, own = 0, ownSystem = 0, reaped = 0, reapedSystem = 0] = [1, 11, 12, 13, 14].map(
      (at) => fields[at],
    );
    return { parent, own: own + ownSystem, reaped: reaped + reapedSystem };
  } catch {
    return null;
  }
}
