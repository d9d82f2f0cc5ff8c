import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Place, removeFolder, runProgram, tempFolder } from '../harness/processes.ts';
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
/** The responses are counted from when their requests were due, or sent. */
export type PacedOutput = { readonly sent: number; readonly responseP50Ms: number; readonly responseP99Ms: number };

/** A server that lets requests wait gains nothing by it, because the `sentAtMs` of each body is when it was due. */
export async function sendPaced(input: PacedInput, place: Place = 'anywhere'): Promise<PacedOutput> {
  const folder = tempFolder();
  try {
    const file = join(folder, 'request.json');
    writeFileSync(file, JSON.stringify(input));
    const program = resolve(import.meta.dir, 'paced-process.ts');
    return await runProgram<PacedOutput>([process.execPath, program, file], place);
  } finally {
    removeFolder(folder);
  }
}

/** So many as fast as the connections are free for them, each with the time at which it was sent. */
export function sendBurst(request: TimedRequest, amount: number, connections: number): Promise<PacedOutput> {
  return sendPaced({ request, perSecond: amount * 1_000, seconds: 0.001, connections, stamp: 'sent' });
}
