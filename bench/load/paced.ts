import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { takeNumbers } from '../harness/event-bodies.ts';
import { type Place, removeFolder, runProgram, tempFolder } from '../harness/processes.ts';

/** Requests at a fixed rate, from a process of their own, whether or not those before have a response. */

export type PacedRequest = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Templates of `harness/event-bodies.ts`: each request has the body of its number. */
  readonly bodies: readonly string[];
};

export type PacedInput = {
  readonly request: PacedRequest;
  readonly perSecond: number;
  readonly seconds: number;
};
/** For the process: `total` requests, the first of which has the number `from`. */
export type PacedOrder = PacedInput & { readonly total: number; readonly from: number };
/** The responses are counted from when their requests were due. */
export type PacedOutput = { readonly sent: number; readonly responseP50Ms: number; readonly responseP99Ms: number };

/** A server that lets requests wait gains nothing by it, because the `sentAtMs` of each body is when it was due. */
export async function sendPaced(input: PacedInput, place: Place = 'anywhere'): Promise<PacedOutput> {
  const folder = tempFolder();
  try {
    const file = join(folder, 'request.json');
    const total = Math.round(input.perSecond * input.seconds);
    const order: PacedOrder = { ...input, total, from: takeNumbers(total) };
    writeFileSync(file, JSON.stringify(order));
    const program = resolve(import.meta.dir, 'paced-process.ts');
    return await runProgram<PacedOutput>([process.execPath, program, file], place);
  } finally {
    removeFolder(folder);
  }
}
