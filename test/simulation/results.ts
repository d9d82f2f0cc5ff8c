import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { type FailedSeed, isFailed, type SeedResult } from './job.ts';

/** What every result of a file has in common. */
export type Setting = {
  readonly network: string;
  readonly operations: number;
  readonly engine: string;
  readonly instances: number | null;
};

/**
 * Results of earlier runs, a line of JSON each after a line with the setting: a stop loses nothing but the seeds under way, and
 * the same command goes on from there.
 */
export class ResultFile {
  readonly known: readonly SeedResult[];

  constructor(
    private readonly path: string,
    setting: Setting,
  ) {
    const header = JSON.stringify(setting);
    const [first, ...lines] = existsSync(path) ? readFileSync(path, 'utf8').split('\n') : [];
    if (first !== undefined && first !== '' && first !== header) {
      throw new Error(`${path} has results of another setting: ${first}`);
    }
    if (first === undefined || first === '') writeFileSync(path, `${header}\n`);
    this.known = lines.flatMap(parsed);
    // The last line of a run that was stopped may be cut.
    const isCut = lines.length > 0 && lines.at(-1) !== '';
    if (isCut) writeFileSync(path, [header, ...this.known.map((one) => JSON.stringify(one)), ''].join('\n'));
  }

  add(result: SeedResult | FailedSeed): void {
    if (!isFailed(result)) appendFileSync(this.path, `${JSON.stringify(result)}\n`);
  }
}

function parsed(line: string): SeedResult[] {
  try {
    return line === '' ? [] : [JSON.parse(line) as SeedResult];
  } catch {
    return [];
  }
}
