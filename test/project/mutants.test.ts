import { describe, expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { readSection } from '../../docs/publish.ts';
import { MUTANTS } from '../../mutants/catalogue.ts';
import { type Defect, type Mutant, mutate, sourceOf, testOf } from '../../mutants/mutant.ts';
import { runMutants } from '../../mutants/run.ts';
import { SIMULATED } from '../../mutants/simulation/catalogue.ts';
import { LAWS } from '../simulation/oracle/laws.ts';
import { rejection } from '../support/rejection.ts';

/** That the catalogue fits the source, which takes no time, and that a run tells mutants apart. */

const pathOf = (file: string) => resolve(import.meta.dir, '../..', file);
const read = (file: string) => readFileSync(pathOf(file), 'utf8');

function errorsOf(defect: Defect): string[] {
  const { name, file, find, replace } = defect;
  if (!existsSync(pathOf(sourceOf(defect)))) return [`${name}: there is no ${sourceOf(defect)}`];
  const errors: string[] = [];
  if (!/^((domain|store|delivery|api|chain)|test\/simulation)\//.test(file)) {
    errors.push(`${name}: ${file} is in none of the five layers, and not in the simulator`);
  }
  if (find === replace) errors.push(`${name}: changes nothing`);
  try {
    mutate(defect, read(sourceOf(defect)));
  } catch (error) {
    errors.push(String(error));
  }
  return errors;
}

function errorsOfTest(mutant: Mutant): string[] {
  const { name, caughtBy } = mutant;
  if (!existsSync(pathOf(testOf(mutant)))) return [`${name}: there is no ${testOf(mutant)}`];
  const isThere = read(testOf(mutant)).includes(caughtBy.test);
  return isThere ? [] : [`${name}: ${testOf(mutant)} has no test “${caughtBy.test}”`];
}

describe('the catalogue of mutants', () => {
  test('names a place in the source and a test for each', () => {
    expect(MUTANTS.flatMap((mutant) => [...errorsOf(mutant), ...errorsOfTest(mutant)])).toEqual([]);
  });

  test('has at least forty, each under a name of its own', () => {
    expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length);
    expect(MUTANTS.length).toBeGreaterThanOrEqual(40);
  });

  test('is the one whose last run is in faults/RESULTS.md', () => {
    expect(publishedIn('table')).toEqual(MUTANTS.map(({ name, what }) => `${name}: ${what}`));
  });
});

/** The mutants of a table in faults/RESULTS.md. */
function publishedIn(section: string): string[] {
  const rows = readSection('../faults/RESULTS.md', 'mutants', section);
  return [...rows.matchAll(/^\| `([\w-]+)` \| [\w/-]+ \| (.+?) \| .+ \| \d+ \| [\d-]+ \|$/gm)].map(
    ([, name, what]) => `${name}: ${what}`,
  );
}

describe('the catalogue of mutants for the simulator', () => {
  test('names a place in the source and a law for each, under a name of its own', () => {
    const laws = new Set(LAWS.map(({ id }) => id));
    expect(SIMULATED.flatMap(errorsOf)).toEqual([]);
    expect(SIMULATED.filter(({ law }) => !laws.has(law))).toEqual([]);
    expect(new Set(SIMULATED.map(({ name }) => name)).size).toBe(SIMULATED.length);
  });

  test('has at least one for each law', () => {
    const broken = new Set(SIMULATED.map(({ law }) => law));
    expect(LAWS.filter(({ id }) => !broken.has(id))).toEqual([]);
  });

  test('is the one whose last run is in faults/RESULTS.md', () => {
    expect(publishedIn('simulation-table')).toEqual(SIMULATED.map(({ name, what }) => `${name}: ${what}`));
  });
});

const FIFO: Omit<Mutant, 'name' | 'find' | 'replace'> = {
  what: 'for this test',
  file: 'delivery/queue/fifo.ts',
  caughtBy: { file: 'delivery/queue/fifo', test: 'a queue gives its items in their order' },
};

const run = (...mutants: Mutant[]) =>
  runMutants({
    mutants,
    atOnce: 1,
    databaseUrl: 'postgres://not-needed.invalid',
    onProgress: () => undefined,
    onResult: () => undefined,
  });

describe('a mutant', () => {
  test('is caught by a test that fails, survives one that does not, and is broken where nothing runs', async () => {
    const results = await run(
      { ...FIFO, name: 'last-first', find: 'this.#items.push(item)', replace: 'this.#items.unshift(item)' },
      { ...FIFO, name: 'compacts-later', find: 'this.#head > 32', replace: 'this.#head > 64' },
      { ...FIFO, name: 'no-code', find: 'export class Fifo', replace: 'export class class Fifo' },
    );
    expect(results.map(({ mutant, outcome, suite }) => [mutant.name, outcome, suite])).toEqual([
      ['last-first', 'caught', 'short'],
      ['compacts-later', 'survived', 'long'],
      ['no-code', 'broken', 'short'],
    ]);
    expect(read('src/delivery/queue/fifo.ts')).toContain('this.#items.push(item)');
  });

  test('that fits two places, or none, ends the run with its name and its text', async () => {
    const twice = { ...FIFO, name: 'twice', find: 'this.clear();', replace: '' };
    const never = { ...FIFO, name: 'never', find: 'this.close();', replace: '' };
    expect((await rejection(run(twice))).message).toMatch(/^twice: its text occurs 2 times in src\/delivery.*clear/);
    expect((await rejection(run(never))).message).toMatch(/^never: its text occurs 0 times in src\/delivery.*close/);
  });

  test('is not tried with a test that fails without it', async () => {
    const caughtBy = { ...FIFO.caughtBy, test: 'no such test' };
    const mutant = { ...FIFO, name: 'unnoticed', find: 'this.#items.push(item)', replace: '', caughtBy };
    expect((await rejection(run(mutant))).message).toStartWith('Without a mutant the tests fail');
  });
});
