import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { removeFolder, runProgram, tempFolder } from '../harness/processes.ts';
import type { TimedRequest } from './sequential.ts';

/** Requests at a fixed rate, from a process of their own, whether or not those before have a response. */

export type PacedInput = {
  readonly request: TimedRequest;
  readonly perSecond: number;
  readonly seconds: number;
  readonly connections?: number;
  /** Whether `sentAtMs` is when a request was due, which is usual, or when it was sent. */
  readonly stamp?: 'due' | 'sent';
};
export type PacedOutput = { readonly sent: number };

/** A server that lets requests wait gains nothing by it, because the `sentAtMs` of each body is when it was due. */
export async function sendPaced(input: PacedInput): Promise<number> {
  const folder = tempFolder();
  try {
    const file = join(folder, 'request.json');
    writeFileSync(file, JSON.stringify(input));
    const program = resolve(import.meta.dir, 'paced-process.ts');
    return (await runProgram<PacedOutput>([process.execPath, program, file], 'anywhere')).sent;
  } finally {
    removeFolder(folder);
  }
}

/** So many as fast as the connections are free for them, each with the time at which it was sent. */
export function sendBurst(request: TimedRequest, amount: number, connections: number): Promise<number> {
  return sendPaced({ request, perSecond: amount * 1_000, seconds: 0.001, connections, stamp: 'sent' });
}
