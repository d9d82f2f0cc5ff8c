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
};
export type PacedOutput = { readonly sent: number };

/** The `sentAtMs` of each body is when it was due, so that a server that lets requests wait gains nothing by it. */
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
