import type { Suite } from '../test/runner/suites.ts';

/** One deliberate defect. */
export type Defect = {
  readonly name: string;
  /** What the service would do, for the table in the documentation. */
  readonly what: string;
  /** Below `src/`, or with `test/` for a defect of a test. */
  readonly file: string;
  /** Occurs exactly once in the file. */
  readonly find: string;
  readonly replace: string;
};

/** A defect, and the test that has to notice it. */
export type Mutant = Defect & {
  readonly caughtBy: {
    /** Below `test/`, without `.test.ts`. */
    readonly file: string;
    /** Of the title of the test, as much as the others of the file do not have. */
    readonly test: string;
  };
};

export function sourceOf({ file }: Pick<Defect, 'file'>): string {
  return file.startsWith('test/') ? file : `src/${file}`;
}

export function testOf({ caughtBy }: Pick<Mutant, 'caughtBy'>): string {
  return `test/${caughtBy.file}.test.ts`;
}

/** Whether only the long suite runs the test. */
export function isLong(mutant: Pick<Mutant, 'caughtBy'>): boolean {
  return testOf(mutant).endsWith('.long.test.ts');
}

/** The folder of the mutated file. */
export function areaOf({ file }: Pick<Defect, 'file'>): string {
  return file.slice(0, file.lastIndexOf('/'));
}

/** The text of the file with the defect. Throws where it is not clear which place is meant. */
export function mutate(defect: Defect, text: string): string {
  const { name, find, replace } = defect;
  const places = text.split(find).length - 1;
  if (places !== 1) {
    throw new Error(`${name}: its text occurs ${places} times in ${sourceOf(defect)}, and has to occur once: ${find}`);
  }
  return text.replace(find, () => replace);
}

/** `broken` if the run of the test says nothing about the mutant, such as after an error in the mutated text. */
export type Outcome = 'caught' | 'survived' | 'broken';

export type Result = {
  readonly mutant: Mutant;
  readonly outcome: Outcome;
  /** The suite whose test noticed the mutant, or the last suite that did not. */
  readonly suite: Suite;
  readonly seconds: number;
  /** The end of what the test printed; empty for a mutant that was caught. */
  readonly output: string;
};

export function passes({ outcome }: { readonly outcome: Outcome }): boolean {
  return outcome === 'caught';
}
