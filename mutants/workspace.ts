import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { tempBase } from '../test/support/temp-base.ts';
import { type Defect, mutate, sourceOf } from './mutant.ts';

const ROOT = resolve(import.meta.dir, '..');

/** Linked and not copied. */
const PACKAGES = ['node_modules', 'test/generator/node_modules'];
const LEFT_OUT = new Set(['.git', 'dist', 'site/node_modules', ...PACKAGES]);

/** A copy of the tree in which a mutant is tested, so that nobody who works in the tree sees it. */
export class Workspace {
  readonly folder: string;

  constructor() {
    this.folder = mkdtempSync(join(tempBase(), 'paybell-mutants-'));
    for (const entry of readdirSync(ROOT)) {
      if (LEFT_OUT.has(entry)) continue;
      cpSync(join(ROOT, entry), join(this.folder, entry), {
        recursive: true,
        filter: (path) => !LEFT_OUT.has(path.slice(ROOT.length + 1)),
      });
    }
    for (const packages of PACKAGES) symlinkSync(join(ROOT, packages), join(this.folder, packages));
  }

  /** Throws where the mutant does not fit the source. */
  check(mutant: Defect): void {
    mutate(mutant, readFileSync(join(this.folder, sourceOf(mutant)), 'utf8'));
  }

  /** Runs the work with the mutant in place of the source. */
  async with<Value>(mutant: Defect, work: () => Promise<Value>): Promise<Value> {
    const path = join(this.folder, sourceOf(mutant));
    const source = readFileSync(path, 'utf8');
    writeFileSync(path, mutate(mutant, source));
    try {
      return await work();
    } finally {
      writeFileSync(path, source);
    }
  }

  /** A folder for the temporary files of one run: tests that are ended early remove none of theirs. */
  async withTemp<Value>(work: (folder: string) => Promise<Value>): Promise<Value> {
    const folder = join(this.folder, 'temp');
    mkdirSync(folder, { mode: 0o777 });
    try {
      return await work(folder);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
